//! A display that nobody reads: a terminal that was stopped, a pager, a log collector that hangs. It holds up nothing.

use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::processes::{is_running, marker, wait_until};
use crate::project::Project;

/// Prints more than pipes hold, then sleeps.
fn chatty(marker: &str, timeout: &str) -> Project {
    Project::new(&format!(
        "from dev-base\nrun \"yes | head -c 100000; sleep {marker}\" shell=sh timeout=\"{timeout}\""
    ))
}

/// A build whose standard error is a pipe that nobody reads.
fn unread(project: &Project) -> Child {
    let mut build = project.atelier(&["build"]);
    build.stdout(Stdio::null()).stderr(Stdio::piped());
    build.spawn().unwrap()
}

#[track_caller]
fn ends(child: &mut Child, code: i32) {
    let mut ended = None;
    wait_until("it to end", || {
        ended = child.try_wait().unwrap();
        ended.is_some()
    });
    assert_eq!(ended.unwrap().code(), Some(code));
}

#[test]
fn a_time_limit_holds() {
    let marker = marker();
    let project = chatty(&marker, "6s");
    let mut child = unread(&project);
    wait_until("the step to sleep", || {
        is_running(&format!("sleep\0{marker}"))
    });
    wait_until("the step to end", || !is_running(&marker));
    ends(&mut child, 1);
    project.assert_nothing_left();
}

#[track_caller]
fn a_signal_ends_it(signal: Signal) {
    let marker = marker();
    let project = chatty(&marker, "5m");
    let mut child = unread(&project);
    wait_until("the step to sleep", || {
        is_running(&format!("sleep\0{marker}"))
    });
    kill_process(Pid::from_child(&child), signal).unwrap();
    ends(&mut child, 130);
    assert!(!is_running(&marker));
    project.assert_nothing_left();
}

#[test]
fn an_interrupt_is_heard() {
    a_signal_ends_it(Signal::INT);
}

#[test]
fn a_termination_is_heard() {
    a_signal_ends_it(Signal::TERM);
}

#[test]
fn a_build_is_finished() {
    let project = Project::new("from dev-base\nrun \"yes | head -c 1000000; touch done\" shell=sh");
    let mut child = unread(&project);
    ends(&mut child, 0);
    assert_eq!(project.run(&["up", "--", "ls"]).expect(0).stdout, "done\n");
    project.assert_nothing_left();
}

/// A line that is shown sets no clipboard, moves no cursor and hides nothing.
#[test]
fn no_control_sequence_of_a_step_reaches_the_terminal() {
    let step =
        "printf '\\033]52;c;aGk=\\007one\\033[2J\\n\\033[31mtwo\\033[0m\\n10%%\\r20%%\\n'; exit 1";
    let project = Project::new(&format!("from dev-base\nrun #\"{step}\"#"));
    let ran = project.run(&["build"]).expect(1);
    assert!(
        ran.stderr.contains("| one\n") && ran.stderr.contains("| 20%\n"),
        "{:?}",
        ran.stderr
    );
    assert!(ran.stderr.contains("\u{1b}[31mtwo"), "{:?}", ran.stderr);
    for text in ["\u{1b}]", "\u{7}", "\u{1b}[2J", "\r"] {
        assert!(!ran.stderr.contains(text), "{:?}", ran.stderr);
    }
    let log = project.run(&["log", "default"]).expect(0).stdout;
    assert!(!log.contains("\u{1b}]52"), "{log:?}");
}
