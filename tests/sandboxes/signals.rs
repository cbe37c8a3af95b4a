//! Signals of an `exec` without a terminal are its command's.

use rustix::process::Signal;

use crate::house::House;
use crate::processes::{is_running, marker, wait_until};
use crate::wrapped::started_by;

const SIGNALS: [(Signal, &str); 4] = [
    (Signal::INT, "INT"),
    (Signal::TERM, "TERM"),
    (Signal::HUP, "HUP"),
    (Signal::QUIT, "QUIT"),
];

#[test]
fn signals_are_passed_on() {
    let house = House::with_web();
    for (signal, name) in SIGNALS {
        let script = format!(
            "trap 'echo got {name}; exit 5' {name}; echo begun >&2; while :; do sleep 0.1; done"
        );
        let exec = house.atelier(&["exec", "web", "--", "sh", "-c", &script]);
        let heard = ["env", "--default-signal=INT,TERM,HUP,QUIT"];
        let mut running = house.start_command(started_by(&heard, &exec));
        running.until("begun");
        running.signal(signal);
        assert_eq!(running.wait().expect(5).stdout, format!("got {name}\n"));
    }
}

#[test]
fn a_command_that_a_signal_ends_says_so() {
    let house = House::with_web();
    for (signal, name) in SIGNALS {
        let script = format!("echo begun >&2; exec sleep {}", marker());
        let exec = house.atelier(&["exec", "web", "--", "sh", "-c", &script]);
        let heard = ["env", "--default-signal=INT,TERM,HUP,QUIT"];
        let mut running = house.start_command(started_by(&heard, &exec));
        running.until("begun");
        running.signal(signal);
        let code = running.wait().code();
        assert_eq!(code, 128 + signal.as_raw(), "{name}");
    }
}

/// As of a terminal, where Ctrl-C is for the shell and for what it waits for.
#[test]
fn a_signal_is_for_all_of_a_command() {
    let house = House::with_web();
    let marker = marker();
    let script = format!("trap 'echo told' TERM; sleep {marker}; echo $?");
    let running = house.start_sh("web", &script);
    wait_until("it to run", || is_running(&format!("sleep\0{marker}")));
    // Past the moment at which it is a copy of the shell.
    std::thread::sleep(std::time::Duration::from_millis(100));
    running.signal(Signal::TERM);
    assert_eq!(running.wait().expect(0).stdout, "told\n143\n");
}

#[test]
fn a_command_may_ignore_a_signal() {
    let house = House::with_web();
    let script =
        "trap 'echo no' TERM; echo begun >&2; for i in 1 2 3 4 5 6; do sleep 0.2; done; exit 4";
    let mut running = house.start_sh("web", script);
    running.until("begun");
    running.signal(Signal::TERM);
    assert_eq!(running.wait().expect(4).stdout, "no\n");
}

/// As `nohup` starts it.
#[test]
fn what_exec_ignores_is_not_passed_on() {
    let house = House::with_web();
    let exec = house.atelier(&[
        "exec",
        "web",
        "--",
        "sh",
        "-c",
        "echo begun >&2; sleep 1; exit 3",
    ]);
    let mut running = house.start_command(started_by(&["env", "--ignore-signal=HUP"], &exec));
    running.until("begun");
    running.signal(Signal::HUP);
    running.wait().expect(3);
}

#[test]
fn an_exec_that_is_killed_hangs_up_its_command_alone() {
    let house = House::with_web();
    let (command, daemon) = (marker(), marker());
    let script = format!("setsid sleep {daemon} & echo begun >&2; sleep {command}");
    let mut running = house.start_sh("web", &script);
    running.until("begun");
    wait_until("both to run", || {
        is_running(&format!("sleep\0{daemon}")) && is_running(&format!("sleep\0{command}"))
    });
    running.child.kill().unwrap();
    wait_until("the command to end", || {
        !is_running(&format!("sleep\0{command}"))
    });
    assert!(is_running(&format!("sleep\0{daemon}")));
    house.sh("web", "pkill sleep").expect(0);
    running.wait();
}
