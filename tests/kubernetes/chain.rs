//! Bakes, what is found of them, and that they are what the embedded backend bakes.

use crate::cluster::{Machine, kubectl, litter, pods_ever, published, whole};

const CHAIN: &str = r#"
prebuild one { from dev-base; file "note" "KEY"; run "echo one > f; mkdir -p d/e; ln -s ../f d/l; chmod 4711 f"; }
prebuild two { from prebuild=one; run "cat note; echo two > g; rm -r d/e"; }
prebuild three { from prebuild=two; run "echo three >> g; touch -d 2001-02-03 g"; }
"#;

/// Everything of a workspace that a snapshot has to give back.
const LISTING: &str = r"find . -mindepth 1 ! -type d -printf '%P %y %m %U %G %s %l\n' | sort; find . -type d -printf '%P %m %U %G\n' | sort; stat -c %Y g; cat f g note";

/// Three nodes as pods; what they made, by both backends from one image, is the same under the same keys.
#[test]
fn a_chain_is_baked_once_and_equals_the_local_one() {
    let _cluster = whole();
    let machine = Machine::with(CHAIN);
    let built = machine.run("build", &[]);
    assert_eq!(built.code, Some(0), "{}", built.err);
    let key = machine.key("three");
    assert_eq!(published(&key).len(), 1);
    assert_eq!(litter(&key), [""; 0]);
    // What is found by another machine needs no pod.
    let keys = ["one", "two", "three"].map(|target| machine.key(target));
    let before = pods_ever(&keys);
    let again = machine.other().run("build", &[]);
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert_eq!(again.err.matches("reused").count(), 3, "{}", again.err);
    assert!(before >= 3);
    assert_eq!(pods_ever(&keys), before);

    let here = machine
        .command_on("local", "up", &["three", "--", "sh", "-c", LISTING])
        .output();
    let there = machine
        .command("up", &["three", "--", "sh", "-c", LISTING])
        .output();
    let (here, there) = (here.unwrap(), there.unwrap());
    assert!(
        here.status.success(),
        "{}",
        String::from_utf8_lossy(&here.stderr)
    );
    assert!(
        there.status.success(),
        "{}",
        String::from_utf8_lossy(&there.stderr)
    );
    assert_eq!(
        String::from_utf8_lossy(&there.stdout),
        String::from_utf8_lossy(&here.stdout)
    );
}

#[test]
fn a_snapshot_that_is_forced_takes_the_place_of_the_old_one() {
    let _cluster = whole();
    let machine = Machine::with("prebuild one { from dev-base; run \"echo KEY; date +%N > f\"; }");
    machine.good("build", &[]);
    let key = machine.key("one");
    let first = machine.good("up", &["--", "cat", "f"]);
    let old = published(&key);
    machine.good("build", &["--force", "one"]);
    let new = published(&key);
    assert_eq!(new.len(), 1);
    assert_ne!(old, new);
    assert_ne!(first, machine.good("up", &["--", "cat", "f"]));
}

/// A repository on the caller's own disk goes with the request.
#[test]
fn a_repository_on_this_machine_is_sent_along() {
    let _cluster = whole();
    let machine = Machine::with(
        "prebuild one { from dev-base; repo \"./code\"; run \"cat code; echo KEY\" in=code; }",
    );
    machine.repository("code");
    machine.good("build", &[]);
    let status = machine.good(
        "up",
        &[
            "--",
            "sh",
            "-c",
            "cd code && git status --porcelain && git log --oneline | wc -l",
        ],
    );
    assert_eq!(status.trim(), "1");
}

/// A driver whose snapshots do not stand on one another for ever; what is made is the same, under the same key.
#[test]
fn a_chain_that_is_too_long_begins_anew() {
    let _cluster = whole();
    let machine = Machine::with(CHAIN);
    let config =
        machine.configure(|text| text.replace("kubernetes {", "kubernetes {\n max-depth 2"));
    let built = machine
        .command("build", &[])
        .env("XDG_CONFIG_HOME", &config)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&built.stderr).into_owned();
    assert!(built.status.success(), "{told}");
    assert_eq!(told.matches("the parent is copied").count(), 1, "{told}");
    let key = machine.key("three");
    assert_eq!(litter(&key), [""; 0]);
    let name = published(&key).pop().unwrap();
    let content = kubectl(&["get", &name, "-o", "yaml"]);
    assert!(content.contains("\"depth\":1"), "{content}");
    let listed = machine.good("up", &["three", "--", "sh", "-c", LISTING]);
    let mut here = machine.command_on("local", "up", &["three", "--", "sh", "-c", LISTING]);
    assert_eq!(
        listed,
        String::from_utf8(here.output().unwrap().stdout).unwrap()
    );
}
