//! What `snapshots` lists.

use serde_json::{Value, json};

use crate::project::Project;

#[test]
fn an_empty_store_has_none() {
    let project = Project::new("from dev-base");
    let ran = project.run(&["snapshots", "--json"]).expect(0);
    assert_eq!(
        ran.json(),
        json!({"schema": "atelier.snapshots/1", "snapshots": []})
    );
}

#[test]
fn a_snapshot_is_listed_with_its_commits_and_checks() {
    let project = Project::new(
        "prebuild a { from dev-base; repo \".\" path=src; }\nprebuild b { from prebuild=a; run \"true\"; }",
    );
    project.run(&["build"]).expect(0);
    let commit = project.git(&["rev-parse", "HEAD"]);
    let listed = project.snapshots();
    let plan = project.run(&["plan", "--json"]).expect(0).json();
    let [a, b] = listed.as_slice() else {
        panic!("{listed:?}")
    };
    assert_eq!(a["commits"], json!({"src": commit}));
    assert_eq!((&a["node"], &a["parent"]), (&json!("a"), &Value::Null));
    assert_eq!((&b["node"], &b["parent"]), (&json!("b"), &a["key"]));
    assert_eq!(a["key"], plan["nodes"][0]["key"]);
    assert_eq!(a["name"], plan["nodes"][0]["snapshot"]);
    assert!(a["bytes"].as_u64() > b["bytes"].as_u64());
    assert_eq!(
        a["verified"],
        json!([
            "commits",
            "processes ended",
            "nothing outside",
            "git fsck",
            "flush",
            "manifest"
        ])
    );
    let fields: Vec<&String> = a.as_object().unwrap().keys().collect();
    assert_eq!(
        fields,
        [
            "bytes", "commits", "created", "key", "name", "node", "parent", "verified"
        ]
    );
}

#[test]
fn the_table_has_a_row_for_each() {
    let project = Project::new(
        "prebuild a { from dev-base; run \"true\"; }\nprebuild b { from prebuild=a; run \"true\"; }",
    );
    project.run(&["build"]).expect(0);
    let table = project.run(&["snapshots"]).expect(0).stdout;
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows[0], ["SNAPSHOT", "NODE", "CREATED", "ADDS", "PARENT"]);
    assert_eq!((rows[1][1], rows[1].last()), ("a", Some(&"-")));
    assert_eq!((rows[2][1], rows[2].last()), ("b", Some(&rows[1][0])));
    assert_eq!(rows.len(), 3);
}
