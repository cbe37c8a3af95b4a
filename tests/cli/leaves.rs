//! One thing changed in the file is one leaf, and nothing changed is none: on the command line, statement by statement.

use serde_json::{Value, json};

use crate::project::Project;

const FILE: &str = r#"
prebuild app {
    from dev-base
    env CI=1 MODE=test
    path bin ".bin"
    repo "." branch=main path=src depth=1 submodules=#true lfs=#true
    repo "." path=some {
        only package.json "conf/**"
        stub "**/main.rs"
    }
    file notes "text" mode="0644"
    file copied from="conf/a"
    run "true" shell=sh
    run "echo two" in=src timeout="1m"
}
prebuild child { from prebuild=app; }
"#;

fn project() -> Project {
    let project = Project::empty();
    project.write("prebuild.kdl", FILE);
    project.write("package.json", "{}");
    project.write("conf/a", "one");
    project.write("main.rs", "fn main() {}");
    project.commit("first");
    project.git(&["branch", "next"]);
    project
}

/// A text of the file, what comes in its place, and the one leaf that this changes.
const EDITS: [(&str, &str, &str); 24] = [
    ("CI=1", "CI=2", "env / CI / value"),
    (" MODE=test", "", "env / MODE"),
    ("MODE=test", "MODE=test OWN=1", "env / OWN"),
    ("path bin", "path bins", "path / 1"),
    ("path bin", "path own bin", "path / 1"),
    ("path bin \".bin\"", "path bin", "path / 2"),
    ("branch=main", "branch=next", "repo / src / ref"),
    ("depth=1", "depth=2", "repo / src / options / depth"),
    (
        "submodules=#true",
        "submodules=#false",
        "repo / src / options / submodules",
    ),
    ("lfs=#true", "lfs=#false", "repo / src / options / lfs"),
    (
        "file notes",
        "file other \"x\"\n    file notes",
        "file / other",
    ),
    ("\"text\"", "\"texts\"", "file / notes / content"),
    ("0644", "0755", "file / notes / mode"),
    ("    file copied from=\"conf/a\"\n", "", "file / copied"),
    ("conf/a", "package.json", "file / copied / content"),
    (
        "only package.json",
        "only",
        "repo / some / only / package.json",
    ),
    (
        "\"**/main.rs\"",
        "\"**/none.rs\"",
        "repo / some / only / main.rs",
    ),
    (
        "        stub \"**/main.rs\"",
        "        only main.rs",
        "repo / some / only / main.rs / object",
    ),
    ("\"true\"", "\"false\"", "step / 1 / run"),
    ("shell=sh", "shell=bash", "step / 1 / shell"),
    ("in=src", "in=some", "step / 2 / in"),
    ("shell=sh", "shell=sh as=root", "step / 1 / as"),
    (
        "    run \"echo two\" in=src timeout=\"1m\"\n",
        "",
        "step / 2",
    ),
    (
        "    run \"true\"",
        "    run \"one\"\n    run \"true\"",
        "step / 1",
    ),
];

fn change(project: &Project, from: &str, to: &str) {
    assert!(FILE.contains(from), "{from}");
    project.write("prebuild.kdl", &FILE.replacen(from, to, 1));
}

/// The changes of each node that `command` prints, by its name.
fn changes(project: &Project, words: &[&str], code: i32) -> Vec<(String, Vec<Value>)> {
    let json = project.run(words).expect(code).json();
    let nodes = json["nodes"].as_array().unwrap().iter();
    let of_node = |node: &Value| {
        let changes = node["changes"].as_array().unwrap();
        (node["name"].as_str().unwrap().to_owned(), changes.clone())
    };
    nodes.map(of_node).collect()
}

/// behaviours 2.1, 2.2
#[test]
fn one_thing_changed_in_the_file_is_one_leaf() {
    let project = project();
    project.run(&["build"]).expect(0);
    for (from, to, field) in EDITS {
        change(&project, from, to);
        let explained = changes(&project, &["explain", "--json"], 0);
        let [(_, app), (_, child)] = explained.as_slice() else {
            panic!("{explained:?}");
        };
        assert_eq!(app.len(), 1, "{from} → {to}: {app:?}");
        assert_eq!(app[0]["field"], field, "{from} → {to}");
        assert_eq!(child.len(), 1, "{from} → {to}: {child:?}");
        assert_eq!(child[0]["field"], "from / parent key");
        let differing = changes(&project, &["diff", "HEAD", "prebuild.kdl", "--json"], 10);
        for ((_, told), (_, other)) in explained.iter().zip(&differing) {
            let values = |change: &Value| {
                (
                    change["field"].clone(),
                    change["old"].clone(),
                    change["new"].clone(),
                )
            };
            assert_eq!(values(&told[0]), values(&other[0]), "{from} → {to}");
            assert_eq!(other.len(), 1);
        }
    }
}

/// What is in no key, and other ways of writing what is.
const SAME: [(&str, &str); 8] = [
    (
        "prebuild app {",
        "// a comment\nprebuild app {\n    about \"it\"",
    ),
    ("env CI=1 MODE=test", "env MODE=test CI=\"1\""),
    ("timeout=\"1m\"", "timeout=\"2m\" retry=2"),
    (
        "from dev-base",
        "from dev-base\n    resources cpu=2\n    cache npm path=\".npm\"",
    ),
    ("depth=1 submodules=#true lfs=#true", ""),
    ("file copied from=\"conf/a\"", "file copied \"one\""),
    ("\"conf/**\"", "\"conf/a\""),
    ("stub \"**/main.rs\"", "stub main.rs"),
];

/// behaviours 2.2
#[test]
fn nothing_changed_is_no_leaf() {
    let project = project();
    for (from, to) in SAME {
        change(&project, from, to);
        let json = project
            .run(&["diff", "HEAD", "prebuild.kdl", "--json"])
            .expect(0)
            .json();
        assert_eq!(json["equal"], true);
        for node in json["nodes"].as_array().unwrap() {
            assert_eq!(
                (&node["result"], &node["changes"]),
                (&json!("same"), &json!([])),
                "{from} → {to}"
            );
            assert_eq!(node["a"], node["b"]);
        }
    }
}
