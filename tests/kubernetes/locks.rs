//! One bake per key at a time, whoever dies or sleeps.

use std::time::{Duration, Instant};

use crate::cluster::{Machine, kubectl, litter, published, wait, whole};

const SLOW: &str = "prebuild one { from dev-base; run \"echo KEY; for i in 1 2 3 4 5 6 7 8; do echo tick $i; sleep 1; done; echo done > f\"; }";

#[test]
fn the_second_client_follows_the_first_ones_log() {
    let _cluster = whole();
    let machine = Machine::with(SLOW);
    let first = machine.start(&[]);
    first.until("tick 3");
    let other = machine.other();
    let second = other.start(&[]);
    let (code, output) = first.end();
    assert_eq!(code, Some(0), "{output}");
    let ended = Instant::now();
    let (code, output) = second.end();
    let late = ended.elapsed();
    assert_eq!(code, Some(0), "{output}");
    for tick in 1..=8 {
        assert_eq!(
            output.matches(&format!("tick {tick}\n")).count(),
            1,
            "{output}"
        );
    }
    assert!(output.contains("reused"), "{output}");
    assert!(late < Duration::from_secs(2), "{late:?}");
    assert_eq!(published(&machine.key("one")).len(), 1);
}

/// One that comes while the leader has no pod yet sees all of it, too.
#[test]
fn a_follower_that_is_there_before_the_pod_misses_nothing() {
    let _cluster = whole();
    let machine = Machine::with(SLOW);
    let lease = format!("bake-{}", &machine.key("one")[..12]);
    let other = machine.other();
    let first = machine.start(&[]);
    let found = ["get", "leases", "-o", "name"];
    wait("the lease", Duration::from_secs(30), || {
        kubectl(&found).contains(&lease)
    });
    let second = other.start(&[]);
    let (code, output) = first.end();
    assert_eq!(code, Some(0), "{output}");
    let (code, output) = second.end();
    assert_eq!(code, Some(0), "{output}");
    for tick in 1..=8 {
        let line = format!("tick {tick}\n");
        assert_eq!(output.matches(&line).count(), 1, "{output}");
    }
}

#[test]
fn a_cancelled_bake_is_gone() {
    let _cluster = whole();
    let machine = Machine::with(SLOW);
    let key = machine.key("one");
    let build = machine.start(&[]);
    build.until("tick 1");
    build.signal("INT");
    let (code, output) = build.end();
    assert_eq!(code, Some(130), "{output}");
    assert_eq!(litter(&key), [""; 0]);
    assert_eq!(published(&key), [""; 0]);
}

#[test]
fn the_bake_of_a_client_that_was_killed_is_taken_over() {
    let _cluster = whole();
    let machine = Machine::with(SLOW);
    let key = machine.key("one");
    let build = machine.start(&[]);
    build.until("tick 1");
    build.signal("KILL");
    build.end();
    let began = Instant::now();
    let (code, output) = machine.other().start(&[]).end();
    assert_eq!(code, Some(0), "{output}");
    assert!(began.elapsed() < Duration::from_secs(90), "{output}");
    assert_eq!(litter(&key), [""; 0]);
    assert_eq!(published(&key).len(), 1);
}

/// It wakes up when another has taken its lease over, and changes nothing.
#[test]
fn a_client_that_slept_does_no_harm() {
    let _cluster = whole();
    let machine = Machine::with(SLOW);
    let key = machine.key("one");
    let sleeper = machine.start(&[]);
    sleeper.until("tick 2");
    sleeper.signal("STOP");
    let (code, output) = machine.other().start(&[]).end();
    assert_eq!(code, Some(0), "{output}");
    let name = published(&key).pop().unwrap();
    let uid = kubectl(&["get", &name, "-o", "jsonpath={.metadata.uid}"]);
    sleeper.signal("CONT");
    let (_, output) = sleeper.end();
    assert_eq!(published(&key), std::slice::from_ref(&name), "{output}");
    assert_eq!(
        kubectl(&["get", &name, "-o", "jsonpath={.metadata.uid}"]),
        uid
    );
    assert_eq!(litter(&key), [""; 0]);
}
