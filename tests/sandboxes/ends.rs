//! `rm` and `down`: when they return, nothing is left.

use rustix::process::{Signal, kill_process};

use crate::house::House;
use crate::processes::{is_running, marker, wait_until};
use crate::project::pairs;

#[test]
fn rm_leaves_nothing() {
    let house = House::with_web();
    let marker = marker();
    let script = format!(
        "trap '' INT TERM HUP; (setsid sleep {marker} >/dev/null 2>&1 &); echo x > g; mkdir -p d/e"
    );
    house.sh("web", &script).expect(0);
    let folder = house.store.join("k/web");
    assert!(folder.is_dir());
    house.run(&["rm", "web"]).expect(0);
    assert!(!is_running(&marker));
    assert!(!folder.exists());
    assert_eq!(house.listed(), []);
    house.assert_nothing_left();
}

#[test]
fn rm_of_what_is_not_there_is_said_so() {
    let house = House::with_web();
    let ran = house.run(&["rm", "other"]).expect(2);
    assert_eq!(
        ran.stderr,
        "error[A0801]: there is no sandbox `other`\n  help: `atelier ps` lists those that are kept\n"
    );
    for name in ["", "..", "../k/web", "web/."] {
        house.run(&["rm", name]).expect(2);
    }
    let ran = house.run(&["exec", "other", "--", "true"]).expect(2);
    assert!(
        ran.stderr.contains("there is no sandbox `other`"),
        "{}",
        ran.stderr
    );
    assert_eq!(house.listed(), pairs(&[("web", "running")]));
    // The others go.
    house.run(&["rm", "other", "web"]).expect(2);
    assert_eq!(house.listed(), []);
}

#[test]
fn rm_of_one_that_has_ended() {
    let house = House::with_web();
    kill_process(house.keeper("web"), Signal::KILL).unwrap();
    house.run(&["rm", "web"]).expect(0);
    assert_eq!(house.listed(), []);
    house.assert_nothing_left();
}

#[test]
fn rm_of_one_whose_record_is_damaged() {
    let house = House::with_web();
    std::fs::write(house.store.join("k/web/sandbox.json"), "{").unwrap();
    assert_eq!(house.listed(), []);
    house.run(&["up", "-d", "--name", "web"]).expect(6);
    house.run(&["rm", "web"]).expect(0);
    house.assert_nothing_left();
    house.run(&["up", "-d", "--name", "web"]).expect(0);
}

#[test]
fn an_exec_ends_with_its_sandbox() {
    let house = House::with_web();
    for _ in 0..5 {
        let marker = marker();
        let mut running = house.start_sh("web", &format!("echo begun >&2; sleep {marker}"));
        running.until("begun");
        house.run(&["rm", "web"]).expect(0);
        running.wait().expect(137);
        assert!(!is_running(&marker));
        house.assert_nothing_left();
        house.run(&["up", "-d", "--name", "web"]).expect(0);
    }
}

#[test]
fn an_exec_whose_keeper_is_killed_says_so() {
    let house = House::with_web();
    let mut running = house.start_sh("web", "echo begun >&2; sleep 60");
    running.until("begun");
    kill_process(house.keeper("web"), Signal::KILL).unwrap();
    let ran = running.wait().expect(6);
    assert!(
        ran.stderr.contains("the sandbox has ended"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_keeper_that_does_not_hear_is_ended_too() {
    let house = House::with_web();
    let keeper = house.keeper("web");
    kill_process(keeper, Signal::STOP).unwrap();
    house.run(&["rm", "web"]).expect(0);
    house.assert_nothing_left();
}

#[test]
fn down_ends_all_of_them() {
    let house = House::with_web();
    house.run(&["down"]).expect(2);
    for name in ["a", "b"] {
        house.run(&["up", "-d", "--name", name]).expect(0);
    }
    kill_process(house.keeper("b"), Signal::KILL).unwrap();
    wait_until("it to end", || {
        house.listed() == pairs(&[("web", "running"), ("a", "running"), ("b", "ended")])
    });
    house.run(&["down", "--all"]).expect(0);
    assert_eq!(house.listed(), []);
    house.run(&["down", "--all"]).expect(0);
    house.assert_nothing_left();
}
