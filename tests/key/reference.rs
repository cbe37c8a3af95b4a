//! The command `key` agrees with the independent reference on generated nodes.

use std::fs;
use std::path::Path;
use std::process::Command;

use atelier::node::{
    Kind, ObjectId, ResolvedNode, ResolvedRepo, ResolvedStep, Shell, Source, User,
};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

use crate::nodes::{any_node, base, entry, manifests, only};
use crate::python::{python, reference_keys};

/// A node in the format that both read.
fn to_json(node: &ResolvedNode) -> Value {
    let source = match &node.source {
        Source::Image { digest, platform } => {
            json!({"digest": digest.to_string(), "platform": platform})
        }
        Source::Parent(key) => json!({"parent": key.to_hex()}),
    };
    let kind = match node.kind {
        Kind::Prebuild => "prebuild",
        Kind::Toolchain => "toolchain",
    };
    let file = |(path, file): (&String, &atelier::node::ResolvedFile)| json!({"path": path, "mode": file.mode, "blake3": hex::encode(file.content)});
    json!({
        "kind": kind,
        "from": source,
        "repos": node.repos.iter().map(|(path, repo)| repo_json(path, repo)).collect::<Vec<_>>(),
        "files": node.files.iter().map(file).collect::<Vec<_>>(),
        "env": node.env,
        "path": node.path,
        "steps": node.steps.iter().map(step_json).collect::<Vec<_>>(),
        "needs": node.needs.iter().map(|(mount, key)| json!([mount, key.to_hex()])).collect::<Vec<_>>(),
        "provides": node.provides,
    })
}

fn repo_json(path: &str, repo: &ResolvedRepo) -> Value {
    match repo {
        ResolvedRepo::Commit {
            url,
            reference,
            commit,
            depth,
            submodules,
            lfs,
        } => json!({
            "url": url, "path": path, "ref": reference, "commit": commit.to_string(),
            "depth": depth, "submodules": submodules, "lfs": lfs,
        }),
        ResolvedRepo::Only {
            format: _,
            entries,
            submodules,
            lfs,
        } => {
            let id =
                |id: &Option<ObjectId>| id.as_ref().map(ToString::to_string).unwrap_or_default();
            let entry = |entry: &atelier::node::TreeEntry| {
                json!([entry.path, entry.mode, id(&entry.object)])
            };
            let only: Vec<Value> = entries.iter().map(entry).collect();
            json!({"url": "", "path": path, "only": only, "submodules": submodules, "lfs": lfs})
        }
    }
}

/// Leaves defaults out, as people do.
fn step_json(step: &ResolvedStep) -> Value {
    let mut written = Map::from_iter([("run".to_owned(), json!(step.command))]);
    if !step.folder.is_empty() {
        written.insert("in".to_owned(), json!(step.folder));
    }
    if step.user == User::Root {
        written.insert("as".to_owned(), json!("root"));
    }
    if step.shell == Shell::Sh {
        written.insert("shell".to_owned(), json!("sh"));
    }
    Value::Object(written)
}

fn atelier_key(file: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_atelier"))
        .arg("key")
        .arg(file)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}

#[test]
fn the_command_agrees_with_the_reference_on_generated_nodes() {
    let mut runner = TestRunner::deterministic();
    let strategy = any_node();
    let generated = (0..300).map(|_| strategy.new_tree(&mut runner).unwrap().current());
    let nodes: Vec<ResolvedNode> = [
        base(),
        only(manifests()),
        only([entry("a", "100644", None)]),
    ]
    .into_iter()
    .chain(generated)
    .collect();
    let texts: Vec<String> = nodes.iter().map(|node| to_json(node).to_string()).collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("node.json");
    for ((node, text), expected) in nodes.iter().zip(&texts).zip(reference_keys(&texts)) {
        fs::write(&file, text).unwrap();
        assert_eq!(atelier_key(&file), expected, "{text}");
        assert_eq!(atelier::key::key(node).to_hex(), expected, "{text}");
    }
}

#[test]
fn the_reference_is_a_program_that_agrees_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("node.json");
    fs::write(&file, to_json(&base()).to_string()).unwrap();
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/key.py");
    let output = Command::new(python())
        .arg(reference)
        .arg(&file)
        .output()
        .unwrap();
    assert!(output.status.success());
    assert_eq!(
        String::from_utf8(output.stdout).unwrap().trim_end(),
        atelier_key(&file)
    );
}

#[test]
fn the_reference_holds_its_own_table() {
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/key.py");
    let output = Command::new(python()).arg(reference).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("all cases hold\n"));
}

#[test]
fn every_spelling_of_a_url_is_normalised_like_the_reference_does() {
    let urls = [
        "git@git.acme.dev:core/api.git",
        "git.acme.dev:core/api",
        "SSH://git@git.acme.dev/core/api.git/",
        "https://git.acme.dev:8443/core/api.git/",
        "https://GitHub.com:443/frak-id/wallet/",
        "http://127.0.0.1:3000/a/b.git",
        "github.com/frak-id/wallet",
        "ssh://git@github.com:22/frak-id/wallet.git",
    ];
    let node = |url: &str| {
        let repo = json!({"url": url, "ref": "", "commit": "1".repeat(40)});
        json!({"from": {"parent": "2".repeat(64)}, "repos": [repo]}).to_string()
    };
    let texts: Vec<String> = urls.iter().map(|url| node(url)).collect();
    for (text, expected) in texts.iter().zip(reference_keys(&texts)) {
        let node = atelier::key::json::read(text).unwrap();
        assert_eq!(atelier::key::key(&node).to_hex(), expected, "{text}");
    }
}

#[test]
fn a_node_with_an_unknown_field_or_a_bad_url_is_refused() {
    let refused = [
        r#"{"from": {"parent": "2"}}"#.to_owned(),
        json!({"from": {"parent": "2".repeat(64)}, "step": []}).to_string(),
        json!({"from": {"parent": "2".repeat(64)}, "repos": [{"url": "https://t@github.com/a/b", "ref": "", "commit": "1".repeat(40)}]}).to_string(),
        json!({"from": {"parent": "2".repeat(64)}, "files": [{"path": "a", "text": "x", "blake3": "0".repeat(64)}]}).to_string(),
        json!({"from": {"parent": "2".repeat(64)}, "needs": [["/a", "1".repeat(64)], ["/a", "2".repeat(64)]]}).to_string(),
    ];
    for text in refused {
        assert!(atelier::key::json::read(&text).is_err(), "{text}");
    }
}
