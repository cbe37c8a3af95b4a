//! `explain` and `why-depends`: which lines of the file made the difference.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::project::Project;
use crate::repositories::served;

const FILE: &str = r##"
prebuild tools {
    from dev-base
    env CI=1
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
    env MODE=test
    run "cat greeting > app"
    run "wc -c name" in=src
}
"##;

pub(crate) fn project() -> Project {
    let project = Project::empty();
    project.write("name", "ann\n");
    project.write("prebuild.kdl", FILE);
    project.commit("first");
    project
}

/// Digests by letters, in the order in which they come.
pub(crate) fn lettered(text: &str) -> String {
    let mut letters: BTreeMap<String, char> = BTreeMap::new();
    let mut shown = String::new();
    let mut digits = String::new();
    let mut settle = |digits: &mut String, shown: &mut String| {
        let next = char::from(b'A' + u8::try_from(letters.len()).unwrap());
        match digits.len() {
            12 | 40 | 64 => shown.push(*letters.entry(digits[..12].to_owned()).or_insert(next)),
            _ => shown.push_str(digits),
        }
        digits.clear();
    };
    for character in text.chars() {
        if matches!(character, '0'..='9' | 'a'..='f') {
            digits.push(character);
        } else {
            settle(&mut digits, &mut shown);
            shown.push(character);
        }
    }
    settle(&mut digits, &mut shown);
    shown
}

#[track_caller]
fn explained(project: &Project, words: &[&str], expected: &str) {
    let ran = project.run(&[&["explain"], words].concat()).expect(0);
    assert_eq!(lettered(&ran.stdout), expected, "{}", ran.stdout);
}

/// behaviours 2.1
#[test]
fn each_changed_leaf_is_shown_with_its_line() {
    let project = project();
    project.run(&["build"]).expect(0);
    explained(
        &project,
        &["app"],
        "tools  snap-A  hit\ndeps   snap-B  hit\napp    snap-C  hit\n",
    );
    project.write("name", "bob\n");
    project.commit("second");
    project.edit("cat greeting > app", "cat greeting greeting > app");
    project.edit("env MODE=test", "env MODE=prod");
    explained(
        &project,
        &["app"],
        "tools  snap-A  hit
deps   snap-B  miss: changed since its last bake, snap-C
  prebuild.kdl:10  repo \".\" path=src
      repo / src / commit: D… → E…
app    snap-F  miss: changed since its last bake, snap-G
  prebuild.kdl:14  from prebuild=deps
      from / parent key: snap-C → snap-B
  prebuild.kdl:15  env MODE=prod
      env / MODE / value: test → prod
  prebuild.kdl:16  run \"cat greeting greeting > app\"
      step / 1 / run: cat greeting > app → cat greeting greeting > app
",
    );
}

#[test]
fn an_inherited_variable_is_shown_where_it_is_stated() {
    let project = project();
    project.run(&["build"]).expect(0);
    project.edit("env CI=1", "env CI=2");
    project.edit("path \".tools/bin\"", "path \".tools/bin\" \".bin\"");
    explained(
        &project,
        &["deps"],
        "tools  snap-A  hit
deps   snap-B  miss: changed since its last bake, snap-C
  prebuild.kdl:4  env CI=2
      env / CI / value: 1 → 2
  prebuild.kdl:5  path \".tools/bin\" \".bin\"
      path / 2: nothing → .bin
",
    );
}

/// What comes and goes is one leaf each; what has gone is the prebuild's affair.
#[test]
fn items_that_come_and_go_are_one_leaf_each() {
    let project = project();
    project.run(&["build"]).expect(0);
    project.edit("env MODE=test\n    ", "");
    project.edit(
        "run \"wc -c name\"",
        "run \"sync\" as=root\n    run \"wc -c name\"",
    );
    project.edit("mode=\"0755\"", "mode=\"0755\"\n    file notes \"x\"");
    explained(
        &project,
        &["app"],
        "tools  snap-A  miss: changed since its last bake, snap-B
  prebuild.kdl:7  file notes \"x\"
      file / notes: nothing → 0644 C…
deps   snap-D  miss: parent-changed, and nothing of its own since its last bake, snap-E
  prebuild.kdl:10  from prebuild=tools
      from / parent key: snap-B → snap-A
app    snap-F  miss: changed since its last bake, snap-G
  prebuild.kdl:15  from prebuild=deps
      from / parent key: snap-E → snap-D
  prebuild.kdl:14  prebuild app {
      env / MODE: test → nothing
  prebuild.kdl:17  run \"sync\" as=root
      step / 2: nothing → sync (as root)
",
    );
}

/// behaviours 1.6
#[test]
fn without_a_last_bake_the_nearest_snapshot_is_compared_with() {
    let project = project();
    explained(
        &project,
        &["tools"],
        "tools  snap-A  miss: new: it was never baked here\n",
    );
    project.run(&["build"]).expect(0);
    project.edit("prebuild app {", "prebuild application {");
    project.edit("wc -c name", "wc -l name");
    explained(
        &project,
        &["application"],
        "tools        snap-A  hit
deps         snap-B  hit
application  snap-C  miss: new: it was never baked here; the nearest snapshot, snap-D (app), differs in 1 leaf
  prebuild.kdl:17  run \"wc -l name\" in=src
      step / 2 / run: wc -c name → wc -l name
",
    );
}

#[test]
fn a_snapshot_and_its_ancestors_are_compared_with() {
    let project = project();
    project.run(&["build"]).expect(0);
    let app = project.run(&["plan", "--json", "app"]).json()["nodes"][2]["snapshot"].clone();
    let key = &app.as_str().unwrap()["snap-".len()..];
    project.edit("hello", "goodbye");
    let expected = "tools  snap-A  miss: changed since its last bake; differs from snap-B in 1 leaf
  prebuild.kdl:6  file \".tools/bin/greet\" \"#!/bin/sh\\necho goodbye $1\\n\" mode=\"0755\"
      file / .tools/bin/greet / content: C… → D…
";
    for word in [key, &key[..6], app.as_str().unwrap()] {
        let ran = project
            .run(&["explain", "app", "--against", word])
            .expect(0);
        let shown = lettered(&ran.stdout);
        assert!(shown.starts_with(expected), "{shown}");
    }
    let ran = project
        .run(&["explain", "app", "--against", "ffffff"])
        .expect(2);
    assert!(
        ran.stderr.contains("no snapshot `ffffff`"),
        "{}",
        ran.stderr
    );
    let ran = project
        .run(&["explain", "app", "--against", "what"])
        .expect(2);
    assert!(
        ran.stderr.contains("neither a key, a lock"),
        "{}",
        ran.stderr
    );
}

/// behaviours 2, next in line: what was evicted is told from what is new.
#[test]
fn what_is_gone_and_what_is_lost_say_so() {
    let project = Project::new("from dev-base\nrun \"true\"");
    project.run(&["build"]).expect(0);
    for entry in std::fs::read_dir(project.store.join("s")).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }
    explained(
        &project,
        &[],
        "default  snap-A  miss: evicted: it was here, and is gone\n",
    );
    let json = project.run(&["explain", "--json"]).expect(0).json();
    assert_eq!(json["nodes"][0]["reason"], "evicted");
}

#[test]
fn as_json_nothing_is_cut() {
    let project = project();
    project.run(&["build"]).expect(0);
    let many: Vec<String> = (0..20)
        .map(|number| format!("    file f{number} \"\"\n"))
        .collect();
    project.edit("    env CI=1\n", &(many.concat() + "    env CI=1\n"));
    let text = project.run(&["explain", "tools"]).expect(0).stdout;
    assert!(text.ends_with("      and 10 more\n"), "{text}");
    let json = project
        .run(&["explain", "tools", "--json"])
        .expect(0)
        .json();
    assert_eq!(json["schema"], "atelier.explain/1");
    let node = &json["nodes"][0];
    let changes = node["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 20);
    let line = json!({"file": "prebuild.kdl", "line": 4, "text": "file f0 \"\""});
    assert_eq!(
        (&changes[0]["field"], &changes[0]["line"]),
        (&json!("file / f0"), &line)
    );
    assert_eq!(changes[0]["old"], Value::Null);
    let against = &node["against"];
    assert_eq!(
        (&against["kind"], &against["node"]),
        (&json!("last"), &json!("tools"))
    );
    assert_eq!(against["key"].as_str().unwrap().len(), 64);
    let fields: Vec<&String> = node.as_object().unwrap().keys().collect();
    let expected = [
        "action", "against", "changes", "key", "name", "parent", "reason", "snapshot",
    ];
    assert_eq!(fields, expected);
    let plan = project.run(&["plan", "tools", "--json"]).expect(0).json();
    let detail = plan["nodes"][0]["reason"]["detail"]
        .as_array()
        .unwrap()
        .clone();
    for (planned, explained) in detail.iter().zip(changes) {
        assert_eq!(planned["field"], explained["field"]);
    }
    assert_eq!(detail.len(), changes.len());
}

#[test]
fn why_depends_shows_each_from() {
    let project = project();
    let said = |words: &[&str]| {
        project
            .run(&[&["why-depends"], words].concat())
            .expect(0)
            .stdout
    };
    assert_eq!(
        said(&["app", "tools"]),
        "app → deps    prebuild.kdl:14  from prebuild=deps\ndeps → tools  prebuild.kdl:9   from prebuild=tools\n"
    );
    assert_eq!(said(&["tools", "app"]), "tools does not depend on app\n");
    assert_eq!(said(&["app", "app"]), "app is app\n");
    let json: Value = serde_json::from_str(&said(&["app", "deps", "--json"])).unwrap();
    let line = |line: u32, text: &str| json!({"file": "prebuild.kdl", "line": line, "text": text});
    assert_eq!(
        json,
        json!({
            "chain": [
                {"line": line(14, "from prebuild=deps"), "name": "app"},
                {"line": line(9, "from prebuild=tools"), "name": "deps"},
            ],
            "depends": true,
            "from": "app",
            "schema": "atelier.why-depends/1",
            "to": "deps",
        })
    );
    let ran = project.run(&["why-depends", "app", "toolz"]).expect(2);
    assert!(ran.stderr.contains("no target `toolz`"), "{}", ran.stderr);
    project.run(&["why-depends", "app"]).expect(2);
}

/// behaviours 1.7
#[test]
fn another_lock_is_compared_with() {
    let served = served("");
    let project = &served.project;
    project.run(&["update"]).expect(0);
    std::fs::copy(
        project.root.join("prebuild.lock.kdl"),
        project.root.join("old.lock"),
    )
    .unwrap();
    served.clone.commit("c", "four");
    served.clone.git(&["push", "--quiet", "origin", "HEAD"]);
    explained(
        project,
        &["--against", "old.lock"],
        "default  snap-A  miss: new: it was never baked here; the same as snap-A of that lock\n",
    );
    project.run(&["update"]).expect(0);
    let ran = project.run(&["explain", "--against", "old.lock"]).expect(0);
    let url = served.server.url("web");
    let expected = format!(
        "default  snap-A  miss: new: it was never baked here; differs from snap-B of that lock in 1 leaf
  prebuild.kdl:2  repo \"{url}\"
      repo / web / commit: C… → D…
"
    );
    assert_eq!(lettered(&ran.stdout), expected);
    project.write("old.lock", "lock 1\nrepo");
    let ran = project.run(&["explain", "--against", "old.lock"]).expect(4);
    assert!(ran.stderr.contains("old.lock:2"), "{}", ran.stderr);
}
