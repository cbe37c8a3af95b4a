//! `graph` and `doc`: a file told in other forms.

use serde_json::Value;

use crate::project::Project;
use crate::reuse::{eval, project};

#[test]
fn graph_draws_what_starts_from_what() {
    let project = project();
    let graph = |format: &str| {
        let words = [
            "graph",
            "app/prebuild.kdl",
            "web-debian",
            "--format",
            format,
        ];
        project.run(&words).expect(0).stdout
    };
    let dot = "digraph atelier {
    rankdir=LR;
    node [shape=box];
    \"image dev-base\" [label=\"dev-base\", shape=ellipse];
    \"image dev-base\" -> \"org.base\";
    \"org.base\" -> \"web-debian\";
}
";
    assert_eq!(graph("dot"), dot);
    let mermaid = "graph LR
    i0([\"dev-base\"])
    t0[\"org.base\"]
    t1[\"web-debian\"]
    i0 --> t0
    t0 --> t1
";
    assert_eq!(graph("mermaid"), mermaid);
    assert_eq!(graph("json"), eval(&project, &["web-debian", "--json"]));
}

#[test]
fn graph_colours_what_is_in_the_store() {
    let project = project();
    let words = ["build", "app/prebuild.kdl", "web-alpine"];
    project.run(&words).expect(0);
    let graph = |format: &str| {
        let words = ["graph", "app/prebuild.kdl", "--hits", "--format", format];
        project.run(&words)
    };
    let dot = graph("dot").expect(0).stdout;
    let colour = "[style=filled, fillcolor=palegreen];";
    assert!(dot.contains(&format!("\"org.base\" {colour}")), "{dot}");
    assert!(dot.contains(&format!("\"web-alpine\" {colour}")), "{dot}");
    assert!(!dot.contains(&format!("\"web-debian\" {colour}")), "{dot}");
    let mermaid = graph("mermaid").expect(0).stdout;
    assert!(mermaid.contains("class t0,t1 hit\n"), "{mermaid}");
    let refused = graph("json").expect(2).stderr;
    assert!(refused.contains("plan --json"), "{refused}");
}

const DOCUMENTED: &str = r#"// Of the whole file.

import "./org.kdl"

// Which channel.
param channel stable nightly default=stable
param (version)node

// Clones a service,
// and installs it.
template service {
    // Where it is.
    param (url)repo
    param dir default=(f)"{channel}"
    param (words)install default="npm ci"
    repo (f)"{repo}" path=(f)"{dir}" { run (f)"{install} {node}"; }
}
prebuild broken { from prebuild=none; }
"#;

fn documented() -> Project {
    let project = Project::new(DOCUMENTED);
    project.write("org.kdl", "template tool { env A=1; }");
    project
}

/// Also where targets are at fault.
#[test]
fn doc_tells_parameters_and_templates() {
    let shown = documented().run(&["doc"]).expect(0).stdout;
    let expected = r#"--param channel=V
    text, one of "stable" "nightly", default "stable"
    Which channel.

--param node=V
    version, required

use service repo=V [dir=V] [WORD…]
    Clones a service,
    and installs it.

    repo     url, required
             Where it is.

    dir      text, default (f)"{channel}"

    install  words, default "npm ci"

use org.tool
"#;
    assert!(shown.starts_with(expected), "{shown}");
}

#[test]
fn doc_as_data() {
    let project = documented();
    let json = project.run(&["doc", "service", "--json"]).expect(0).stdout;
    let doc: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(doc["schema"], "atelier.doc/1");
    assert_eq!(doc["templates"].as_array().unwrap().len(), 1);
    let service = &doc["templates"][0];
    assert_eq!(service["file"], "prebuild.kdl");
    assert_eq!(service["line"], 11);
    assert_eq!(service["doc"], "Clones a service,\nand installs it.");
    let dir = serde_json::json!({
        "choices": [],
        "default": {"interpolated": true, "text": "{channel}"},
        "doc": "",
        "name": "dir",
        "type": "text",
    });
    assert_eq!(service["params"][1], dir);
}

#[test]
fn doc_of_what_is_not_there() {
    let project = documented();
    let refused = project.run(&["doc", "servce"]).expect(2).stderr;
    assert!(refused.contains("did you mean `service`?"), "{refused}");
    project.write("faulty.kdl", "template t { param (nmber)x; }");
    let refused = project.run(&["doc", "faulty.kdl"]).expect(3).stderr;
    assert!(refused.contains("A0202"), "{refused}");
}
