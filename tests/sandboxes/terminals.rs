//! `exec` on a terminal.

use rustix::process::Signal;

use crate::attached::Attached;
use crate::house::House;
use crate::processes::{is_running, marker, wait_until};

const HEARD: &str = "--default-signal=INT,TERM,HUP,QUIT";

fn exec(house: &House, script: &str) -> Attached {
    let exec = house.atelier(&["exec", "web", "--", "sh", "-c", script]);
    Attached::start(&exec, HEARD)
}

#[test]
fn a_terminal_is_a_terminal_of_the_sandbox() {
    let house = House::with_web();
    let script = "test -t 0 && test -t 1 && test -t 2 && tty; stty size; echo begun; read a; echo got $a; exit 6";
    let mut attached = exec(&house, script);
    let seen = attached.until("begun");
    assert!(seen.starts_with("/dev/pts/"), "{seen}");
    assert!(!attached.is_cooked());
    attached.type_in("word\r");
    attached.until("got word");
    assert_eq!(attached.wait(), Some(6));
    assert!(attached.is_cooked());
}

#[test]
fn the_window_s_size_and_its_changes_are_told() {
    let house = House::with_web();
    let script = "trap 'stty size; exit 0' WINCH; echo begun; while :; do sleep 0.1; done";
    let mut attached = exec(&house, script);
    attached.until("begun");
    attached.resize(33, 77);
    attached.signal(Signal::WINCH);
    attached.until("33 77");
    assert_eq!(attached.wait(), Some(0));
}

#[test]
fn ctrl_c_is_the_command_s() {
    let house = House::with_web();
    // Many short ones: one that the signal meets between its fork and its program does not end by it.
    let script = "trap 'echo caught; exit 8' INT; echo begun; while :; do sleep 0.1; done";
    let mut attached = exec(&house, script);
    attached.until("begun");
    attached.type_in("\x03");
    attached.until("caught");
    assert_eq!(attached.wait(), Some(8));
}

#[test]
fn a_shell_has_job_control_and_history_of_its_own() {
    let house = House::with_web();
    let mut attached = Attached::start(&house.atelier(&["exec", "web"]), HEARD);
    attached.type_in("set -o | grep monitor; echo $((40 + 2))\r");
    attached.until("on");
    attached.until("42");
    attached.type_in("exit 9\r");
    assert_eq!(attached.wait(), Some(9));
}

#[test]
fn a_terminal_that_goes_away_hangs_up_its_command_and_not_the_sandbox() {
    let house = House::with_web();
    let (command, daemon) = (marker(), marker());
    // It says so when it has a session of its own, and not before.
    let script = format!("setsid sh -c 'echo begun; exec sleep {daemon}' & sleep {command}");
    let mut attached = exec(&house, &script);
    attached.until("begun");
    wait_until("both to run", || {
        is_running(&format!("sleep\0{daemon}")) && is_running(&format!("sleep\0{command}"))
    });
    attached.hang_up();
    assert_eq!(attached.wait(), Some(130));
    wait_until("the command to end", || {
        !is_running(&format!("sleep\0{command}"))
    });
    assert!(is_running(&format!("sleep\0{daemon}")));
    assert_eq!(house.sh("web", "cat f").expect(0).stdout, "baked\n");
}

#[test]
fn a_signal_leaves_the_terminal_as_it_was_and_the_sandbox_alone() {
    let house = House::with_web();
    for signal in [Signal::HUP, Signal::QUIT, Signal::TERM] {
        let marker = marker();
        let mut attached = exec(&house, &format!("echo begun; sleep {marker}"));
        attached.until("begun");
        assert!(!attached.is_cooked());
        attached.signal(signal);
        assert_eq!(attached.wait(), Some(130), "{signal:?}");
        assert!(attached.is_cooked(), "{signal:?}");
        wait_until("the command to end", || {
            !is_running(&format!("sleep\0{marker}"))
        });
        house.sh("web", "true").expect(0);
    }
}

/// The last words come before the end although a job in the background holds the terminal.
#[test]
fn output_is_whole_before_the_end() {
    let house = House::with_web();
    for round in 0..10 {
        let script = format!("sleep {} & seq 1 3000; echo last-{round}", marker());
        let mut attached = exec(&house, &script);
        attached.until(&format!("last-{round}"));
        assert_eq!(attached.wait(), Some(0));
    }
}
