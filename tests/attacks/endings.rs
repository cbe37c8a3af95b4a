//! The end of a bake: what comes after the last step is bounded too, and leaves nothing when it fails.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;

use crate::processes::wait_until;
use crate::project::Project;

const HOLLOW: &str = "truncate -s 15T z";

#[test]
fn the_time_limit_holds_after_the_last_step() {
    let project = Project::new(&format!(
        "from dev-base\nresources timeout=\"3s\"\nrun \"{HOLLOW}\""
    ));
    let ran = project
        .start(&["build"])
        .wait_for(Duration::from_mins(1))
        .expect(1);
    assert!(
        ran.stderr.contains("longer than 3 s in all"),
        "{}",
        ran.stderr
    );
    project.assert_nothing_left();
}

#[test]
fn an_interrupt_is_heard_after_the_last_step() {
    let project = Project::new(&format!("from dev-base\nrun \"{HOLLOW}\""));
    let running = project.start(&["build"]);
    wait_until("the workspace to be described", || {
        works(running.child.id())
    });
    running.signal(Signal::TERM);
    running.wait_for(Duration::from_mins(1)).expect(130);
    project.assert_nothing_left();
}

/// Whether a process has one below it that works on the store.
fn works(parent: u32) -> bool {
    let children = format!("/proc/{parent}/task/{parent}/children");
    let children = fs::read_to_string(children).unwrap_or_default();
    let mut words = children
        .split_whitespace()
        .map(|child| fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default());
    words.any(|words| words.split(|&byte| byte == 0).any(|word| word == b"work"))
}

/// behaviours 1.8: a record that cannot be written takes its layer with it.
#[test]
fn a_layer_that_cannot_be_published_goes() {
    let project = Project::new("from dev-base\nrun \"echo made > made\"");
    let key = project
        .run(&["plan", "--json"])
        .expect(0)
        .column("key")
        .remove(0)
        .1;
    project.run(&["snapshots"]).expect(0);
    let record = project.store.join(format!("s/{key}.json"));
    fs::create_dir(&record).unwrap();
    let ran = project.run(&["build"]).expect(6);
    assert!(
        ran.stderr.contains("cannot publish the snapshot"),
        "{}",
        ran.stderr
    );
    let left = |folder: &str| fs::read_dir(project.store.join(folder)).unwrap().count();
    assert_eq!(left("l"), 0);
    fs::remove_dir(&record).unwrap();
    project.run(&["build"]).expect(0);
    assert_eq!(left("l"), 1);
    let doubts = fs::read_dir(project.store.join("locks")).unwrap().flatten();
    let doubts = doubts.filter(|entry| entry.file_name().to_string_lossy().starts_with("doubt-"));
    assert_eq!(doubts.count(), 0);
    // What something else has left there is found by a check.
    fs::create_dir_all(project.store.join("l/nobodys/d")).unwrap();
    project.run(&["fsck"]).expect(0);
    assert_eq!(left("l"), 1);
}

/// Somebody has deleted folders of the store: those that can be empty are made anew.
#[test]
fn a_store_without_its_scratch_folder_works() {
    let project = Project::new("from dev-base\nrun \"echo made > made\"");
    project.run(&["snapshots"]).expect(0);
    for folder in ["w", "trash", "caches"] {
        fs::remove_dir(project.store.join(folder)).unwrap();
    }
    project.run(&["build"]).expect(0);
}
