//! The library of templates: what each expands to is frozen, since a change re-bakes everybody.
#![cfg(test)]

use std::fmt::Write as _;
use std::fs;

use atelier::stdlib::FILES;
use atelier_lang::doc::{self, TemplateData};
use atelier_lang::graph::NodeId;
use atelier_lang::source::{ReadError, VirtualPath, World};
use atelier_lang::{Inputs, evaluate, expansion, schema};

struct Text(String);

impl World for Text {
    fn read(&self, _: &VirtualPath, _: u64) -> Result<Vec<u8>, ReadError> {
        Ok(self.0.clone().into_bytes())
    }
}

fn inputs() -> Inputs {
    let path = VirtualPath::new("prebuild.kdl").unwrap();
    Inputs {
        std: FILES,
        ..Inputs::new(path, String::new())
    }
}

fn templates() -> Vec<TemplateData> {
    let (_, outcome) = doc::doc(&Text(String::new()), &inputs());
    outcome.value.unwrap().templates
}

/// The file without any template.
fn expanded(file: &str) -> String {
    let (sources, outcome) = evaluate(&Text(file.to_owned()), &inputs());
    let found = format!("{file}\n{:#?}", outcome.diagnostics);
    assert!(outcome.diagnostics.is_empty(), "{found}");
    let graph = outcome.value.expect(&found);
    let all: Vec<NodeId> = (0..graph.nodes.len()).map(NodeId).collect();
    expansion::text(&schema::data(&graph, &all, &sources))
}

/// A file that uses the template where it belongs.
fn using(template: &TemplateData) -> String {
    let name = template.name.strip_prefix("std.").unwrap();
    if name.ends_with("-layer") || name == "git-lfs" {
        format!("from dev-base\nrepo \"github.com/acme/app\" {{ use {name}; }}")
    } else {
        format!("from dev-base\nuse {name}")
    }
}

#[test]
fn expansions_are_frozen() {
    for template in templates() {
        let name = template.name.strip_prefix("std.").unwrap();
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("golden");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(name, expanded(&using(&template))));
    }
}

/// The step of a layer is that of the template of its name.
#[test]
fn a_layer_runs_what_its_template_runs() {
    let templates = templates();
    let layers = templates
        .iter()
        .filter_map(|t| t.name.strip_suffix("-layer"));
    let layers: Vec<&str> = layers
        .map(|name| name.strip_prefix("std.").unwrap())
        .collect();
    assert_eq!(layers.len(), 18, "{layers:?}");
    for name in layers {
        let steps = |file: &str| -> Vec<String> {
            let expansion = expanded(file);
            let lines = expansion.lines().map(str::trim);
            let runs = lines.filter(|line| line.starts_with("run "));
            runs.map(|line| line.split(" in=").next().unwrap().to_owned())
                .collect()
        };
        assert_eq!(
            steps(&format!(
                "from host\nrepo \"github.com/a/b\" {{ use {name}-layer; }}"
            )),
            steps(&format!("from host\nuse {name}")),
        );
    }
}

/// Two of them fit into one repository.
#[test]
fn layers_have_names_of_their_own() {
    let page = expanded("from host\nrepo \"github.com/a/b\" { use npm-layer; use uv-layer; }");
    assert!(page.contains("prebuild default-npm {"), "{page}");
    assert!(
        page.contains("prebuild default-uv {\n    from prebuild=default-npm\n"),
        "{page}"
    );
}

#[test]
fn everything_is_documented() {
    for template in templates() {
        assert!(!template.doc.is_empty(), "{}", template.name);
        for param in &template.params {
            assert!(!param.doc.is_empty(), "{} {}", template.name, param.name);
            assert!(param.default.is_some(), "{} {}", template.name, param.name);
        }
    }
}

#[test]
fn the_book_has_the_library() {
    let page = fs::read_to_string("book/src/library.md").unwrap();
    let (_, reference) = page.split_once("<!-- From stdlib/. -->\n").unwrap();
    let mut expected = String::new();
    for template in templates() {
        let name = template.name.strip_prefix("std.").unwrap();
        let doc = template.doc.replace('\n', " ");
        let _ = writeln!(expected, "\n### `{name}`\n\n{doc}\n");
        let _ = writeln!(expected, "| parameter | default | |\n|-|-|-|");
        for param in &template.params {
            let default = &param.default.as_ref().unwrap().text;
            let (name, doc) = (&param.name, param.doc.replace('\n', " "));
            let kind = match param.kind {
                "words" => "WORD…".to_owned(),
                _ => name.clone(),
            };
            let _ = writeln!(expected, "| `{kind}` | `{default}` | {doc} |");
        }
    }
    assert_eq!(reference, expected, "the page should say:\n{expected}");
}
