//! A launcher that something else kills or stops, and signals that were ignored.

use rustix::process::{Signal, kill_process};

use crate::processes::{is_running, marker};
use crate::project::Project;
use crate::wrapped::started_by;

#[test]
fn a_launcher_that_is_killed_is_no_fault_of_atelier() {
    let marker = marker();
    let project = Project::new(&format!(
        "from dev-base\nrun \"echo begun; sleep {marker}\""
    ));
    let mut running = project.start(&["build"]);
    running.until("default | begun");
    kill_process(running.launcher(), Signal::KILL).unwrap();
    let ran = running.wait().expect(6);
    assert!(ran.stderr.contains("A0701"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("the sandbox has ended"),
        "{}",
        ran.stderr
    );
    assert!(!is_running(&marker));
    project.assert_nothing_left();
    project.edit(&marker, "0");
    project.run(&["build"]).expect(0);
}

#[test]
fn a_launcher_that_is_killed_ends_its_sandbox() {
    let marker = marker();
    let project = Project::new("from dev-base");
    let script = format!("echo begun >&2; sleep {marker}");
    let mut running = project.start(&["up", "--", "sh", "-c", &script]);
    running.until("begun");
    kill_process(running.launcher(), Signal::KILL).unwrap();
    let ran = running.wait().expect(6);
    assert!(ran.stderr.contains("A0701"), "{}", ran.stderr);
    assert!(!is_running(&marker));
    project.assert_nothing_left();
}

#[test]
fn a_launcher_that_is_stopped_does_not_stop_a_time_limit() {
    let marker = marker();
    let project = Project::new(&format!(
        "from dev-base\nrun \"echo begun; sleep {marker}\" timeout=\"2s\""
    ));
    let mut running = project.start(&["build"]);
    running.until("default | begun");
    kill_process(running.launcher(), Signal::STOP).unwrap();
    let began = std::time::Instant::now();
    running.wait().expect(6);
    assert!(began.elapsed() < std::time::Duration::from_secs(25));
    assert!(!is_running(&marker));
    project.assert_nothing_left();
}

#[test]
fn a_hang_up_ends_a_build() {
    for signal in [Signal::HUP, Signal::QUIT] {
        let marker = marker();
        let file = format!("from dev-base\nrun \"echo begun; sleep {marker}\"");
        let project = Project::new(&file);
        let heard = ["env", "--default-signal=HUP,QUIT"];
        let build = started_by(&heard, &project.atelier(&["build"]));
        let mut running = project.start_command(build);
        running.until("default | begun");
        running.signal(signal);
        running.wait().expect(130);
        assert!(!is_running(&marker));
        project.assert_nothing_left();
    }
}

/// As `nohup` starts it.
#[test]
fn a_hang_up_that_is_ignored_ends_no_build() {
    let project = Project::new("from dev-base\nrun \"echo begun; sleep 1; echo ended\"");
    let ignored = ["env", "--ignore-signal=HUP"];
    let build = started_by(&ignored, &project.atelier(&["build"]));
    let mut running = project.start_command(build);
    running.until("default | begun");
    running.signal(Signal::HUP);
    let ran = running.wait().expect(0);
    assert!(ran.stderr.contains("default | ended"), "{}", ran.stderr);
    assert_eq!(project.snapshots().len(), 1);
    project.assert_nothing_left();
}
