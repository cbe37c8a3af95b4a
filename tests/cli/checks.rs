//! Is everything cached, and if not, why: `check` and `build --cached-only`, without a network too.

use std::fs;

use serde_json::{Value, json};

use crate::project::{Project, Ran, pairs};
use crate::repositories::{Served, served};
use crate::wrapped::started_by;

const THREE: &str = r#"
prebuild tools {
    from dev-base
    run "echo 1 > tools"
}
prebuild deps {
    from prebuild=tools
    run "cp tools deps"
}
prebuild app {
    from prebuild=deps
    run "cp deps app"
}
"#;

/// The words of each line, without keys.
fn lines(ran: &Ran) -> Vec<String> {
    let words = |line: &str| {
        let words = line.split_whitespace();
        words
            .filter(|word| !word.starts_with("snap-"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    ran.stdout.lines().map(words).collect()
}

/// How long each snapshot took to bake, as the program says it.
fn costs(project: &Project) -> Vec<String> {
    let json = project.run(&["plan", "--json"]).json();
    let seconds = json["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| &node["seconds"]);
    let cost = |seconds: &Value| {
        let seconds = seconds.as_f64().unwrap();
        assert!(seconds > 0.0 && seconds < 59.0, "{seconds}");
        format!("{} s", seconds.max(1.0).round())
    };
    seconds
        .filter(|seconds| !seconds.is_null())
        .map(cost)
        .collect()
}

#[test]
fn check_has_a_line_for_each_node_and_what_a_bake_would_cost() {
    let project = Project::new(THREE);
    let ran = project.run(&["check"]).expect(10);
    assert_eq!(
        lines(&ran),
        [
            "NODE SNAPSHOT RESULT LAST BAKE REASON",
            "tools miss unknown new",
            "deps miss unknown new",
            "app miss unknown new",
            "0 of 3 cached; 3 to bake, how long that takes is unknown",
        ]
    );
    project.run(&["build", "deps"]).expect(0);
    let costs = costs(&project);
    let ran = project.run(&["check", "deps"]).expect(0);
    let hits = ["tools hit", "deps hit", "2 of 2 cached"];
    assert_eq!(lines(&ran)[1..], hits);
    project.edit("echo 1", "echo 2");
    let ran = project.run(&["check"]).expect(10);
    let lines = lines(&ran);
    let reason = "changed: step / 1 / run echo 1 > tools → echo 2 > tools";
    assert_eq!(lines[1], format!("tools miss {} {reason}", costs[0]));
    let start = format!("deps miss {} parent-changed: from / parent key ", costs[1]);
    assert!(lines[2].starts_with(&start), "{lines:?}");
    assert_eq!(lines[3], "app miss unknown new");
    let sum = &lines[4];
    assert!(sum.starts_with("0 of 3 cached; 3 to bake, about "), "{sum}");
    assert!(
        sum.ends_with(" s as they took last time, and 1 unknown"),
        "{sum}"
    );
    assert_eq!(project.snapshots().len(), 2);
    project.assert_nothing_left();
}

/// behaviours 2.5
#[test]
fn check_as_json_is_the_plan_with_what_the_last_bakes_took() {
    let project = Project::new(THREE);
    project.run(&["build", "tools"]).expect(0);
    let node = |index: usize| project.run(&["check", "--json"]).json()["nodes"][index].clone();
    let seconds = node(0)["seconds"].clone();
    assert!(seconds.as_f64().unwrap() > 0.0);
    project.edit("echo 1", "echo 2");
    let checked = project.run(&["check", "--json"]).expect(10);
    assert_eq!(checked.json()["schema"], "atelier.plan/1");
    assert_eq!(
        checked.stdout,
        project.run(&["plan", "--json"]).expect(0).stdout
    );
    assert_eq!(
        (&node(0)["estimate"], &node(0)["seconds"]),
        (&seconds, &Value::Null)
    );
    assert_eq!(node(1)["estimate"], Value::Null);
    // A bake that fails is not what one costs.
    project.edit("echo 2", "exit 1; echo 2");
    project.run(&["build"]).expect(1);
    assert_eq!(node(0)["estimate"], seconds);
    project.edit("exit 1; ", "");
    project.run(&["build"]).expect(0);
    assert_eq!(node(0)["estimate"], Value::Null);
    project.run(&["check", "--json"]).expect(0);
}

/// behaviours 2.4
#[test]
fn a_build_of_what_is_cached_only_bakes_nothing() {
    let project = Project::new(THREE);
    let logs = || fs::read_dir(project.store.join("logs")).unwrap().count();
    let ran = project.run(&["build", "--cached-only"]).expect(10);
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        (
            "",
            "tools is not cached: new\ndeps is not cached: new\napp is not cached: new\n"
        )
    );
    assert_eq!((project.snapshots(), logs()), (Vec::new(), 0));
    project.run(&["build", "tools"]).expect(0);
    let ran = project
        .run(&["build", "--cached-only", "--json"])
        .expect(10);
    let results = [("tools", "reused"), ("deps", "skipped"), ("app", "skipped")];
    assert_eq!(ran.column("result"), pairs(&results));
    assert_eq!((project.snapshots().len(), logs()), (1, 1));
    project.run(&["build"]).expect(0);
    assert_eq!(project.build(&["--cached-only"]).len(), 3);
    assert_eq!(logs(), 3);
    project
        .run(&["build", "--cached-only", "--force", "app"])
        .expect(2);
    project.assert_nothing_left();
}

fn locked() -> Served {
    let served = served("");
    served.project.run(&["update"]).expect(0);
    served.project.run(&["build"]).expect(0);
    served
}

impl Served {
    /// The program where there is no network, not even loopback; and every socket that it asked the kernel for.
    fn offline(&self, words: &[&str]) -> (Ran, String) {
        let trace = self.project.home.join("trace");
        let starter = [
            "unshare",
            "--net",
            "strace",
            "-f",
            "-qq",
            "-e",
            "trace=socket,connect",
            "-o",
        ];
        let starter = [&starter[..], &[trace.to_str().unwrap()]].concat();
        let command = started_by(&starter, &self.project.atelier(words));
        let ran = self.project.run_command(command);
        (ran, fs::read_to_string(trace).unwrap())
    }
}

/// behaviours 2.18: with a lock and all hits there is no network call, and no name is looked up.
#[test]
fn what_is_locked_and_cached_needs_no_network() {
    let served = locked();
    for words in [
        &["check"][..],
        &["check", "--locked"],
        &["build"],
        &["build", "--cached-only"],
    ] {
        let (ran, sockets) = served.offline(words);
        ran.expect(0);
        for family in ["AF_INET", "AF_NETLINK", "nscd", "resolve"] {
            assert!(!sockets.contains(family), "{words:?}: {sockets}");
        }
    }
    // And there it would be seen.
    let (ran, sockets) = served.offline(&["check", "--fresh"]);
    ran.expect(5);
    assert!(sockets.contains("AF_INET"), "{sockets}");
}

/// What `only` picks of a commit never changes: it is remembered, and without that it is an error.
#[test]
fn files_of_a_locked_commit_are_known_without_a_network() {
    let served = served("{ only a; }");
    served.project.run(&["update"]).expect(0);
    served.offline(&["check"]).0.expect(5);
    served.project.run(&["build"]).expect(0);
    let (ran, sockets) = served.offline(&["check", "--locked"]);
    ran.expect(0);
    assert!(!sockets.contains("AF_INET"), "{sockets}");
}

/// What GitHub gives to a step, with the workspace one folder above the project.
fn on_github(project: &Project, words: &[&str]) -> Ran {
    let summary = project.home.join("summary.md");
    let workspace = project.root.parent().unwrap();
    let mut command = project.atelier(words);
    command
        .env("GITHUB_STEP_SUMMARY", summary)
        .env("GITHUB_WORKSPACE", workspace);
    project.run_command(command)
}

#[test]
fn check_annotates_each_miss_for_github_and_appends_to_the_job_s_summary() {
    let project = Project::new(THREE);
    project.run(&["build"]).expect(0);
    let cost = costs(&project)[1].clone();
    project.edit("cp tools deps", "cp tools deps | true");
    let summary = project.home.join("summary.md");
    fs::write(&summary, "before\n").unwrap();
    let ran = on_github(&project, &["check", "--format", "github"]).expect(10);
    let annotations: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| line.starts_with("::"))
        .collect();
    let reason = "changed: step / 1 / run cp tools deps → cp tools deps | true";
    let place = "::warning file=project/prebuild.kdl";
    assert_eq!(
        annotations[0],
        format!("{place},line=6,title=atelier::deps is not cached: {reason}")
    );
    let second = format!("{place},line=10,title=atelier::app is not cached: parent-changed: ");
    assert!(annotations[1].starts_with(&second), "{annotations:?}");
    assert_eq!(annotations.len(), 2);
    assert_eq!(lines(&ran)[2], "NODE SNAPSHOT RESULT LAST BAKE REASON");
    let written = fs::read_to_string(&summary).unwrap();
    let rows: Vec<&str> = written.lines().collect();
    assert_eq!(rows[0], "before");
    assert!(
        rows[1].starts_with("### prebuild.kdl: 1 of 3 cached; 2 to bake, about "),
        "{written}"
    );
    let table = [
        "| target | result | last bake | reason |",
        "|-|-|-|-|",
        "| tools | hit |  |  |",
    ];
    assert_eq!(rows[3..6], table);
    let reason = reason.replace('|', "\\|");
    assert_eq!(rows[6], format!("| deps | miss | {cost} | {reason} |"));
    // Elsewhere there is no summary.
    project.run(&["check", "--format", "github"]).expect(10);
    assert_eq!(fs::read_to_string(&summary).unwrap(), written);
}

#[test]
fn check_annotates_what_is_wrong_with_a_file() {
    let project = Project::new(THREE);
    project.write("sub/prebuild.kdl", "from dev-base\nrunn \"true\"");
    let ran = on_github(
        &project,
        &["check", "sub/prebuild.kdl", "--format", "github"],
    )
    .expect(3);
    let start = "::error file=project/sub/prebuild.kdl,line=2,title=A0201::no statement `runn`";
    assert!(ran.stdout.starts_with(start), "{}", ran.stdout);
    assert!(ran.stderr.contains("A0201"), "{}", ran.stderr);
    let ran = on_github(&project, &["check", "--format", "github", "nothing"]).expect(2);
    assert!(
        ran.stdout.starts_with("::error title=A0801::"),
        "{}",
        ran.stdout
    );
    assert!(!project.home.join("summary.md").exists());
    let file = "from dev-base\nrepo \".\" path=a { only nothing; }";
    project.write("sub/prebuild.kdl", file);
    let ran = on_github(
        &project,
        &["check", "sub/prebuild.kdl", "--format", "github"],
    )
    .expect(10);
    let start =
        "::warning file=project/sub/prebuild.kdl,line=2,title=A0408::no path matches `nothing`";
    assert!(ran.stdout.starts_with(start), "{}", ran.stdout);
}

/// behaviours 1.7, 2.1
#[test]
fn check_says_which_input_changed() {
    let served = locked();
    let old = served.head();
    let new = served.clone.commit("pushed", "new");
    served.clone.git(&["push", "--quiet", "origin", "main"]);
    served.project.run(&["check"]).expect(0);
    let ran = served
        .project
        .run(&["check", "--fresh", "--json"])
        .expect(10);
    let detail = json!([{"field": "repo / web / commit", "old": old, "new": new}]);
    assert_eq!(
        ran.json()["nodes"][0]["reason"],
        json!({"kind": "changed", "detail": detail})
    );
}
