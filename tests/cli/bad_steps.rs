//! Steps that fail, hang or leave something behind.

use crate::processes::{is_running, marker};
use crate::project::{Project, pairs};

#[track_caller]
fn bakes_without(project: &Project, old: &str, new: &str) {
    assert_eq!(project.snapshots(), [] as [serde_json::Value; 0]);
    project.assert_nothing_left();
    project.edit(old, new);
    project.run(&["build"]).expect(0);
    assert_eq!(project.snapshots().len(), 1);
    project.assert_nothing_left();
}

/// behaviours 1.12
#[test]
fn a_step_that_fails() {
    let project =
        Project::new("from dev-base\nrun \"echo one; echo two >&2; exit 3\"\nrun \"echo never\"");
    let ran = project.run(&["build"]).expect(1);
    let shown = r#"default | ==> step 1 of 2: echo one; echo two >&2; exit 3
default | one
default | two
default | --> step 1 failed with exit status 3
default | ==> failed: step 1 failed with exit status 3
A0704

  × default: step 1 failed with exit status 3
   ╭─[prebuild.kdl:2:1]
 1 │ from dev-base
 2 │ run "echo one; echo two >&2; exit 3"
   · ──────────────────┬─────────────────
   ·                   ╰── this step
 3 │ run "echo never"
   ╰────
  help: the whole log: [log]

"#;
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", shown));
    bakes_without(&project, "exit 3", "exit 0");
}

#[test]
fn a_step_fails_fast_at_an_unset_variable_and_in_a_pipe() {
    for command in ["echo $NOT_SET", "false | true", "false; true"] {
        let project = Project::new(&format!("from dev-base\nrun \"{command}\"\nrun \"true\""));
        project.run(&["build"]).expect(1);
    }
    let project = Project::new("from dev-base\nrun \"false | true\" shell=sh");
    project.run(&["build"]).expect(0);
}

#[test]
fn a_step_that_is_killed() {
    let project = Project::new("from dev-base\nrun \"kill -KILL $$\"");
    let ran = project.run(&["build"]).expect(1);
    assert!(
        ran.stderr.contains("step 1 was ended by signal 9"),
        "{}",
        ran.stderr
    );
    bakes_without(&project, "kill -KILL $$", "true");
}

/// Only root is sure to have control groups here.
#[test]
fn a_step_that_runs_out_of_memory() {
    let hog = "head -c 1G /dev/zero | tail -c 1G | wc -c";
    let project = Project::new(&format!(
        "from dev-base\nresources memory=\"64MiB\"\nrun \"{hog}\""
    ));
    let ran = project.run(&["build"]).expect(1);
    for shown in [
        "A0708",
        "default: step 1 ran out of memory: its limit is 64 MiB",
        "help: raise it with `resources memory=`; the whole log: [log]",
    ] {
        assert!(ran.stderr.contains(shown), "{}", ran.stderr);
    }
    bakes_without(&project, "1G", "1M");
}

#[test]
fn a_step_that_runs_into_its_time_limit() {
    let marker = marker();
    let project = Project::new(&format!(
        "from dev-base\nrun \"trap '' TERM INT; sleep {marker}\" timeout=\"1s\""
    ));
    let ran = project.run(&["build"]).expect(1);
    assert!(!is_running(&marker));
    assert!(ran.stderr.contains("A0705"), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("default: step 1 ran into its time limit of 1 s"),
        "{}",
        ran.stderr
    );
    bakes_without(&project, &marker, "0");
}

#[test]
fn a_bake_that_runs_into_its_time_limit() {
    let marker = marker();
    let project = Project::new(&format!(
        "from dev-base\nresources timeout=\"1s\"\nrun \"sleep {marker}\""
    ));
    let ran = project.run(&["build"]).expect(1);
    assert!(!is_running(&marker));
    assert!(ran.stderr.contains("A0705"), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("default: the bake took longer than 1 s in all"),
        "{}",
        ran.stderr
    );
    project.edit("timeout=\"1s\"", "timeout=\"1m\"");
    bakes_without(&project, &marker, "0");
}

#[test]
fn a_retry_repeats_a_step() {
    let project =
        Project::new("from dev-base\nrun \"echo x >> tries; [ $(wc -l < tries) = 3 ]\" retry=2");
    let ran = project.run(&["build"]).expect(0);
    assert!(
        ran.stderr
            .contains("step 1 failed with exit status 1; try 3 of 3"),
        "{}",
        ran.stderr
    );
}

/// behaviours 1.1
#[test]
fn a_daemon_that_a_step_leaves_is_ended_before_the_next_step() {
    let marker = marker();
    let file = format!(
        r##"from dev-base
run #"setsid nohup sh -c 'trap "" HUP TERM; sleep {marker}' >/dev/null 2>&1 & sleep 0.1"#
run #"for p in /proc/[0-9]*; do ! grep -qs "[s]leep.{marker}" $p/cmdline; done"#"##
    );
    let project = Project::new(&file);
    project.run(&["build"]).expect(0);
    assert!(!is_running(&marker));
    project.assert_nothing_left();
}

/// behaviours 1.13, 2.16
#[test]
fn what_depends_on_a_failed_node_is_skipped_and_the_rest_goes_on() {
    let file = "prebuild a { from dev-base; run \"exit 1\"; }\nprebuild b { from prebuild=a; run x; }\nprebuild c { from prebuild=b; run x; }\nprebuild d { from dev-base; run \"sleep 0.5\"; }";
    let project = Project::new(file);
    let ran = project
        .run(&["build", "--json", "--keep-going", "-j", "2"])
        .expect(1);
    let ends = [
        ("a", "failed"),
        ("d", "baked"),
        ("b", "skipped"),
        ("c", "skipped"),
    ];
    assert_eq!(ran.column("result"), pairs(&ends));
    assert!(
        ran.stderr.contains("note: not baked: b, c"),
        "{}",
        ran.stderr
    );
    project.edit("exit 1", "exit 0");
    project.edit(
        "run x; }\nprebuild c { from prebuild=b; run x",
        "run \"true\"; }\nprebuild c { from prebuild=b; run \"true\"",
    );
    let ends = [
        ("a", "baked"),
        ("d", "reused"),
        ("b", "baked"),
        ("c", "baked"),
    ];
    assert_eq!(project.build(&[]), pairs(&ends));
}

#[test]
fn the_first_failure_ends_the_build() {
    let marker = marker();
    let file = format!(
        "prebuild a {{ from dev-base; run \"sleep 1; exit 4\"; }}\nprebuild b {{ from dev-base; run \"sleep {marker}\"; }}\nprebuild c {{ from dev-base; run \"true\"; }}"
    );
    let project = Project::new(&file);
    let ran = project.run(&["build", "--json", "-j", "2"]).expect(1);
    let ends = [("a", "failed"), ("b", "cancelled"), ("c", "skipped")];
    assert_eq!(ran.column("result"), pairs(&ends));
    assert!(!is_running(&marker));
    project.assert_nothing_left();
    assert_eq!(project.snapshots(), [] as [serde_json::Value; 0]);
}
