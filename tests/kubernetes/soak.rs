//! Many builds of a few files at once, by many machines, of which most are cancelled or killed at some moment: in the end there
//! is a snapshot of each file, and nothing else.

use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::cluster::{Machine, kubectl, published, remains, wait, whole};

/// Two nodes, so that some claims are filled from snapshots.
const FILE: &str = "prebuild one { from dev-base; run \"echo KEY > f; sleep 1\"; }\nprebuild two { from prebuild=one; run \"cat f; sleep 1; echo end >> f\"; }";

/// How many builds, unless `ATELIER_SOAK` says more; `just soak` has a hundred.
const BUILDS: u64 = 20;

/// So many at the same time.
const AT_ONCE: usize = 5;

/// Files; each is built by all.
const FILES: usize = 4;

fn number_of_builds() -> u64 {
    let number = std::env::var("ATELIER_SOAK").ok();
    number.map_or(BUILDS, |number| number.parse().unwrap())
}

/// behaviours 1.18, 2.15
#[test]
fn builds_that_are_cancelled_and_killed_leave_their_snapshots_and_nothing_else() {
    let _cluster = whole();
    let files: Vec<Machine> = (0..FILES).map(|_| Machine::with(FILE)).collect();
    let keys: Vec<String> = files
        .iter()
        .flat_map(|file| [file.key("one"), file.key("two")])
        .collect();
    let builds: Vec<u64> = (0..number_of_builds()).collect();
    let (is_over, looks) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let watch = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                looks.fetch_add(usize::from(look_for_twins(&keys)), Ordering::Relaxed);
            }
        });
        let builders: Vec<_> = (0..AT_ONCE)
            .map(|first| {
                let (files, builds) = (&files, &builds);
                scope.spawn(move || {
                    for &build in builds.iter().skip(first).step_by(AT_ONCE) {
                        let file = &files[usize::try_from(build).unwrap() % FILES];
                        disturbed(&file.other(), build);
                    }
                })
            })
            .collect();
        for one in builders {
            one.join().unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
        watch.join().unwrap();
    });
    // It has seen bakes at all.
    assert!(looks.into_inner() > 0);
    for file in &files {
        file.good("build", &[]);
    }
    // What clients left that were killed after they had published: nobody had to take it over.
    files[0].good("sweep", &[]);
    for key in &keys {
        assert_eq!(published(key).len(), 1, "{key}");
        wait("nothing to be left", Duration::from_mins(2), || {
            remains(key).is_empty()
        });
    }
}

/// No key is baked twice at once: of those pods of a key that nobody has ended, one runs at most. Whether any does.
fn look_for_twins(keys: &[String]) -> bool {
    let running = kubectl(&[
        "get",
        "pods",
        "-l",
        "atelier.dev/role=bake",
        "--field-selector",
        "status.phase=Running",
        "-o",
        "jsonpath={range .items[*]}{.metadata.name} {.metadata.deletionTimestamp}{'\\n'}{end}",
    ]);
    let of = |key: &String| {
        let is_of = |line: &&str| line.contains(&key[..12]) && line.ends_with(' ');
        running.lines().filter(is_of).count()
    };
    let numbers: Vec<usize> = keys.iter().map(of).collect();
    assert!(numbers.iter().all(|&number| number <= 1), "{running}");
    numbers.contains(&1)
}

/// A build that is left alone, cancelled or killed after a time that its number says.
fn disturbed(machine: &Machine, number: u64) {
    // Spread over all that a build of both nodes goes through.
    let after = Duration::from_millis(number * 7919 % 14_000);
    let mut call = machine.command("build", &[]);
    let mut build = call
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    match number % 5 {
        0 => {}
        1 | 2 => {
            thread::sleep(after);
            signal(&build, "INT");
        }
        _ => {
            thread::sleep(after);
            signal(&build, "KILL");
        }
    }
    build.wait().unwrap();
}

fn signal(build: &Child, signal: &str) {
    let id = build.id().to_string();
    // It may have ended.
    let sent = std::process::Command::new("kill")
        .args(["-s", signal, &id])
        .stderr(Stdio::null())
        .status();
    sent.unwrap();
}
