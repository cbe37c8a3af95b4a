//! `up`: a sandbox booted from a snapshot.

use std::io::Write;
use std::process::Stdio;

use crate::project::Project;

fn project() -> Project {
    Project::new("from dev-base\nrepo \".\" path=src\nenv A=1\nrun \"echo baked > f\"")
}

#[test]
fn what_is_missing_is_baked_first_and_only_then() {
    let project = project();
    let ran = project.run(&["up", "--", "cat", "f"]).expect(0);
    assert_eq!(ran.stdout, "baked\n");
    assert!(ran.stderr.contains("default | ==> baked"), "{}", ran.stderr);
    let ran = project.run(&["up", "--", "cat", "f"]).expect(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("baked\n", ""));
    project.assert_nothing_left();
}

#[test]
fn the_command_s_own_status_is_returned() {
    let project = project();
    for code in [0, 1, 2, 5, 6, 10, 70, 126, 255] {
        project
            .run(&["up", "--", "sh", "-c", &format!("exit {code}")])
            .expect(code);
    }
    for signal in [6, 9, 15] {
        project
            .run(&["up", "--", "sh", "-c", &format!("kill -{signal} $$")])
            .expect(128 + signal);
    }
    project.assert_nothing_left();
}

#[test]
fn a_command_that_is_not_there_is_said() {
    let project = project();
    let ran = project.run(&["up", "--", "no-such-program"]).expect(127);
    assert!(
        ran.stderr
            .contains("cannot start no-such-program in /home/dev: it is not on the sandbox's PATH"),
        "{}",
        ran.stderr
    );
}

#[test]
fn its_world_is_a_step_s_without_ci() {
    let project = project();
    let ran = project
        .run(&[
            "up",
            "--",
            "sh",
            "-c",
            "id -un; pwd; echo $HOME $A ${CI-no} ${ATELIER-no}; umask",
        ])
        .expect(0);
    assert_eq!(ran.stdout, "dev\n/home/dev\n/home/dev 1 no no\n0022\n");
}

#[test]
fn standard_input_is_the_caller_s() {
    let project = project();
    project.run(&["build"]).expect(0);
    let mut command = project.atelier(&["up", "--", "wc", "-c"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(&vec![b'x'; 100_000])
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "100000\n");
}

/// behaviours 1.10
#[test]
fn writes_are_forgotten_and_never_become_the_snapshot() {
    let project = project();
    project
        .run(&["up", "--", "sh", "-c", "echo changed > f; rm -rf src"])
        .expect(0);
    let ran = project
        .run(&["up", "--", "sh", "-c", "cat f; ls src"])
        .expect(0);
    assert_eq!(ran.stdout, "baked\nprebuild.kdl\n");
}

/// behaviours 1.8: what no step sees is in no key, and is what the file says now, not when it was baked.
#[test]
fn the_world_of_a_sandbox_never_comes_from_its_snapshot() {
    let project = Project::new(
        "prebuild a { from dev-base; file f \"x\"; env A=1; path one; }\nprebuild b { from prebuild=a; file g \"x\"; env B=1; }",
    );
    project.run(&["build"]).expect(0);
    project.edit("A=1; path one", "A=2; path two");
    project.edit("B=1", "B=2 C=2");
    let world = ["up", "b", "--", "sh", "-c", "echo $A $B $C ${PATH%%:*}"];
    let ran = project.run(&world).expect(0);
    assert_eq!(ran.stdout, "2 2 2 /home/dev/two\n");
    assert_eq!((ran.stderr.as_str(), project.snapshots().len()), ("", 2));
}

#[test]
fn several_targets_need_a_name() {
    let project = Project::new(
        "prebuild a { from dev-base; run \"echo a > f\"; }\nprebuild b { from dev-base; run \"echo b > f\"; }\ngroup all a b",
    );
    let ran = project.run(&["up", "--", "true"]).expect(2);
    assert_eq!(
        ran.stderr,
        "error[A0801]: the file has several targets\n  help: say which to boot: a, b\n"
    );
    let ran = project.run(&["up", "all", "--", "true"]).expect(2);
    assert_eq!(
        ran.stderr,
        "error[A0801]: `all` is a group\n  help: boot one of its members\n"
    );
    let ran = project.run(&["up", "b", "--", "cat", "f"]).expect(0);
    assert_eq!(ran.stdout, "b\n");
    assert_eq!(project.snapshots().len(), 1);
}

#[test]
fn a_failed_bake_boots_nothing() {
    let project = Project::new("from dev-base\nrun \"exit 3\"");
    let ran = project.run(&["up", "--", "echo", "booted"]).expect(1);
    assert_eq!(ran.stdout, "");
}

#[test]
fn what_a_command_leaves_running_is_ended() {
    let marker = crate::processes::marker();
    let project = project();
    let left = format!("setsid sleep {marker} >/dev/null 2>&1 & exit 0");
    project.run(&["up", "--", "sh", "-c", &left]).expect(0);
    assert!(!crate::processes::is_running(&marker));
    project.assert_nothing_left();
}
