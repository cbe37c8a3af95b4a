//! Snapshots side by side, and beside targets.

use serde_json::json;

use super::{differs, fails};
use crate::explanations::{lettered, project};
use crate::project::{Project, pairs};

/// Two bakes of `app` and what it stands on, of which the second has another tool.
fn baked_twice() -> (Project, [String; 2]) {
    let project = project();
    let snapshot = |project: &Project| -> String {
        project.run(&["build"]).expect(0);
        let plan = project.run(&["plan", "app", "--json"]).expect(0).json();
        plan["nodes"][2]["snapshot"].as_str().unwrap().to_owned()
    };
    let old = snapshot(&project);
    project.edit("hello", "goodbye");
    let new = snapshot(&project);
    (project, [old, new])
}

#[test]
fn snapshots_are_compared_with_what_they_stand_on() {
    let (project, [old, new]) = baked_twice();
    let expected = "tools  changed  snap-A → snap-B
      file / .tools/bin/greet / content: C… → D…
deps   changed  snap-E → snap-F
      from / parent key: snap-A → snap-B
app    changed  snap-G → snap-H
      from / parent key: snap-E → snap-F
";
    differs(&project, &[&old, &new], 10, expected);
    let digits = old.strip_prefix("snap-").unwrap();
    differs(&project, &[&digits[..8], &new], 10, expected);
    let json = project
        .run(&["diff", &old, &old, "--json"])
        .expect(0)
        .json();
    assert_eq!(
        (&json["equal"], &json["nodes"][0]["result"]),
        (&json!(true), &json!("same"))
    );
    fails(
        &project,
        &[&old, "snap-ffffffffffff"],
        2,
        "there is no snapshot",
    );
    fails(
        &project,
        &["ffffff", &new],
        2,
        "begins no key in the store, and no commit",
    );
    fails(&project, &[&old, &new, "app"], 2, "has no targets");
    // A name that git knows and the store too.
    project.git(&["branch", digits]);
    fails(
        &project,
        &[digits, &new],
        2,
        "begins a snapshot's key and a commit",
    );
}

#[test]
fn a_snapshot_is_compared_with_the_target_it_was_baked_for() {
    let (project, [old, new]) = baked_twice();
    let ran = project.run(&["diff", &old, "prebuild.kdl"]).expect(10);
    let expected = "tools  changed  snap-A → snap-B
  prebuild.kdl:6  file \".tools/bin/greet\" \"#!/bin/sh\\necho goodbye $1\\n\" mode=\"0755\"
      file / .tools/bin/greet / content: C… → D…
";
    assert!(
        lettered(&ran.stdout).starts_with(expected),
        "{}",
        ran.stdout
    );
    let ran = project.run(&["diff", "prebuild.kdl", &old]).expect(10);
    assert!(
        lettered(&ran.stdout).starts_with(expected),
        "{}",
        ran.stdout
    );
    differs(
        &project,
        &["HEAD", &old],
        0,
        "tools  same     snap-A\ndeps   same     snap-B\napp    same     snap-C\n",
    );
    let ran = project
        .run(&["diff", &new, "./prebuild.kdl", "tools"])
        .expect(10);
    let head = "tools  changed  snap-A → snap-B (was app)\n  prebuild.kdl:3  from dev-base\n";
    assert!(lettered(&ran.stdout).starts_with(head), "{}", ran.stdout);
    project.edit("prebuild app {", "prebuild application {");
    fails(
        &project,
        &[&new, "prebuild.kdl", "tools", "deps"],
        2,
        "compared with one target",
    );
}

/// Chains of different lengths: what has nothing beside it has come or gone.
#[test]
fn what_only_one_side_stands_on_is_new_or_gone() {
    let project = project();
    project.run(&["build"]).expect(0);
    let plan = project.run(&["plan", "app", "--json"]).expect(0).json();
    let [tools, deps, app] =
        [0, 1, 2].map(|at| plan["nodes"][at]["snapshot"].as_str().unwrap().to_owned());
    let told = |a: &str, b: &str| {
        let ran = project.run(&["diff", a, b, "--json"]).expect(10);
        ran.column("result")
    };
    assert_eq!(
        told(&tools, &app),
        pairs(&[("tools", "new"), ("deps", "new"), ("app", "changed")])
    );
    assert_eq!(
        told(&app, &deps),
        pairs(&[("tools", "same"), ("deps", "changed"), ("deps", "gone")])
    );
}
