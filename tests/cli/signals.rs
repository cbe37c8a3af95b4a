//! Ctrl-C and its like: what runs is ended, nothing is published, and the next run works.

use rustix::process::Signal;

use crate::processes::{is_running, marker};
use crate::project::{Project, pairs};

/// behaviours 1.11, 1.15
#[track_caller]
fn ends_a_build(signal: Signal) {
    let marker = marker();
    let file = format!(
        "prebuild a {{ from dev-base; run \"echo fine\"; }}\nprebuild b {{ from prebuild=a; run \"trap '' INT TERM HUP; echo begun; sleep {marker}\"; }}\nprebuild c {{ from prebuild=b; run \"true\"; }}"
    );
    let project = Project::new(&file);
    let mut running = project.start(&["build", "--json"]);
    running.until("b | begun");
    running.signal(signal);
    let ran = running.wait().expect(130);
    assert!(!is_running(&marker));
    assert_eq!(
        ran.column("result"),
        pairs(&[("a", "baked"), ("b", "cancelled"), ("c", "skipped")])
    );
    assert!(
        ran.stderr.contains("note: not baked: b, c"),
        "{}",
        ran.stderr
    );
    assert_eq!(project.snapshots().len(), 1);
    project.assert_nothing_left();
    project.edit(&marker, "0");
    assert_eq!(
        project.build(&[]),
        pairs(&[("a", "reused"), ("b", "baked"), ("c", "baked")])
    );
}

#[test]
fn an_interrupt_ends_a_build() {
    ends_a_build(Signal::INT);
}

#[test]
fn a_termination_ends_a_build() {
    ends_a_build(Signal::TERM);
}

#[test]
fn an_interrupt_ends_a_sandbox() {
    let marker = marker();
    let project = Project::new("from dev-base");
    project.run(&["build"]).expect(0);
    let script = format!("echo begun >&2; sleep {marker}");
    let mut running = project.start(&["up", "--", "sh", "-c", &script]);
    running.until("begun");
    running.signal(Signal::INT);
    running.wait().expect(130);
    assert!(!is_running(&marker));
    project.assert_nothing_left();
}

#[test]
fn a_reader_that_goes_away_does_not_end_a_build() {
    let project = Project::new("from dev-base\nrun \"seq 1 100000\"");
    let mut command = project.atelier(&["build"]);
    let mut child = command
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop((child.stderr.take(), child.stdout.take()));
    child.wait().unwrap();
    project.assert_nothing_left();
    assert_eq!(project.snapshots().len(), 1);
}
