//! What goes wrong, and how it ends.

use std::time::Duration;

use crate::cluster::{Machine, kubectl, litter, published, run_folder, whole};

#[test]
fn a_failing_step_leaves_its_log_and_nothing_else() {
    let _cluster = whole();
    let machine = Machine::with("prebuild one { from dev-base; run \"echo KEY said; exit 7\"; }");
    let failed = machine.run("build", &[]);
    assert_eq!(failed.code, Some(1), "{}", failed.err);
    assert!(failed.err.contains("exit status 7"), "{}", failed.err);
    let key = machine.key("one");
    assert_eq!(litter(&key), [""; 0]);
    assert_eq!(published(&key), [""; 0]);
    assert!(machine.good("log", &["one"]).contains("said"));
}

/// On cgroup v1 such a pod ends `Succeeded`.
#[test]
fn memory_that_is_used_up_is_told_with_its_limit() {
    let _cluster = whole();
    let machine = Machine::with(
        "prebuild one { from dev-base; resources memory=\"64MiB\"; run \"echo KEY; head -c 200000000 /dev/zero | tail -c 199999999 | wc -c\"; }",
    );
    let failed = machine.run("build", &[]);
    assert_eq!(failed.code, Some(1), "{}", failed.err);
    assert!(failed.err.contains("64 MiB"), "{}", failed.err);
}

/// No matter how much a step prints: nothing holds it up, and the log has all of it. behaviours 2.16
#[test]
fn much_output_is_kept_whole() {
    let _cluster = whole();
    let machine = Machine::with(
        "prebuild one { from dev-base; run \"echo KEY; seq -f 'line %07.0f of what a step has to say about itself' 400000; echo end > f\"; }",
    );
    machine.good("build", &[]);
    let log = machine.good("log", &["one"]);
    let lines = log.lines().filter(|line| line.starts_with("line ")).count();
    assert_eq!(lines, 400_000);
}

#[test]
fn an_image_that_is_not_there_is_told_at_once() {
    let _cluster = whole();
    let machine = Machine::with(
        "prebuild one { from \"image=127.0.0.1:5000/nothing@sha256:0000000000000000000000000000000000000000000000000000000000000000\"; run \"echo KEY\"; }",
    );
    let failed = machine.run("build", &[]);
    assert_ne!(failed.code, Some(0));
    assert!(failed.err.contains("nothing"), "{}", failed.err);
}

/// The node's disk is not there to be filled.
#[test]
fn what_is_written_beside_the_workspace_is_limited() {
    let _cluster = whole();
    let machine = Machine::with(
        "prebuild one { from dev-base; resources disk=\"128MiB\"; run \"echo KEY; head -c 400000000 /dev/zero > /tmp/f; sleep 60\"; }",
    );
    let failed = machine.run("build", &[]);
    assert_eq!(failed.code, Some(6), "{}", failed.err);
    assert!(
        failed.err.contains("A0703") && failed.err.contains("evicted"),
        "{}",
        failed.err
    );
    assert!(!failed.err.contains("try 2"), "{}", failed.err);
}

/// A snapshot whose data the driver has lost looks ready until it is restored.
#[test]
fn a_lost_snapshot_is_baked_again_by_the_same_run() {
    let _cluster = whole();
    let machine = Machine::with(
        "prebuild one { from dev-base; run \"echo KEY > f\"; }\nprebuild two { from prebuild=one; run \"cat f\"; }",
    );
    machine.good("build", &["one"]);
    let key = machine.key("one");
    let name = published(&key).pop().unwrap();
    let content = kubectl(&[
        "get",
        &name,
        "-o",
        "jsonpath={.status.boundVolumeSnapshotContentName}",
    ]);
    let handle = kubectl(&[
        "get",
        "volumesnapshotcontent",
        &content,
        "-o",
        "jsonpath={.status.snapshotHandle}",
    ]);
    let gone = std::process::Command::new("sh")
        .args([
            "-c",
            "btrfs subvolume delete \"$(find \"$1\" -maxdepth 3 -name \"$2\" | head -1)\"",
            "sh",
        ])
        .arg(run_folder().join("volumes"))
        .arg(&handle)
        .output()
        .unwrap();
    assert!(
        gone.status.success(),
        "{}",
        String::from_utf8_lossy(&gone.stderr)
    );
    let built = machine.run("build", &[]);
    assert_eq!(built.code, Some(0), "{}", built.err);
    assert!(built.err.contains("baking it again"), "{}", built.err);
    assert_eq!(published(&key).len(), 1);
}

#[test]
fn a_runner_that_is_not_there_is_told_at_once() {
    let _cluster = whole();
    let machine = Machine::with("prebuild one { from dev-base; run \"echo KEY\"; }");
    let config = machine.configure(|text| {
        let digest = text.split("@sha256:").nth(1).unwrap();
        let digest = digest.split('"').next().unwrap().to_owned();
        text.replace(&digest, &"0".repeat(64))
    });
    let began = std::time::Instant::now();
    let failed = machine
        .command("build", &[])
        .env("XDG_CONFIG_HOME", &config)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert_eq!(failed.status.code(), Some(6), "{told}");
    assert!(told.contains("cannot pull"), "{told}");
    assert!(began.elapsed() < Duration::from_mins(1));
}
