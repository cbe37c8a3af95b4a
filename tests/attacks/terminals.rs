//! A sandbox on a terminal that goes away, or that is told to.

use std::time::Duration;

use rustix::process::Signal;

use crate::attached::Attached;
use crate::processes::{is_running, marker};
use crate::project::Project;

fn project() -> Project {
    let project = Project::new("from dev-base");
    project.run(&["build"]).expect(0);
    project
}

fn up(project: &Project, script: &str, signals: &str) -> Attached {
    let up = project.atelier(&["up", "--", "sh", "-c", script]);
    let mut attached = Attached::start(&up, signals);
    attached.until("begun");
    attached
}

#[test]
fn a_signal_leaves_the_terminal_as_it_was_and_nothing_behind() {
    let project = project();
    for signal in [Signal::HUP, Signal::QUIT, Signal::TERM] {
        let marker = marker();
        let script = format!("echo begun; sleep {marker}");
        let mut attached = up(&project, &script, "--default-signal=HUP,QUIT,TERM");
        assert!(!attached.is_cooked());
        attached.signal(signal);
        assert_eq!(attached.wait(), Some(130), "{signal:?}");
        assert!(attached.is_cooked(), "{signal:?}");
        assert!(!is_running(&marker));
        project.assert_nothing_left();
    }
}

#[test]
fn a_terminal_that_goes_away_ends_the_sandbox() {
    let project = project();
    let marker = marker();
    let script = format!("echo begun; sleep {marker}");
    let mut attached = up(&project, &script, "--default-signal=HUP");
    attached.hang_up();
    assert_eq!(attached.wait(), Some(130));
    assert!(!is_running(&marker));
    project.assert_nothing_left();
}

#[test]
fn a_terminal_that_goes_away_while_hang_ups_are_ignored_costs_no_time() {
    let project = project();
    let marker = marker();
    let script = format!("trap '' HUP; echo begun; sleep {marker}");
    let mut attached = up(&project, &script, "--ignore-signal=HUP");
    attached.hang_up();
    let before = attached.work();
    std::thread::sleep(Duration::from_secs(1));
    let spent = attached.work() - before;
    assert!(spent < 20, "{spent} ticks in a second");
    attached.signal(Signal::TERM);
    attached.wait();
    assert!(!is_running(&marker));
    project.assert_nothing_left();
}
