//! Without a sandbox: the laws that can be kept there, one bake or sandbox at a time, and what has to hold of /home/dev.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};

use atelier::backend::local::{Isolation, Local, fsck};
use atelier::backend::{Backend, BakeError, BakeRequest, Class, Keep, Network, Presence};
use atelier::node::User as StepUser;
use atelier::resolve::ImageLocation;
use atelier_lang::graph::Cache;
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process};

use crate::homes;
use crate::house::{self, House, OnDisk, bake, boot, content, is_present, presence, publish, sh};
use crate::processes::{is_running, marker, wait_until};
use crate::requests::request;
use crate::users::{self, User};

/// The local laws that need no two sandboxes at a time and no sandbox's view of the machine.
const LAWS: [&str; 26] = [
    "a_key_is_absent_until_it_is_published",
    "a_failing_step_leaves_nothing",
    "a_step_out_of_time_leaves_nothing",
    "a_bake_out_of_time_leaves_nothing",
    "a_cancelled_bake_leaves_nothing",
    "a_bake_that_is_dropped_leaves_nothing",
    "what_is_there_is_found",
    "a_forced_bake_that_fails_leaves_the_old_snapshot",
    "lost_data_is_a_miss_and_heals",
    "two_bakes_of_a_key_are_one",
    "a_follower_sees_all_that_its_leader_printed",
    "a_cancelled_leader_is_taken_over_from",
    "a_cancelled_follower_leaves_its_leader_alone",
    "files_are_there_before_the_first_step",
    "a_child_sees_its_parent_s_files",
    "what_a_child_deletes_stays_deleted",
    "a_sandbox_keeps_its_writes_until_it_is_destroyed",
    "a_command_s_status_is_told",
    "what_is_not_there_cannot_be_booted",
    "snapshots_are_listed_oldest_first",
    "keys_are_looked_up_in_the_order_asked",
    "a_removed_snapshot_is_gone_and_its_children_are_whole",
    "a_sweep_removes_what_a_crash_left",
    "a_snapshot_restores_exactly",
    "what_a_step_leaves_running_is_ended",
    "a_secret_in_the_workspace_is_not_published",
];

/// The laws of this file.
const OWN: [&str; 8] = [
    "a_stranger_s_files_are_not_touched",
    "the_folder_is_given_back_as_it_was",
    "a_second_one_is_refused",
    "survivors_are_ended_by_the_next",
    "a_cache_is_kept_and_is_in_no_snapshot",
    "a_root_step_is_the_machine_s_root",
    "what_needs_a_sandbox_is_refused",
    "it_serves_itself_alone_unless_it_is_accepted",
];

/// Those that are for root alone: they say who owns what, or make what only root can make.
const OF_ROOT: [&str; 4] = [
    "a_snapshot_restores_exactly",
    "a_stranger_s_files_are_not_touched",
    "the_folder_is_given_back_as_it_was",
    "a_root_step_is_the_machine_s_root",
];

/// Whether this process is to run the laws without a sandbox.
pub(crate) fn is_meant() -> bool {
    house::isolation().direct
}

/// Each law in a process of its own: as root, and as a user who has been given an empty /home/dev.
pub(crate) fn trials() -> Vec<Trial> {
    if !rustix::process::geteuid().is_root() {
        return Vec::new();
    }
    let laws = LAWS.into_iter().chain(OWN);
    let of_root = laws.clone().map(|law| {
        Trial::test(format!("direct::{law}"), move || {
            let program = std::env::current_exe()?;
            ends_well(homes::elsewhere(&program, ""), law)
        })
    });
    let of_user = laws.filter(|law| !OF_ROOT.contains(law)).map(|law| {
        Trial::test(format!("direct-user::{law}"), move || {
            let home = User::Alone.folder();
            let program = users::reachable(&std::env::current_exe()?, home.path());
            let user = User::Alone.command(&program, home.path());
            let name = user.get_args().nth(1).unwrap().to_str().unwrap();
            let prepare = format!("mkdir /home/dev; chown {name}: /home/dev");
            let mut command = homes::elsewhere(Path::new(user.get_program()), &prepare);
            command.args(user.get_args()).env("TMPDIR", home.path());
            ends_well(command, law)
        })
    });
    of_root.chain(of_user).collect()
}

fn ends_well(mut command: Command, law: &str) -> Result<(), libtest_mimic::Failed> {
    let output = command
        .args(["--exact", &format!("local::{law}")])
        .env(house::DIRECT, "1")
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() && said.contains("1 passed") {
        true => Ok(()),
        false => Err((said + &String::from_utf8_lossy(&output.stderr)).into()),
    }
}

fn refused(error: &BakeError, text: &str) {
    let BakeError::Backend(error) = error else {
        panic!("{error}");
    };
    assert_eq!(error.class, Class::Denied, "{error}");
    assert!(error.message.contains(text), "{error}");
}

pub(crate) async fn a_stranger_s_files_are_not_touched(house: &OnDisk) {
    let dev = Path::new("/home/dev");
    fs::create_dir(dev).unwrap();
    fs::write(dev.join("thesis"), "years of work").unwrap();
    chown(dev, Some(1234), Some(1234)).unwrap();
    fs::set_permissions(dev, fs::Permissions::from_mode(0o710)).unwrap();
    let before = fs::metadata(dev).unwrap();
    let request = request("a", None, &["echo x > f"]);
    let error = bake(house.backend(), &request).await.unwrap_err();
    refused(&error, "it holds what atelier did not put there: thesis");
    let after = fs::metadata(dev).unwrap();
    let look = |meta: &fs::Metadata| (meta.uid(), meta.mode(), meta.ctime(), meta.ctime_nsec());
    assert_eq!(look(&after), look(&before));
    assert_eq!(
        fs::read_to_string(dev.join("thesis")).unwrap(),
        "years of work"
    );
    assert!(!is_present(house.backend(), request.key).await);
    // A link to a folder of somebody is none of ours either.
    fs::rename(dev, "/home/other").unwrap();
    std::os::unix::fs::symlink("/home/other", dev).unwrap();
    let error = bake(house.backend(), &request).await.unwrap_err();
    refused(&error, "cannot use /home/dev");
    assert!(Path::new("/home/other/thesis").exists());
    fs::remove_file(dev).unwrap();
    publish(house.backend(), &request).await;
}

pub(crate) async fn the_folder_is_given_back_as_it_was(house: &OnDisk) {
    let dev = Path::new("/home/dev");
    let backend = house.backend();
    let parent = request(
        "a",
        None,
        &["mkdir -p deep/er; touch deep/er/f; chmod 0 deep; chmod 700 ."],
    );
    publish(backend, &parent).await;
    assert!(!dev.exists());
    fs::create_dir(dev).unwrap();
    chown(dev, Some(12), Some(34)).unwrap();
    fs::set_permissions(dev, fs::Permissions::from_mode(0o2711)).unwrap();
    let child = request("b", Some(&parent), &["pwd > g; exit 1"]);
    bake(backend, &child).await.unwrap_err();
    let sandbox = boot(backend, &parent).await;
    assert_eq!(sh(backend, &sandbox, "stat -c %a .").await.1, ["700"]);
    backend.destroy(&sandbox).await.unwrap();
    let meta = fs::metadata(dev).unwrap();
    assert_eq!(
        (meta.uid(), meta.gid(), meta.mode() & 0o7777),
        (12, 34, 0o2711)
    );
    assert_eq!(fs::read_dir(dev).unwrap().count(), 0);
    assert_eq!(
        fs::read_dir(house.root().join("direct")).unwrap().count(),
        0
    );
}

pub(crate) async fn a_second_one_is_refused(house: &OnDisk) {
    let backend = house.backend();
    let one = request("a", None, &["echo x > f"]);
    let two = request("b", None, &["echo y > f"]);
    publish(backend, &one).await;
    let sandbox = boot(backend, &one).await;
    let error = bake(house.other(), &two).await.unwrap_err();
    refused(&error, "bakes or runs in it");
    refused(&error, "there is one at a time");
    assert_eq!(sh(backend, &sandbox, "cat f").await.1, ["x"]);
    backend.destroy(&sandbox).await.unwrap();
    publish(house.other(), &two).await;
}

/// behaviours 1.1
pub(crate) async fn survivors_are_ended_by_the_next(house: &OnDisk) {
    let marker = marker();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            house::CRASH.as_ref(),
            house.root().as_os_str(),
            marker.as_ref(),
        ])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let sleeper = format!("sleep\0{marker}");
    wait_until("the step to run", || is_running(&sleeper));
    // All at once: whoever was left would tidy up.
    for signal in [Signal::STOP, Signal::KILL] {
        for pid in of_program(child.id()) {
            kill_process(pid, signal).unwrap();
        }
    }
    child.wait().unwrap();
    assert!(is_running(&sleeper), "the step was to survive");
    assert!(Path::new("/home/dev/f").exists());
    let next = request("a", None, &["test ! -e f; echo x > f"]);
    publish(house.backend(), &next).await;
    assert!(!is_running(&sleeper));
    house.backend().sweep().await.unwrap();
    assert_eq!(house.litter(), Vec::<String>::new());
}

/// The process `first`, and its descendants that run this program.
fn of_program(first: u32) -> Vec<Pid> {
    let exe = std::env::current_exe().unwrap();
    let mut found = vec![first];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        next += 1;
        let list = format!("/proc/{parent}/task/{parent}/children");
        for child in fs::read_to_string(list)
            .unwrap_or_default()
            .split_whitespace()
        {
            if fs::read_link(format!("/proc/{child}/exe")).is_ok_and(|link| link == exe) {
                found.push(child.parse().unwrap());
            }
        }
    }
    found
        .into_iter()
        .filter_map(|pid| Pid::from_raw(pid.cast_signed()))
        .collect()
}

fn with_cache(mut request: BakeRequest) -> BakeRequest {
    request.caches.push(Cache {
        name: "things".to_owned(),
        path: ".cache/things".to_owned(),
    });
    request
}

pub(crate) async fn a_cache_is_kept_and_is_in_no_snapshot(house: &OnDisk) {
    let backend = house.backend();
    let one = with_cache(request("a", None, &["echo kept > .cache/things/f"]));
    let two = with_cache(request("b", None, &["cp .cache/things/f g"]));
    let own = "mkdir -p .cache/things; echo own > .cache/things/own";
    let full = request("c", None, &[own]);
    let over = "cat .cache/things/f; test ! -e .cache/things/own";
    let over = with_cache(request("d", Some(&full), &[over]));
    let gone = "rm -rf .cache; mkdir -p .cache/things/x/y";
    let gone = with_cache(request("e", None, &[gone]));
    for request in [&one, &two, &full, &over, &gone] {
        publish(backend, request).await;
    }
    let look = r"find . -mindepth 1 -printf '%y %p\n' | sort | tr '\n' ' '";
    for (request, expected) in [
        (&one, "d ./.cache d ./.cache/things "),
        (&over, "d ./.cache d ./.cache/things f ./.cache/things/own "),
        (&gone, "d ./.cache d ./.cache/things "),
    ] {
        let sandbox = boot(backend, request).await;
        let (_, lines) = sh(backend, &sandbox, look).await;
        backend.destroy(&sandbox).await.unwrap();
        assert_eq!(lines, [expected], "{}", request.node);
    }
    assert_eq!(content(backend, &two, "g").await, ["kept"]);
    let mut outside = request("f", None, &["true"]);
    outside.caches.push(Cache {
        name: "things".to_owned(),
        path: "/opt/things".to_owned(),
    });
    let error = bake(backend, &outside).await.unwrap_err();
    refused(&error, "it has to be below /home/dev");
}

pub(crate) async fn a_root_step_is_the_machine_s_root(house: &OnDisk) {
    let backend = house.backend();
    let place = format!("/var/cache/written-{}", std::process::id());
    let mut request = request(
        "a",
        None,
        &[
            &format!("id -u > {place}; id -u > f"),
            "id -u >> f || id -u > g",
        ],
    );
    request.steps[0].user = StepUser::Root;
    let snapshot = publish(backend, &request).await;
    assert_eq!(fs::read_to_string(place).unwrap(), "0\n");
    assert_eq!(content(backend, &request, "f").await, ["0"]);
    assert_eq!(content(backend, &request, "g").await, ["1000"]);
    assert!(
        !snapshot.verified.contains(&"nothing outside".to_owned()),
        "{:?}",
        snapshot.verified
    );
    request.strict_outside = true;
    request.force = true;
    let error = bake(backend, &request).await.unwrap_err();
    refused(&error, "outside of the workspace is not seen");
}

pub(crate) async fn what_needs_a_sandbox_is_refused(house: &OnDisk) {
    let mut request = request("a", None, &["true"]);
    request.image.location = ImageLocation::Layout("/nowhere".into());
    let error = bake(house.backend(), &request).await.unwrap_err();
    refused(&error, "--sandbox direct takes `host` alone");
    let request = self::request("b", None, &["true"]);
    publish(house.backend(), &request).await;
    let mut closed = house::sandbox_request(&request);
    closed.network = Network::None;
    let mut kept = house::sandbox_request(&request);
    kept.keep = Some(Keep { name: None });
    for (request, what) in [(closed, "has no network"), (kept, "stays")] {
        let error = house.backend().boot(&request).await.unwrap_err();
        refused(&error.into(), &format!("there is no sandbox that {what}"));
    }
}

pub(crate) async fn it_serves_itself_alone_unless_it_is_accepted(house: &OnDisk) {
    let direct = house.backend();
    let open = |accept_direct| {
        let isolation = Isolation {
            direct: false,
            accept_direct,
        };
        Local::open(&house.root(), isolation).unwrap()
    };
    let (strict, accepting) = (open(false), open(true));
    let parent = request("a", None, &["echo parent > f"]);
    let child = request("b", Some(&parent), &["cat f; id -u > u"]);
    publish(direct, &parent).await;
    let Presence::Lost(reason) = presence(&strict, parent.key).await else {
        panic!("it was to be a miss");
    };
    assert!(reason.contains("--accept-direct takes it"), "{reason}");
    assert!(is_present(&accepting, parent.key).await);
    // What stands on it is no better.
    publish(&accepting, &child).await;
    assert!(matches!(
        presence(&strict, child.key).await,
        Presence::Lost(_)
    ));
    assert!(is_present(&accepting, child.key).await);
    assert_eq!(content(&accepting, &child, "u").await, ["1000"]);
    assert_eq!(content(direct, &child, "f").await, ["parent"]);
    // What a sandbox has baked serves here too, and is whole for whoever looks.
    publish(&strict, &parent).await;
    assert!(is_present(direct, parent.key).await && is_present(&strict, parent.key).await);
    assert_eq!(content(direct, &parent, "f").await, ["parent"]);
    for backend in [direct, &strict, &accepting] {
        let checked = fsck::check(backend, &[parent.key, child.key])
            .await
            .unwrap();
        let whole = checked.iter().all(|checked| checked.damage.is_empty());
        assert!(whole && checked.len() == 2, "{checked:#?}");
    }
}
