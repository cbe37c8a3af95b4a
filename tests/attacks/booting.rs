//! What happens between the decision to boot a snapshot and its sandbox.

use std::fs::{self, File};
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use crate::processes::wait_until;
use crate::project::{Project, Running};

const UP: [&str; 4] = ["up", "--", "cat", "f"];

fn project() -> Project {
    let project = Project::new("from dev-base\nrun \"echo baked > f\"");
    project.run(&["build"]).expect(0);
    project.assert_nothing_left();
    project
}

/// The lock under which a store is swept: whoever is about to use a layer waits for it.
fn sweep(store: &Path) -> File {
    let lock = File::create(store.join("locks/publish")).unwrap();
    lock.lock().unwrap();
    lock
}

fn wait_for_the_lock(running: &Running<'_>) {
    let waiting = format!(" {} ", running.child.id());
    wait_until("it to wait for the sweep", || {
        let locks = fs::read_to_string("/proc/locks").unwrap();
        let mut waiters = locks.lines().filter(|line| line.contains("-> FLOCK"));
        waiters.any(|line| line.contains(&waiting))
    });
}

#[test]
fn a_signal_that_comes_while_a_sandbox_boots_ends_it() {
    let project = project();
    for signal in [Signal::INT, Signal::TERM] {
        let lock = sweep(&project.store);
        let running = project.start(&UP);
        wait_for_the_lock(&running);
        running.signal(signal);
        drop(lock);
        assert_eq!(running.wait().expect(130).stdout, "");
        project.assert_nothing_left();
    }
}

#[test]
fn a_snapshot_that_is_baked_again_while_it_is_about_to_boot_boots() {
    let project = project();
    let lock = sweep(&project.store);
    let running = project.start(&UP);
    wait_for_the_lock(&running);
    // As another build leaves it: the record names another layer, and the one before is swept.
    let key = project.snapshots()[0]["key"].as_str().unwrap().to_owned();
    let path = project.store.join(format!("s/{key}.json"));
    let mut record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let old = record["layers"][0]["name"].as_str().unwrap().to_owned();
    fs::rename(project.store.join(old), project.store.join("l/again")).unwrap();
    record["layers"][0]["name"] = "l/again".into();
    fs::write(&path, record.to_string()).unwrap();
    drop(lock);
    assert_eq!(running.wait().expect(0).stdout, "baked\n");
}
