//! Logs: streamed, kept, and found again.

use crate::processes::marker;
use crate::project::Project;

const LOG: &str = "==> step 1 of 1: echo one; echo two >&2\none\ntwo\n";

/// behaviours 1.14
#[test]
fn the_log_of_a_target_or_a_key_is_printed() {
    let project = Project::new("from dev-base\nrun \"echo one; echo two >&2\"");
    project.run(&["build"]).expect(0);
    let key = project.snapshots()[0]["key"].as_str().unwrap().to_owned();
    let snapshot = format!("snap-{}", &key[..12]);
    for words in [
        vec!["default"],
        vec!["./prebuild.kdl", "default"],
        vec![key.as_str()],
        vec![&key[..6]],
        vec![&snapshot],
    ] {
        let ran = project
            .run(&[&["log"], words.as_slice()].concat())
            .expect(0);
        assert_eq!(
            (ran.stdout.as_str(), ran.stderr.as_str()),
            (LOG, ""),
            "{words:?}"
        );
    }
}

#[test]
fn the_log_of_a_failed_bake_is_kept() {
    let project = Project::new("from dev-base\nrun \"echo one; exit 3\"");
    project.run(&["build"]).expect(1);
    let expected = "==> step 1 of 1: echo one; exit 3\none\n--> step 1 failed with exit status 3\n";
    assert_eq!(project.run(&["log", "default"]).expect(0).stdout, expected);
    let plan = project.run(&["plan", "--json"]).expect(0).json();
    let key = plan["nodes"][0]["key"].as_str().unwrap();
    assert_eq!(project.run(&["log", key]).expect(0).stdout, expected);
}

#[test]
fn the_last_bake_s_log_is_the_one() {
    let project = Project::new("from dev-base\nrun \"date +%N > f; cat f\"");
    project.run(&["build"]).expect(0);
    let first = project.run(&["log", "default"]).expect(0).stdout;
    project.run(&["build", "--force", "default"]).expect(0);
    let second = project.run(&["log", "default"]).expect(0).stdout;
    assert_ne!(first, second);
    let baked = project.run(&["up", "--", "cat", "f"]).expect(0).stdout;
    assert!(second.ends_with(&baked), "{second}");
    // A build that reuses makes no new one.
    project.run(&["build"]).expect(0);
    assert_eq!(project.run(&["log", "default"]).expect(0).stdout, second);
}

#[test]
fn what_was_never_baked_has_no_log() {
    let project = Project::new("from dev-base\nrun \"true\"");
    let ran = project.run(&["log", "default"]).expect(2);
    assert_eq!(
        ran.stderr,
        "error[A0801]: `default` was not baked with this store\n  help: bake it: atelier build\n"
    );
    let ran = project.run(&["log", "abcdef"]).expect(2);
    assert_eq!(
        ran.stderr,
        "error[A0801]: there is no log of a key abcdef…\n  help: see `atelier snapshots`\n"
    );
    project.run(&["log", "nope"]).expect(2);
}

/// behaviours 2.16
#[test]
fn large_output_is_kept_whole() {
    let project = Project::new(
        "from dev-base\nrun \"seq 1 1000000; head -c 3000000 /dev/zero | tr '\\\\0' x\"",
    );
    project.run(&["build"]).expect(0);
    let log = project.run(&["log", "default"]).expect(0).stdout;
    assert!(log.contains("\n999999\n1000000\n"));
    let long = log.lines().filter(|line| line.starts_with("xx"));
    assert_eq!(long.map(str::len).sum::<usize>(), 3_000_000);
}

#[test]
fn output_is_seen_line_by_line_while_the_step_runs() {
    let marker = marker();
    let project = Project::new(&format!(
        "from dev-base\nrun \"echo begun; until [ -e /tmp/never ]; do sleep {marker}; done\""
    ));
    let mut running = project.start(&["build"]);
    running.until("default | begun");
    assert!(
        crate::processes::is_running(&marker),
        "it was seen after the end"
    );
    // The log is written as it comes, too.
    let plan = project.run(&["plan", "--json"]).expect(0).json();
    let key = plan["nodes"][0]["key"].as_str().unwrap();
    assert!(
        project
            .run(&["log", key])
            .expect(0)
            .stdout
            .ends_with("\nbegun\n")
    );
    running.signal(rustix::process::Signal::INT);
    running.wait().expect(130);
    project.assert_nothing_left();
}
