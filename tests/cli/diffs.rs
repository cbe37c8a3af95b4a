//! `diff`: snapshots, locks and revisions of the file, node by node.

use serde_json::{Value, json};

use crate::explanations::{lettered, project};
use crate::project::Project;

mod imports;
mod locks;
mod snapshots;

/// Runs `diff`, which ends so, and compares what it prints.
#[track_caller]
fn differs(project: &Project, words: &[&str], code: i32, expected: &str) {
    let ran = project.run(&[&["diff"], words].concat()).expect(code);
    assert_eq!(lettered(&ran.stdout), expected, "{}", ran.stdout);
}

#[track_caller]
fn fails(project: &Project, words: &[&str], code: i32, expected: &str) {
    let ran = project.run(&[&["diff"], words].concat()).expect(code);
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
}

/// A file of which the last commit has changed a variable and a step, with a node gone and one new.
fn revised() -> Project {
    let project = project();
    project.edit(
        "prebuild app {",
        "prebuild old { from dev-base; }\nprebuild app {",
    );
    project.commit("old");
    project.edit(
        "prebuild old { from dev-base; }",
        "prebuild fresh { from prebuild=tools; }",
    );
    project.edit("env CI=1", "env CI=2");
    project.edit("run \"wc -c name\" in=src", "");
    project.commit("new");
    project
}

#[test]
fn revisions_of_the_file_are_compared_node_by_node() {
    let project = revised();
    differs(
        &project,
        &["HEAD~1", "HEAD"],
        10,
        "tools  same     snap-A
deps   changed  snap-B → snap-C
  HEAD:prebuild.kdl:4  env CI=2
      env / CI / value: 1 → 2
fresh  new      snap-D
app    changed  snap-E → snap-F
  HEAD:prebuild.kdl:15    from prebuild=deps
      from / parent key: snap-B → snap-C
  HEAD:prebuild.kdl:4     env CI=2
      env / CI / value: 1 → 2
  HEAD~1:prebuild.kdl:18  run \"wc -c name\" in=src
      step / 2: wc -c name (in src) → nothing
old    gone     snap-G
",
    );
    let same = "tools  same     snap-A\ndeps   same     snap-B\n";
    differs(&project, &["HEAD", "main", "deps"], 0, same);
    // The file as it is has a name of its own.
    project.edit("env CI=2", "env CI=3");
    let shown = project
        .run(&["diff", "HEAD", "prebuild.kdl", "deps"])
        .expect(10)
        .stdout;
    assert!(
        shown.contains("  prebuild.kdl:4  env CI=3\n      env / CI / value: 2 → 3\n"),
        "{shown}"
    );
    let shown = project
        .run(&["diff", "HEAD~1", "HEAD", "./prebuild.kdl", "fresh"])
        .expect(10);
    let shown = lettered(&shown.stdout);
    assert_eq!(shown, "tools  same     snap-A\nfresh  new      snap-B\n");
}

#[test]
fn a_file_that_is_one_side_is_what_the_other_is_about() {
    let project = Project::empty();
    project.write("prebuild.kdl", "from dev-base\n");
    project.write("sub/two.kdl", "from dev-base\nrun \"one\"\n");
    project.commit("first");
    project.write("sub/two.kdl", "from dev-base\nrun \"two\"\n");
    let leaf = "  sub/two.kdl:2  run \"two\"\n      step / 1 / run: one → two\n";
    for words in [["HEAD", "sub/two.kdl"], ["HEAD~0", "./sub/two.kdl"]] {
        let shown = project
            .run(&[&["diff"], &words[..]].concat())
            .expect(10)
            .stdout;
        assert!(shown.ends_with(leaf), "{shown}");
    }
}

#[test]
fn what_has_another_name_and_the_same_key_is_the_same() {
    let project = project();
    project.edit("prebuild app {", "prebuild application {");
    differs(
        &project,
        &["HEAD", "prebuild.kdl"],
        0,
        "tools        same     snap-A
deps         same     snap-B
application  same     snap-C (was app)
",
    );
}

#[test]
fn local_files_are_those_of_the_revision_and_repositories_are_as_they_are() {
    let project = Project::empty();
    project.write("conf/real", "one");
    let link = |to: &str, name: &str| {
        std::os::unix::fs::symlink(to, project.root.join(name)).unwrap();
    };
    // A link to a file below a link to a folder.
    link("conf", "way");
    link("./way/real", "link");
    project.write(
        "prebuild.kdl",
        "from dev-base\nrepo \".\" path=src\nfile x from=link\n",
    );
    project.commit("first");
    project.write("conf/real", "two");
    project.commit("second");
    differs(
        &project,
        &["HEAD~1", "HEAD"],
        10,
        "default  changed  snap-A → snap-B
  HEAD:prebuild.kdl:3  file x from=link
      file / x / content: C… → D…
",
    );
    project.write("conf/real", "one");
    differs(
        &project,
        &["HEAD~1", "prebuild.kdl"],
        0,
        "default  same     snap-A\n",
    );
    for (to, expected) in [
        ("/etc/passwd", "link leads out of the project"),
        ("../conf/real", "link leads out of the project"),
        ("link", "link is a loop of symlinks"),
        ("conf/none", "link is not in HEAD"),
        ("conf", "link is not a regular file in HEAD"),
    ] {
        std::fs::remove_file(project.root.join("link")).unwrap();
        link(to, "link");
        project.commit(to);
        fails(&project, &["HEAD", "HEAD~1"], 5, expected);
    }
}

#[test]
fn what_cannot_be_compared_is_told() {
    let project = project();
    fails(&project, &["HEAD~9", "HEAD"], 2, "`HEAD~9` is no revision");
    fails(&project, &["HEAD..HEAD", "HEAD"], 2, "names two revisions");
    // Two commits whose ids begin alike.
    for number in ["1093", "6087"] {
        let who = "A <a@example.org> 0 +0000";
        let tree = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        let text = format!("{tree}\nauthor {who}\ncommitter {who}\n\n{number}\n");
        project.write("twin", &text);
        project.git(&["hash-object", "-t", "commit", "-w", "twin"]);
    }
    let several = "several of its commits begin with 31f115";
    fails(&project, &["31f115", "HEAD"], 2, several);
    fails(&project, &["snap-12", "HEAD"], 2, "give snap- and 6 digits");
    fails(
        &project,
        &["HEAD", "HEAD", "nothing"],
        2,
        "has no target `nothing`",
    );
    fails(&project, &["HEAD", "none.kdl"], 2, "cannot read");
    project.edit("from dev-base", "form dev-base");
    project.commit("broken");
    fails(&project, &["HEAD", "HEAD~1"], 3, "HEAD:prebuild.kdl:3");
    // What the file is now does not matter to what it was.
    project.edit("form dev-base", "from dev-base");
    project.commit("mended");
    project.write("prebuild.kdl", "broken {");
    project.run(&["diff", "HEAD~2", "HEAD"]).expect(0);
}

#[test]
fn a_revision_without_the_file_has_no_targets() {
    let project = Project::empty();
    project.write("a", "");
    project.commit("nothing");
    project.write("prebuild.kdl", "from dev-base");
    project.commit("a file");
    let ran = project.run(&["diff", "HEAD~1", "HEAD"]).expect(10);
    assert_eq!(lettered(&ran.stdout), "default  new      snap-A\n");
    assert!(
        ran.stderr.contains("note: HEAD~1 has no prebuild.kdl"),
        "{}",
        ran.stderr
    );
}

/// What was removed is looked for in the commits that had it.
#[test]
fn a_file_that_is_gone_is_found_in_its_revisions() {
    let project = Project::empty();
    project.write("sub/old.kdl", "from dev-base");
    project.commit("first");
    project.git(&["rm", "--quiet", "-r", "sub"]);
    project.commit("second");
    let words = ["HEAD~1", "HEAD", "sub/old.kdl"];
    differs(&project, &words, 10, "default  gone     snap-A\n");
    fails(&project, &["HEAD~1", "sub/old.kdl"], 2, "cannot read");
}

#[test]
fn as_json_both_sides_are_there() {
    let project = revised();
    let json = project
        .run(&["diff", "HEAD~1", "HEAD", "--json"])
        .expect(10)
        .json();
    let fields: Vec<&String> = json.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["a", "b", "equal", "nodes", "schema"]);
    assert_eq!(
        (&json["schema"], &json["a"]),
        (&json!("atelier.diff/1"), &json!("HEAD~1"))
    );
    let nodes = json["nodes"].as_array().unwrap();
    let results: Vec<(&str, &str)> = nodes
        .iter()
        .map(|node| {
            (
                node["name"].as_str().unwrap(),
                node["result"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("tools", "same"),
        ("deps", "changed"),
        ("fresh", "new"),
        ("app", "changed"),
        ("old", "gone"),
    ];
    assert_eq!(results, expected);
    let [a, b] = ["a", "b"].map(|side| nodes[1][side].as_str().unwrap());
    assert_eq!((a.len(), b.len(), a == b), (64, 64, false));
    assert_eq!(
        (&nodes[2]["a"], &nodes[4]["b"]),
        (&Value::Null, &Value::Null)
    );
    let line = json!({"file": "HEAD:prebuild.kdl", "line": 4, "text": "env CI=2"});
    let change = json!({"field": "env / CI / value", "line": line, "new": "2", "old": "1"});
    assert_eq!(nodes[1]["changes"], json!([change]));
}
