//! `plan` says what `build` then does.

use serde_json::{Value, json};

use crate::project::{Project, pairs};

/// Three snapshots, and a fourth that has nothing to do with them.
const CHAIN: &str = r##"
prebuild tools {
    from dev-base
    path ".tools/bin"
    file ".tools/bin/greet" "#!/bin/sh\necho hello $1\n" mode="0755"
}
prebuild deps {
    from prebuild=tools
    repo "." path=src
    run "greet $(cat src/name) > greeting"
}
prebuild app {
    from prebuild=deps
    run "cat greeting > app"
}
prebuild other {
    from dev-base
    run "true"
}
"##;

fn chain() -> Project {
    let project = Project::empty();
    project.write("name", "ann\n");
    project.write("prebuild.kdl", CHAIN);
    project.commit("first");
    project
}

/// The nodes that the plan wants to bake, and their reasons; then that a build does just that.
#[track_caller]
fn bakes(project: &Project, expected: &[(&str, &str)]) {
    let plan = project.run(&["plan", "--json"]).expect(0);
    let nodes = plan.json()["nodes"].as_array().unwrap().clone();
    let planned: Vec<(&str, &str)> = nodes
        .iter()
        .filter(|node| node["action"] == "bake")
        .map(|node| {
            (
                node["name"].as_str().unwrap(),
                node["reason"]["kind"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(planned, expected);
    let build = project.run(&["build", "--json"]).expect(0);
    for (planned, built) in nodes.iter().zip(build.json()["nodes"].as_array().unwrap()) {
        for field in ["name", "key", "action", "reason", "parent", "snapshot"] {
            assert_eq!(planned[field], built[field]);
        }
        let result = if planned["action"] == "bake" {
            "baked"
        } else {
            "reused"
        };
        assert_eq!(built["result"], result, "{built}");
    }
    project.assert_nothing_left();
}

#[test]
fn a_first_build_bakes_all_and_a_second_one_nothing() {
    let project = chain();
    bakes(
        &project,
        &[
            ("other", "new"),
            ("tools", "new"),
            ("deps", "new"),
            ("app", "new"),
        ],
    );
    bakes(&project, &[]);
    let ran = project.run(&["build"]).expect(0);
    assert_eq!(
        ran.stderr,
        "other | ==> reused\ntools | ==> reused\ndeps | ==> reused\napp | ==> reused\n"
    );
}

#[test]
fn touching_the_last_step_bakes_one() {
    let project = chain();
    project.run(&["build"]).expect(0);
    project.edit("cat greeting > app", "cat greeting greeting > app");
    bakes(&project, &[("app", "changed")]);
    assert_eq!(
        project.run(&["up", "app", "--", "cat", "app"]).stdout,
        "hello ann\nhello ann\n"
    );
}

#[test]
fn a_commit_bakes_the_repository_s_node_and_what_stands_on_it() {
    let project = chain();
    project.run(&["build"]).expect(0);
    project.write("name", "bob\n");
    let ran = project.run(&["plan", "--json"]).expect(0);
    assert!(
        ran.stderr.contains("only what is committed is baked"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.column("action")
            .iter()
            .all(|(_, action)| action == "reuse")
    );
    project.commit("second");
    bakes(&project, &[("deps", "changed"), ("app", "parent-changed")]);
    assert_eq!(
        project.run(&["up", "app", "--", "cat", "app"]).stdout,
        "hello bob\n"
    );
}

/// behaviours 2.1
#[test]
fn a_reason_names_what_changed() {
    let project = chain();
    project.run(&["build"]).expect(0);
    let old = project.git(&["rev-parse", "HEAD"]);
    let new = project.commit("empty");
    project.edit("cat greeting > app", "cp greeting app");
    let nodes = project.run(&["plan", "--json"]).expect(0).json()["nodes"].clone();
    let detail = json!([{"field": "repo / src / commit", "old": old, "new": new}]);
    assert_eq!(
        nodes[2]["reason"],
        json!({"kind": "changed", "detail": detail})
    );
    let detail = json!([
        {"field": "from / parent key", "old": nodes[3]["reason"]["detail"][0]["old"], "new": nodes[2]["key"]},
        {"field": "step / 1 / run", "old": "cat greeting > app", "new": "cp greeting app"},
    ]);
    assert_eq!(
        nodes[3]["reason"],
        json!({"kind": "changed", "detail": detail})
    );
    let table = project.run(&["plan"]).expect(0).stdout;
    let row = format!(
        "changed: repo / src / commit {}… → {}…",
        &old[..12],
        &new[..12]
    );
    assert!(table.contains(&row), "{table}");
}

/// behaviours 2.1
#[test]
fn a_line_names_the_first_change_and_counts_the_others() {
    let project = chain();
    project.run(&["build"]).expect(0);
    project.edit(
        "path \".tools/bin\"",
        "path \".tools/bin\" bin\n    env A=b",
    );
    project.edit("run \"greet", "run \"A=c greet");
    let ran = project.run(&["plan", "--json"]).expect(0);
    let count = ran.json()["nodes"][2]["reason"]["detail"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(count, 3);
    let table = project.run(&["plan"]).expect(0).stdout;
    let row = table.lines().find(|line| line.starts_with("deps")).unwrap();
    assert!(row.ends_with(" and 2 more"), "{row}");
}

#[test]
fn what_is_edited_back_is_found_again() {
    let project = chain();
    project.run(&["build"]).expect(0);
    project.edit("echo hello", "echo goodbye");
    bakes(
        &project,
        &[
            ("tools", "changed"),
            ("deps", "parent-changed"),
            ("app", "parent-changed"),
        ],
    );
    project.edit("echo goodbye", "echo hello");
    bakes(&project, &[]);
}

#[test]
fn renaming_a_target_bakes_nothing() {
    let project = chain();
    project.run(&["build"]).expect(0);
    project.edit("prebuild app {", "prebuild application {");
    bakes(&project, &[]);
}

#[test]
fn force_bakes_the_target_alone() {
    let project = chain();
    project.run(&["build"]).expect(0);
    let plan = project
        .run(&["plan", "--json", "--force", "deps"])
        .expect(0);
    let expected = [
        ("other", "reuse"),
        ("tools", "reuse"),
        ("deps", "bake"),
        ("app", "reuse"),
    ];
    assert_eq!(plan.column("action"), pairs(&expected));
    let expected = [
        ("other", "reused"),
        ("tools", "reused"),
        ("deps", "baked"),
        ("app", "reused"),
    ];
    assert_eq!(project.build(&["--force", "deps"]), pairs(&expected));
    assert_eq!(project.snapshots().len(), 4);
    bakes(&project, &[]);
}

#[test]
fn targets_choose_what_is_planned() {
    let project = chain();
    assert_eq!(
        project.plan(&["deps"]),
        pairs(&[("tools", "bake"), ("deps", "bake")])
    );
    project.edit("prebuild other", "group few other tools\nprebuild other");
    assert_eq!(
        project.build(&["few"]),
        pairs(&[("other", "baked"), ("tools", "baked")])
    );
    assert_eq!(
        project.plan(&["./prebuild.kdl", "deps"]),
        pairs(&[("tools", "reuse"), ("deps", "bake")])
    );
}

/// behaviours 2.4
#[test]
fn the_exit_code_says_whether_anything_would_be_baked() {
    let project = chain();
    project.run(&["plan"]).expect(0);
    project.run(&["plan", "--exit-code"]).expect(10);
    project.run(&["build"]).expect(0);
    project.run(&["plan", "--exit-code"]).expect(0);
    project
        .run(&["plan", "--exit-code", "--force", "app"])
        .expect(10);
}

#[test]
fn targets_with_one_key_are_baked_once() {
    let project = Project::new(
        "prebuild a { from dev-base; run \"sleep 0.3\"; }\nprebuild b { from dev-base; run \"sleep 0.3\"; }",
    );
    let ran = project.run(&["build", "--json", "-j", "2"]).expect(0);
    let mut results: Vec<String> = ran
        .column("result")
        .into_iter()
        .map(|(_, result)| result)
        .collect();
    results.sort();
    assert_eq!(results, ["baked", "reused"]);
    assert_eq!(project.snapshots().len(), 1);
}

/// behaviours 2.5
#[test]
fn the_plan_as_json_has_a_schema_and_sorted_fields() {
    let project = chain();
    let ran = project.run(&["plan", "--json", "tools"]).expect(0);
    let json = ran.json();
    assert_eq!(
        (&json["schema"], &json["backend"]),
        (&json!("atelier.plan/1"), &json!("local"))
    );
    let node = &json["nodes"][0];
    assert_eq!(node["key"].as_str().unwrap().len(), 64);
    assert_eq!(
        node["snapshot"],
        format!("snap-{}", &node["key"].as_str().unwrap()[..12])
    );
    let unknown = [&node["seconds"], &node["bytes"], &node["parent"]];
    assert_eq!(unknown, [&Value::Null; 3]);
    let keys: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| line.starts_with("      \""))
        .collect();
    assert!(keys.is_sorted(), "{keys:?}");
    project.run(&["build"]).expect(0);
    let json = project.run(&["plan", "--json"]).expect(0).json();
    let names: Vec<&Value> = json["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| &node["parent"])
        .collect();
    assert_eq!(
        names,
        [&Value::Null, &Value::Null, &json!("tools"), &json!("deps")]
    );
    assert!(json["nodes"][3]["seconds"].as_f64().unwrap() > 0.0);
}
