//! `let`, `param`, `template`, `use`, `matrix`, `import`: each file means what somebody would have written by hand.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod imports;
#[path = "../support/meaning.rs"]
mod meaning;
#[path = "../support/mod.rs"]
mod support;

use atelier_lang::diag::Outcome;
use atelier_lang::evaluate;
use atelier_lang::graph::Graph;
use atelier_lang::source::Sources;
use serde_json::Value;
use support::{Memory, evaluate_bytes, inputs};

/// Evaluates the first of the files, by path; the others lie around it.
fn look(files: &[(&str, &str)], params: &[(&str, &str)]) -> (Sources, Outcome<Graph>) {
    let mut world = Memory::default();
    for (path, text) in files {
        world.0.insert((*path).to_owned(), text.as_bytes().to_vec());
    }
    let mut inputs = inputs();
    inputs.file = atelier_lang::source::VirtualPath::new(files[0].0).unwrap();
    let given = params
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    inputs.params = given.collect();
    evaluate(&world, &inputs)
}

fn meaning_of((sources, outcome): (Sources, Outcome<Graph>)) -> Value {
    assert!(outcome.diagnostics.is_empty(), "{:#?}", outcome.diagnostics);
    meaning::meaning(&outcome.value.expect("no findings, so a graph"), &sources)
}

fn one(text: &str) -> Value {
    meaning_of(evaluate_bytes(text.as_bytes()))
}

fn same(left: &str, right: &str) {
    assert_eq!(one(left), one(right));
}

#[test]
fn constants_and_parameters() {
    let file = r#"
        let registry="ghcr.io/acme" major=22
        let image=(f)"{registry}/node:{version}"
        param (version)version default=(f)"{major}.1"
        prebuild a { from (f)"{image}"; env A=(f)"{major}{{}}" B="{{x}}" C=(f)"{version}"; }"#;
    let by_hand = |version: &str| {
        one(&format!(
            r#"prebuild a {{ from "ghcr.io/acme/node:{version}"; env A="22{{}}" B="{{{{x}}}}" C="{version}"; }}"#
        ))
    };
    assert_eq!(one(file), by_hand("22.1"));
    let given = meaning_of(look(&[("prebuild.kdl", file)], &[("version", "24")]));
    assert_eq!(given, by_hand("24"));
}

/// What is put in is never looked at again.
#[test]
fn one_pass() {
    same(
        r#"allow not-interpolated
        let a="{b}" b="{{x}}" c="\"; rm -rf /; \""
        from host
        env A=(f)"{a}{b}{c}""#,
        r#"from host
        env A="{b}{{x}}\"; rm -rf /; \"""#,
    );
}

#[test]
fn raw_and_multi_line_texts_behave_alike() {
    same(
        "let x=1\nfrom host\nfile a (f)#\"\"\"\n  {x}\\d\n    {{y}}\n  \"\"\"#\nrun (f)\"\"\"\n  echo \\\n  {x}\n  \"\"\"",
        "from host\nfile a \"1\\\\d\\n  {y}\"\nrun \"echo 1\"",
    );
}

#[test]
fn templates_with_templates() {
    same(
        r#"
        let tools=".local/bin"
        template base { path (f)"{tools}"; env A=1; }
        template service {
            param (url)repo
            param dir default=(f)"{name}-dir"
            param name default=api
            param (words)install default="npm ci"
            use base
            repo (f)"{repo}" path=(f)"{dir}" { run (f)"{install}"; }
            run (f)"start {name}" in=(f)"{dir}"
        }
        prebuild one { from host; use service repo="github.com/a/b"; }
        prebuild two { from host; use service pnpm install repo="github.com/a/c" dir=c name=two; }"#,
        r#"
        prebuild one {
            from host
            path ".local/bin"
            env A=1
            repo "github.com/a/b" path=api-dir { run "npm ci"; }
            run "start api" in=api-dir
        }
        prebuild two {
            from host
            path ".local/bin"
            env A=1
            repo "github.com/a/c" path=c { run "pnpm install"; }
            run "start two" in=c
        }"#,
    );
}

/// The order of `run` is the order of the expansion, also inside of `repo` and `layer`.
#[test]
fn a_template_stands_where_it_is_used() {
    same(
        r#"
        template build { run "1"; run "2"; }
        template manifests { only package.json; cache npm path=".npm"; run "npm ci"; }
        from host
        run "0"
        use build
        repo "github.com/a/b" { layer { use manifests; }; use build; run "3"; }
        run "4""#,
        r#"
        from host
        run "0"
        run "1"
        run "2"
        repo "github.com/a/b" {
            layer { only package.json; cache npm path=".npm"; run "npm ci"; }
            run "1"
            run "2"
            run "3"
        }
        run "4""#,
    );
}

#[test]
fn a_template_never_sees_its_caller() {
    let (_, outcome) = look(
        &[(
            "prebuild.kdl",
            "template t { env A=(f)\"{os}\"; }\nprebuild a { from host; use t; matrix { os debian; }; env B=(f)\"{os}\"; }",
        )],
        &[],
    );
    let codes: Vec<_> = outcome
        .diagnostics
        .iter()
        .map(|d| d.code.to_string())
        .collect();
    assert_eq!(codes, ["A0301"]);
}

#[test]
fn a_matrix_is_its_cells_and_a_group() {
    same(
        r#"
        prebuild base { from (f)"debian:{node}"; matrix { node "22.1" 24; }; }
        prebuild web {
            from prebuild=(f)"base-{node}"
            matrix { os debian "Alpine 3"; node "22.1" 24; skip os=debian node=24; }
            env OS=(f)"{os}" NODE=(f)"{node}"
        }
        group default web"#,
        r#"
        prebuild base-22-1 { from "debian:22.1"; }
        prebuild base-24 { from "debian:24"; }
        prebuild web-debian-22-1 { from prebuild=base-22-1; env OS=debian NODE="22.1"; }
        prebuild web-alpine-3-22-1 { from prebuild=base-22-1; env OS="Alpine 3" NODE="22.1"; }
        prebuild web-alpine-3-24 { from prebuild=base-24; env OS="Alpine 3" NODE="24"; }
        group base base-22-1 base-24
        group web web-debian-22-1 web-alpine-3-22-1 web-alpine-3-24
        group default web"#,
    );
    same(
        r#"
        prebuild a {
            from host
            matrix { cell os=debian node=22; cell node=24 os=alpine; }
            env OS=(f)"{os}{node}"
        }"#,
        r"
        prebuild a-debian-22 { from host; env OS=debian22; }
        prebuild a-alpine-24 { from host; env OS=alpine24; }
        group a a-debian-22 a-alpine-24",
    );
}

/// Keys equal the hand expansion, in which the layer's prebuild has the matrix of its target.
#[test]
fn a_layer_in_a_matrix() {
    let layered = r#"
        prebuild web {
            from (f)"node:{node}"
            matrix { node 22 24; }
            env NODE=(f)"{node}"
            repo "github.com/a/b" { layer { only (f)"lock-{node}"; run "npm ci"; }; run "make"; }
        }"#;
    let by_hand = r#"
        prebuild web-deps {
            from (f)"node:{node}"
            matrix { node 22 24; }
            env NODE=(f)"{node}"
            repo "github.com/a/b" { only (f)"lock-{node}"; run "npm ci"; }
        }
        prebuild web {
            from prebuild=(f)"web-deps-{node}"
            matrix { node 22 24; }
            repo "github.com/a/b" { run "make"; }
        }"#;
    same(layered, by_hand);
}

#[test]
fn target_names_are_spelled_by_one_rule() {
    same(
        r#"
        let v="22.12.0"
        prebuild base { from host; matrix { node "22.12.0"; }; }
        prebuild a { from prebuild=(f)"base-{v}"; }
        group all "Base 22.12.0" a"#,
        r"
        prebuild base-22-12-0 { from host; }
        group base base-22-12-0
        prebuild a { from prebuild=base-22-12-0; }
        group all base-22-12-0 a",
    );
}

#[test]
fn the_library() {
    same(
        "prebuild a { from host; use both; }",
        r#"prebuild a { from host; path ".local/bin"; run "make --name one"; env OTHER=1; }"#,
    );
}

/// A file's own template hides one of the library.
#[test]
fn an_own_template_comes_first() {
    same(
        "template other { env OTHER=own; }\nprebuild a { from host; use other; }",
        "prebuild a { from host; env OTHER=own; }",
    );
    same(
        "template other { env OWN=1; use std.other; }\nprebuild a { from host; use other; }",
        "prebuild a { from host; env OWN=1 OTHER=1; }",
    );
}

#[test]
fn expansions_are_known_by_their_places() {
    let text = "template inner { run \"x\"; }\ntemplate outer { use inner; }\nprebuild a {\n  from host\n  matrix { os debian; }\n  env A=(f)\"{os}\"\n  use outer\n}";
    let (sources, outcome) = look(&[("prebuild.kdl", text)], &[]);
    let graph = outcome.value.unwrap();
    let step = &graph.nodes[0].steps[0];
    assert_eq!(sources.slice(step.span), "run \"x\"");
    let trace: Vec<_> = sources
        .trace(step.span)
        .map(|expansion| (expansion.what.as_str(), sources.line(expansion.span)))
        .collect();
    assert_eq!(
        trace,
        [("use inner", 2), ("use outer", 7), ("cell os=debian", 5)]
    );
}

#[test]
fn a_file_of_definitions_alone_is_a_library() {
    let (_, outcome) = look(
        &[("prebuild.kdl", "let a=1\ntemplate t { env A=(f)\"{a}\"; }")],
        &[],
    );
    assert!(outcome.diagnostics.is_empty(), "{:?}", outcome.diagnostics);
    assert!(outcome.value.unwrap().nodes.is_empty());
}
