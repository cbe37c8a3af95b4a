//! One file, whoever bakes it: the same keys, and a record that says who it was.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::users::{User, reachable};

const FILE: &str = "prebuild a { from host; file f \"text\" mode=\"0755\"; run \"echo x > x\"; }\nprebuild b { from prebuild=a; run \"echo y > y\"; }";

fn json(output: &Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn keys(plan: &Value) -> Vec<&str> {
    let nodes = plan["nodes"].as_array().unwrap().iter();
    nodes.map(|node| node["key"].as_str().unwrap()).collect()
}

/// How the snapshots of a store were baked.
fn sandboxes(store: &Path) -> Vec<String> {
    let records = fs::read_dir(store.join("s")).unwrap();
    let sandbox = |path: &Path| {
        let record: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        record["sandbox"].as_str().unwrap().to_owned()
    };
    records
        .map(|entry| sandbox(&entry.unwrap().path()))
        .collect()
}

/// behaviours 1.5
#[test]
fn every_way_has_the_same_keys_and_says_which_it_was() {
    let project = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(project.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(project.path().join("prebuild.kdl"), FILE).unwrap();
    let program = reachable(Path::new(env!("CARGO_BIN_EXE_atelier")), project.path());
    let file = project.path().join("prebuild.kdl");
    let run = |mut command: Command, store: &Path, words: &[&str]| {
        command.args(words).arg(&file).arg("--store").arg(store);
        json(&command.output().unwrap())
    };
    let home = tempfile::tempdir_in("/var/tmp").unwrap();
    let store = home.path().join("store");
    let as_root = || Command::new(&program);
    let plan = run(as_root(), &store, &["plan", "--json"]);
    let direct = run(
        as_root(),
        &store,
        &["plan", "--json", "--sandbox", "direct"],
    );
    assert_eq!(keys(&direct), keys(&plan));
    run(as_root(), &store, &["build", "--json"]);
    assert_eq!(sandboxes(&store), ["root", "root"]);
    for (user, way) in [(User::Range, "range"), (User::Alone, "alone")] {
        let home = user.folder();
        let store = home.path().join("store");
        let built = run(
            user.command(&program, home.path()),
            &store,
            &["build", "--json"],
        );
        assert_eq!(keys(&built), keys(&plan), "{way}");
        assert_eq!(sandboxes(&store), [way, way]);
    }
}
