//! What a workspace has to pass before it is published, and what keeps it as it was.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use atelier::backend::local::fsck;
use atelier::backend::{Backend, BakeError, BakeRequest, Cancel, Class, Presence};
use atelier::node::User;
use atelier_lang::graph::Cache;
use rustix::process::geteuid;
use secrecy::SecretString;
use walkdir::WalkDir;

use crate::house::{Caller, House, OnDisk, bake, boot, content, is_present, presence, publish, sh};
use crate::processes::wait_until;
use crate::requests::request;

const CANARY: &str = "canary-5dK2q-value";

fn with_secret(mut request: BakeRequest) -> BakeRequest {
    let secret = ("TOKEN".to_owned(), SecretString::from(CANARY));
    request.environment.secrets.extend([secret]);
    request
}

/// behaviours 1.9, 2.9
pub(crate) async fn a_secret_in_the_workspace_is_not_published(house: &OnDisk) {
    let ways = [
        "mkdir d && echo token=$TOKEN > d/found",
        "printf %s $TOKEN | base64 > found",
        "touch found-$TOKEN",
        "ln -s $TOKEN found",
        "git init -q r && echo $TOKEN > f && git -C r hash-object -w ../f && rm f",
    ];
    for way in ways {
        let request = with_secret(request(way, None, &[way]));
        let error = bake(house.backend(), &request).await.unwrap_err();
        let BakeError::SecretInside { names, paths } = error else {
            panic!("{way}: {error}");
        };
        assert_eq!(names, ["secret TOKEN"], "{way}");
        assert!(!paths.concat().contains(CANARY), "{way}: {paths:?}");
        assert_eq!(
            presence(house.backend(), request.key).await,
            Presence::Absent
        );
    }
    let mut cached = with_secret(request(
        "cached",
        None,
        &["echo $TOKEN > kept/f; echo x > kept/g"],
    ));
    cached.caches.push(Cache {
        name: "kept".to_owned(),
        path: "kept".to_owned(),
    });
    let error = bake(house.backend(), &cached).await.unwrap_err();
    assert!(
        matches!(&error, BakeError::SecretInside { paths, .. } if paths == &["cache kept"]),
        "{error:?}"
    );
    let honest = with_secret(request(
        "honest",
        None,
        &["echo ${#TOKEN} > length; echo $TOKEN"],
    ));
    let snapshot = publish(house.backend(), &honest).await;
    assert!(snapshot.verified.contains(&"no secrets".to_owned()));
    house.backend().sweep().await.unwrap();
    wait_until("the trash to be empty", || {
        fs::read_dir(house.root().join("trash"))
            .unwrap()
            .next()
            .is_none()
    });
    assert_eq!(files_with(&house.root(), CANARY), Vec::<PathBuf>::new());
}

fn files_with(folder: &Path, text: &str) -> Vec<PathBuf> {
    let files = WalkDir::new(folder)
        .into_iter()
        .map(|entry| entry.unwrap().into_path());
    let holds = |path: &PathBuf| {
        let content = fs::read(path).unwrap_or_default();
        content
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    };
    files.filter(|path| path.is_file() && holds(path)).collect()
}

/// behaviours 1.21
pub(crate) async fn what_is_written_outside_is_told(house: &OnDisk) {
    let mut request = request(
        "a",
        None,
        &["mkdir /srv && echo x > /srv/f && echo y > /etc/made; echo z > kept"],
    );
    request.steps[0].user = User::Root;
    if is_alone() {
        let error = bake(house.backend(), &request).await.unwrap_err();
        assert!(
            matches!(&error, BakeError::Backend(error) if error.class == Class::Denied),
            "{error}"
        );
        assert!(error.to_string().contains("step 1 runs as root"), "{error}");
        return;
    }
    request.strict_outside = true;
    let error = bake(house.backend(), &request).await.unwrap_err();
    let BakeError::Outside { count, names } = error else {
        panic!("{error}");
    };
    assert_eq!(
        (count, names),
        (2, vec!["/etc/made".to_owned(), "/srv/f".to_owned()])
    );
    assert!(!is_present(house.backend(), request.key).await);
    request.strict_outside = false;
    let mut caller = Caller::new();
    let cancel = Cancel::new();
    let baked = house.backend().bake(&request, &caller.sink, &cancel);
    baked.await.unwrap();
    let mut notices = caller.events.notices();
    notices.retain(|text| !text.contains("not limited: "));
    assert_eq!(
        notices,
        ["written outside of the workspace, and not kept: /etc/made, /srv/f"]
    );
    let sandbox = boot(house.backend(), &request).await;
    let (_, lines) = sh(
        house.backend(),
        &sandbox,
        "cat kept; ls /srv /etc/made 2>&1 | wc -l",
    )
    .await;
    assert_eq!(lines, ["z", "2"]);
    house.backend().destroy(&sandbox).await.unwrap();
}

/// behaviours 1.21: what is meant to be thrown away is no news.
pub(crate) async fn temporary_files_are_not_outside(house: &OnDisk) {
    let mut request = request(
        "a",
        None,
        &["echo x > /tmp/x; echo y > /dev/shm/y; echo z > z"],
    );
    request.strict_outside = true;
    let snapshot = publish(house.backend(), &request).await;
    assert!(snapshot.verified.contains(&"nothing outside".to_owned()));
}

/// Whether there is one user in a sandbox.
fn is_alone() -> bool {
    let lent = fs::read_to_string("/etc/subuid").unwrap_or_default();
    let me = std::process::Command::new("id")
        .arg("-un")
        .output()
        .unwrap();
    let me = String::from_utf8(me.stdout).unwrap();
    !geteuid().is_root()
        && !lent
            .lines()
            .any(|line| line.starts_with(&format!("{}:", me.trim())))
}

/// behaviours 1.1, 1.12
pub(crate) async fn a_damaged_snapshot_is_found_and_taken_out(house: &OnDisk) {
    let parent = request("a", None, &["echo right > f"]);
    let child = request("b", Some(&parent), &["echo child > g"]);
    let other = request("c", None, &["echo other > f"]);
    for request in [&parent, &child, &other] {
        publish(house.backend(), request).await;
    }
    let keys = fsck::keys(house.backend()).unwrap();
    assert_eq!(keys.len(), 3);
    let checked = fsck::check(house.backend(), &keys).await.unwrap();
    assert!(
        checked.iter().all(|checked| checked.damage.is_empty()),
        "{checked:#?}"
    );
    // As a disk would do it: neither the size nor a time tells.
    let file = house.layer_of(parent.key).join("d/f");
    let times = fs::metadata(&file).unwrap().modified().unwrap();
    let mut open = fs::File::options().write(true).open(&file).unwrap();
    open.write_all(b"wrong").unwrap();
    open.set_modified(times).unwrap();
    let checked = fsck::check(house.backend(), &keys).await.unwrap();
    for checked in &checked {
        let is_damaged = [parent.key, child.key].contains(&checked.key);
        assert_eq!(!checked.damage.is_empty(), is_damaged, "{checked:#?}");
    }
    assert!(!is_present(house.backend(), parent.key).await);
    assert!(!is_present(house.backend(), child.key).await);
    assert!(is_present(house.backend(), other.key).await);
    publish(house.backend(), &parent).await;
    publish(house.backend(), &child).await;
    assert_eq!(content(house.backend(), &child, "f").await, ["right"]);
}

/// behaviours 1, near misses: chains that only grow.
pub(crate) async fn a_long_chain_is_kept_shallow(house: &OnDisk) {
    let step = "n=$(cat count 2>/dev/null || echo 0); echo $((n + 1)) > count; rm -f old-$((n - 3)); echo $n > old-$n";
    let mut chain = vec![request("0", None, &[step])];
    for number in 1..70 {
        let next = request(&number.to_string(), chain.last(), &[step]);
        chain.push(next);
    }
    for request in &chain {
        publish(house.backend(), request).await;
    }
    let deepest = chain
        .iter()
        .map(|request| house.layers_of(request.key).len())
        .max();
    // The one with 64 was merged when the next came.
    assert_eq!(deepest, Some(63));
    assert_eq!(house.layers_of(chain[69].key).len(), 1 + 6);
    // The one that was merged, the one above, and the last.
    for (number, request) in [(63, &chain[63]), (64, &chain[64]), (69, &chain[69])] {
        let sandbox = boot(house.backend(), request).await;
        let (_, lines) = sh(house.backend(), &sandbox, "cat count; ls -d old-* | wc -l").await;
        house.backend().destroy(&sandbox).await.unwrap();
        assert_eq!(lines, [(number + 1).to_string(), "3".to_owned()]);
    }
    let keys = fsck::keys(house.backend()).unwrap();
    let checked = fsck::check(house.backend(), &keys).await.unwrap();
    assert!(
        checked.iter().all(|checked| checked.damage.is_empty()),
        "{checked:#?}"
    );
}
