//! What files mean: defaults, inheritance, order.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use atelier_lang::graph::{
    Base, Content, Folder, Graph, ImageRef, Node, NodeId, Reference, RepoSource, Shell, User,
};
use atelier_lang::span::FileId;
use support::evaluate_bytes;

fn graph(text: &str) -> Graph {
    let (_, outcome) = evaluate_bytes(text.as_bytes());
    assert!(outcome.diagnostics.is_empty(), "{:#?}", outcome.diagnostics);
    outcome.value.expect("no findings, so a graph")
}

fn node<'a>(graph: &'a Graph, name: &str) -> &'a Node {
    graph.node(graph.find(name).expect("the node is there"))
}

fn names(graph: &Graph, ids: &[NodeId]) -> Vec<String> {
    ids.iter()
        .map(|id| graph.node(*id).name.value.clone())
        .collect()
}

#[test]
fn the_smallest_file() {
    let graph =
        graph("from dev-base\nrepo \"github.com/frak-id/wallet\"\nrun \"bun install\" in=wallet");
    assert_eq!(graph.nodes.len(), 1);
    let node = node(&graph, "default");
    assert!(
        matches!(&node.base, Base::Image(image) if image.value == ImageRef::Alias("dev-base".into()))
    );
    assert_eq!(node.platform, "linux/amd64");
    let repo = &node.repos[0];
    assert_eq!(
        repo.source.value,
        RepoSource::Url("https://github.com/frak-id/wallet".into())
    );
    assert_eq!(repo.path.as_deref(), Some("wallet"));
    assert_eq!((repo.depth, repo.submodules, repo.lfs), (1, true, true));
    let step = &node.steps[0];
    assert_eq!(step.command, "bun install");
    assert_eq!(step.folder, Folder::Workspace("wallet".into()));
    assert_eq!(
        (step.user, step.shell, step.retry),
        (User::Dev, Shell::Bash, 0)
    );
    assert_eq!(step.timeout, Duration::from_mins(10));
    let resources = &node.resources;
    assert_eq!(
        (resources.cpu, resources.memory, resources.disk),
        (2, 4 << 30, 20 << 30)
    );
    assert_eq!(resources.timeout, Duration::from_hours(1));
    assert_eq!(names(&graph, &graph.default), ["default"]);
}

#[test]
fn everything_can_be_stated() {
    let graph = graph(
        r#"
        prebuild a {
            from "ghcr.io/acme/dev:3" platform="linux/arm64"
            about "A"
            secret T
            repo "git@github.com:a/b.git" tag=v1 path=code auth=T depth=0 submodules=#false lfs=#false
            repo "github.com/a/c" branch="feat/x"
            repo "github.com/a/d" commit="0123456789abcdef0123456789abcdef01234567"
            file "etc/x" "text" mode="0755"
            file y from="dir/../y.txt"
            run "make" in="code/sub" as=root shell=sh timeout="90s" retry=3
            cache m path="/var/cache/m"
            resources cpu=8 memory="16GiB" disk="1TiB" timeout="2h"
        }"#,
    );
    let node = node(&graph, "a");
    assert_eq!(
        (node.platform.as_str(), node.about.as_deref()),
        ("linux/arm64", Some("A"))
    );
    let references: Vec<_> = node
        .repos
        .iter()
        .map(|repo| repo.reference.clone().map(|r| r.value))
        .collect();
    let commit = "0123456789abcdef0123456789abcdef01234567".to_owned();
    assert_eq!(
        references,
        [
            Some(Reference::Tag("v1".into())),
            Some(Reference::Branch("feat/x".into())),
            Some(Reference::Commit(commit)),
        ]
    );
    let first = &node.repos[0];
    assert_eq!(
        (first.depth, first.submodules, first.lfs),
        (0, false, false)
    );
    assert_eq!(
        first.auth.as_ref().map(|auth| auth.value.as_str()),
        Some("T")
    );
    assert_eq!(node.files[0].mode, "0755");
    assert!(matches!(&node.files[1].content, Content::Local(path) if path.as_str() == "y.txt"));
    let step = &node.steps[0];
    assert_eq!(
        (step.user, step.shell, step.retry),
        (User::Root, Shell::Sh, 3)
    );
    assert_eq!(step.timeout, Duration::from_secs(90));
    assert_eq!(
        (node.caches[0].name.as_str(), node.caches[0].path.as_str()),
        ("m", "/var/cache/m")
    );
    assert_eq!(node.resources.disk, 1 << 40);
}

#[test]
fn a_child_inherits_and_restates() {
    let graph = graph(
        r#"
        prebuild child {
            from prebuild=parent
            env B=child C=3
            path own "/opt/bin"
            resources memory="8GiB"
        }
        prebuild parent {
            from host platform="linux/arm64"
            env A=1 B=parent
            path "/opt/bin" bin
            secret T
            cache c path=c
            resources cpu=4 memory="1GiB"
        }"#,
    );
    assert_eq!(names(&graph, &[NodeId(0), NodeId(1)]), ["parent", "child"]);
    let child = node(&graph, "child");
    assert!(matches!(child.base, Base::Parent(NodeId(0))));
    assert_eq!(child.platform, "linux/arm64");
    let env: Vec<_> = child.env.iter().map(|(k, v)| format!("{k}={v}")).collect();
    assert_eq!(env, ["A=1", "B=child", "C=3"]);
    assert_eq!(child.path, ["own", "/opt/bin", "bin"]);
    assert!(child.secrets.is_empty() && child.caches.is_empty());
    assert_eq!((child.resources.cpu, child.resources.memory), (4, 8 << 30));
    assert_eq!(names(&graph, &graph.default), ["child"]);
}

#[test]
fn steps_keep_the_order_of_the_body() {
    let graph = graph(
        r#"
        from host
        run "1"
        repo "." { run "2"; run "3"; }
        run "4"
        repo "./code" path="x/y" { run "5"; }
        repo "../other" { run "6"; }
        repo "github.com/a/b" { run "7"; }"#,
    );
    let node = node(&graph, "default");
    let steps: Vec<_> = node
        .steps
        .iter()
        .map(|step| (step.command.as_str(), step.folder.clone()))
        .collect();
    let workspace = |path: &str| Folder::Workspace(path.to_owned());
    assert_eq!(
        steps,
        [
            ("1", workspace("")),
            ("2", Folder::Repo(0)),
            ("3", Folder::Repo(0)),
            ("4", workspace("")),
            ("5", workspace("x/y")),
            ("6", Folder::Repo(2)),
            ("7", workspace("b")),
        ]
    );
    let paths: Vec<_> = node.repos.iter().map(|repo| repo.path.as_deref()).collect();
    assert_eq!(paths, [None, Some("x/y"), None, Some("b")]);
}

#[test]
fn groups_flatten_and_order_is_by_level_then_name() {
    let graph = graph(
        r"
        group all inner z
        group inner b
        prebuild z { from host; }
        prebuild b { from prebuild=y; }
        prebuild y { from host; }
        prebuild a { from prebuild=z; }",
    );
    let order: Vec<_> = graph
        .nodes
        .iter()
        .map(|node| node.name.value.as_str())
        .collect();
    assert_eq!(order, ["y", "z", "a", "b"]);
    assert_eq!(names(&graph, &graph.groups["all"]), ["z", "b"]);
    assert_eq!(names(&graph, &graph.default), ["a", "b"]);
    let closure = graph
        .closure(&["inner".to_owned()])
        .expect("a known name")
        .clone();
    assert_eq!(names(&graph, &closure), ["y", "b"]);
}

#[test]
fn group_default_decides() {
    let graph = graph("prebuild a { from host; }\nprebuild b { from host; }\ngroup default b");
    assert_eq!(names(&graph, &graph.default), ["b"]);
}

#[test]
fn secrets_are_exposed_where_they_are_named() {
    let bare = graph("secret T\nfrom host\nrepo \"github.com/a/b\" auth=T");
    assert_eq!(node(&bare, "default").secrets.len(), 1);
    let named = graph(
        "secret T\nprebuild a { from host; repo \"github.com/a/b\" auth=T; }\nprebuild b { from host; secret T; }",
    );
    assert!(node(&named, "a").secrets.is_empty());
    assert_eq!(node(&named, "b").secrets[0].value, "T");
}

#[test]
fn plain_strings_are_inert() {
    let graph = graph(
        r##"from host
        run "echo ${HOME} $(pwd) {{x}} {name}" ; run #"grep "\d+" x"#"##,
    );
    let steps: Vec<_> = node(&graph, "default")
        .steps
        .iter()
        .map(|s| s.command.clone())
        .collect();
    assert_eq!(
        steps,
        ["echo ${HOME} $(pwd) {{x}} {name}", "grep \"\\d+\" x"]
    );
}

#[test]
fn integers_and_booleans_are_text() {
    let graph = graph("from host\nenv A=0x1F B=1_000 C=#true D=+5 E=-0 F=\"22.10\"");
    let env: Vec<_> = node(&graph, "default").env.values().cloned().collect();
    assert_eq!(env, ["31", "1000", "true", "5", "0", "22.10"]);
}

#[test]
fn spans_point_at_what_was_written() {
    let text = "// \u{e9}\u{2615}\nprebuild a {\n  from host // c\n  run \"\u{e9}\" in=x  \n}\n";
    let (sources, outcome) = evaluate_bytes(text.as_bytes());
    let graph = outcome.value.expect("a graph");
    let node = node(&graph, "a");
    assert_eq!(sources.slice(node.name.span), "a");
    assert_eq!(sources.slice(node.steps[0].span), "run \"\u{e9}\" in=x");
    assert!(sources.slice(node.span).ends_with('}'));
    assert_eq!(sources.line(node.steps[0].span), 4);
}

#[test]
fn a_file_is_relative_to_the_one_that_names_it() {
    let (_, outcome) = evaluate_bytes(b"from host\nfile a from=\"./x/../../up\"");
    assert_eq!(outcome.diagnostics[0].code.to_string(), "A0404");
}

#[test]
fn a_secret_is_never_shown() {
    for text in [
        "from host\nrepo https://user:hunter2@github.com/a/b",
        "from host\nrepo user:hunter2@github.com/a/b",
        "from host\nrepo \"user:hunter2@github.com/a/b\"",
        "from host\n// https://hunter2@github.com\nrepo \"https://u:hunter2@github.com/a/b\" banch=x",
    ] {
        let (sources, outcome) = evaluate_bytes(text.as_bytes());
        assert!(!outcome.diagnostics.is_empty());
        assert!(!sources.text(FileId(0)).contains("hunter2"));
        for diagnostic in &outcome.diagnostics {
            let rendered = format!("{:?}", atelier_lang::render::render(diagnostic, &sources));
            assert!(!rendered.contains("hunter2"), "{rendered}");
        }
    }
}
