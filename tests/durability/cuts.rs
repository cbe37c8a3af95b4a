//! The power is cut at any moment of a build: what is on the disk then is whole, and the next build does the rest.

use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::disk::{Disk, MIB};
use crate::litter::{assert_same, groups_before};
use crate::processes::wait_until;
use crate::project::Project;
use crate::random::Random;
use crate::tree::{is_gone, stands_still, tree};

/// What each step makes is the same each time.
const FILE: &str = r##"
prebuild a {
    from dev-base
    repo "." path=src
    run #"mkdir made; for n in $(seq 60); do echo "module.exports = $n" > made/$n.js; done"#
}
prebuild b {
    from prebuild=a
    run #"rm -r made/1*; mv made/2.js made/two.js; seq 40000 > numbers"#
}
prebuild c {
    from prebuild=b
    run #"rm -r made; mkdir made; seq 100000 > made/numbers; rm numbers"#
}
"##;

const NODES: [&str; 3] = ["a", "b", "c"];
/// Packs differ from fetch to fetch.
const LIST: &str = "find . -type f ! -path './src/.git/*' -print0 | sort -z | xargs -0 sha256sum; cd src; git rev-parse HEAD; git status --porcelain; git fsck --no-progress";

/// What to wait for, before a while of some milliseconds.
const MOMENTS: [&str; 7] = [
    "a | ==> check out src",
    "a | ==> step",
    "a | ==> baked",
    "b | ==> step",
    "b | ==> baked",
    "c | ==> step",
    "c | ==> baked",
];

/// behaviours 1.1, 1.12
#[test]
fn a_power_cut_at_any_moment_leaves_no_half_made_snapshot() {
    groups_before();
    let random = Random::new("power cuts");
    let mut project = Project::new(FILE);
    for number in 0..60 {
        project.write(&format!("sources/{number}.txt"), &"text\n".repeat(number));
    }
    project.commit("sources");
    // A store that holds nothing but what is remembered of the machine.
    let remembers = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let expected = uncut(&mut project, remembers.path());
    let mut kept = [0; NODES.len() + 1];
    for moment in MOMENTS.into_iter().chain(MOMENTS) {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let disk = Disk::ext4(folder.path(), 64 * MIB, &[], Some(remembers.path()));
        project.store = disk.path("store");
        let later = Duration::from_millis(random.below(30));
        let what = format!("{moment}, {later:?}");
        let cut = cut_during_a_build(&project, &disk, moment, later, &folder.path().join("cut"));
        project.store = cut.path("store");
        let plan = project.plan(&[]);
        for (index, (node, action)) in plan.iter().enumerate() {
            if action == "reuse" {
                let what = format!("{node}: {what}");
                assert_same(&list(&project, node), &expected[index], &what);
            }
        }
        kept[plan.iter().filter(|(_, action)| action == "reuse").count()] += 1;
        project.build(&[]);
        assert_same(&list(&project, "c"), &expected[2], &what);
        project.assert_no_litter();
    }
    println!("cuts that left 0, 1, 2, 3 snapshots: {kept:?}");
    assert!(kept[1] + kept[2] > 0, "{kept:?}");
}

/// What each node holds.
fn uncut(project: &mut Project, remembers: &Path) -> [String; 3] {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    project.store = folder.path().join("store");
    project.run(&["build"]).expect(0);
    let expected = NODES.map(|node| list(project, node));
    project.store = remembers.join("store");
    project.run(&["plan"]).expect(0);
    expected
}

/// Everything stands still while the disk is copied, so that the copy is of one moment.
fn cut_during_a_build(
    project: &Project,
    disk: &Disk,
    moment: &str,
    later: Duration,
    to: &Path,
) -> Disk {
    let mut running = project.start(&["build"]);
    running.until(moment);
    std::thread::sleep(later);
    let all = stop(running.child.id());
    let cut = disk.cut(to).expect("a disk that can be mounted");
    send(&all, Signal::KILL);
    let ended = running.wait().code();
    assert!(ended == -9 || ended == 0, "{ended}");
    wait_until("everything to end", || all.iter().all(|&pid| is_gone(pid)));
    cut
}

/// Stops a process and all that descend from it.
fn stop(root: u32) -> Vec<u32> {
    loop {
        let mut all = Vec::new();
        for _ in 0..100 {
            all = tree(root);
            send(&all, Signal::STOP);
            if all.iter().all(|&pid| stands_still(pid)) && tree(root) == all {
                return all;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        // One that starts a program stands still when the other has begun, and the other was stopped before that.
        send(&all, Signal::CONT);
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn send(pids: &[u32], signal: Signal) {
    for &pid in pids {
        let pid = Pid::from_raw(pid.try_into().unwrap()).unwrap();
        kill_process(pid, signal).ok();
    }
}

fn list(project: &Project, node: &str) -> String {
    let ran = project.run(&["up", node, "--", "sh", "-c", LIST]).expect(0);
    ran.stdout
}
