//! The keys of the examples, computed by the reference from pins that are gathered by hand.

use std::collections::BTreeMap;
use std::fs;

use atelier::world::Disk;
use atelier_lang::graph::{Base, Content, Folder, Graph, Node, RepoSource, Shell, Step, User};
use atelier_lang::source::VirtualPath;
use atelier_lang::{Inputs, evaluate};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::example::{example, file};
use crate::project::Project;
use crate::python::reference_keys;

/// What the file means, without any pin.
fn graph(project: &Project, name: &str) -> Graph {
    let path = VirtualPath::new(&file(name)).unwrap();
    let inputs = Inputs {
        std: atelier::stdlib::FILES,
        ..Inputs::new(path, platform())
    };
    evaluate(&Disk::new(&project.root), &inputs)
        .1
        .value
        .unwrap()
}

fn platform() -> String {
    let architecture = if cfg!(target_arch = "x86_64") {
        "amd64"
    } else {
        "arm64"
    };
    format!("linux/{architecture}")
}

/// The keys of all nodes, by name: the commit is git's own answer, the digest is given.
fn expected_keys(project: &Project, name: &str, digest: &str) -> BTreeMap<String, String> {
    let head = project.git(&["rev-parse", "HEAD"]);
    let graph = graph(project, name);
    let mut keys = BTreeMap::new();
    for node in &graph.nodes {
        let from = match node.base {
            Base::Image(_) => json!({"digest": digest, "platform": node.platform}),
            Base::Parent(parent) => json!({"parent": keys[&graph.node(parent).name.value]}),
        };
        let text = node_json(node, &from, &head).to_string();
        keys.insert(node.name.value.clone(), reference_keys(&[text]).remove(0));
    }
    keys
}

fn node_json(node: &Node, from: &Value, head: &str) -> Value {
    let repo = |repo: &atelier_lang::graph::Repo| {
        assert!(
            matches!(repo.source.value, RepoSource::Disk(_)),
            "an example uses its own repository"
        );
        // The repository of a test has no origin.
        json!({"url": "", "path": repo.path, "ref": "", "commit": head, "depth": repo.depth, "submodules": repo.submodules, "lfs": repo.lfs})
    };
    let placed = |file: &atelier_lang::graph::File| match &file.content {
        Content::Text(text) => {
            json!({"path": file.destination.value, "mode": file.mode, "text": text})
        }
        Content::Local(path) => panic!("{path}: no example has a local file"),
    };
    json!({
        "from": from,
        "repos": node.repos.iter().map(repo).collect::<Vec<_>>(),
        "files": node.files.iter().map(placed).collect::<Vec<_>>(),
        "env": node.env,
        "path": node.path,
        "steps": node.steps.iter().map(|step| step_json(node, step)).collect::<Vec<_>>(),
    })
}

fn step_json(node: &Node, step: &Step) -> Value {
    let folder = match &step.folder {
        Folder::Workspace(path) => path.clone(),
        Folder::Repo(index) => node.repos[*index].path.clone().unwrap(),
    };
    let user = if step.user == User::Root {
        "root"
    } else {
        "dev"
    };
    let shell = if step.shell == Shell::Sh {
        "sh"
    } else {
        "bash"
    };
    json!({"run": step.command, "in": folder, "as": user, "shell": shell})
}

fn planned_keys(project: &Project, name: &str) -> BTreeMap<String, String> {
    let ran = project.run(&["plan", "--json", &file(name)]).expect(0);
    ran.column("key").into_iter().collect()
}

/// An image layout of one empty layer; returns the digest of its manifest.
fn make_layout(project: &Project) -> String {
    let layout = project.root.join("image");
    fs::create_dir_all(layout.join("blobs/sha256")).unwrap();
    let blob = |media_type: &str, content: &[u8]| {
        let digest = hex::encode(Sha256::digest(content));
        fs::write(layout.join("blobs/sha256").join(&digest), content).unwrap();
        json!({"mediaType": media_type, "digest": format!("sha256:{digest}"), "size": content.len()})
    };
    // Two blocks of zeros are an archive of nothing.
    let empty = [0; 1024];
    let layer = blob("application/vnd.oci.image.layer.v1.tar", &empty);
    let (os, architecture) = ("linux", platform().split_off(6));
    let rootfs = json!({"type": "layers", "diff_ids": [layer["digest"]]});
    let config = json!({"os": os, "architecture": architecture, "config": {}, "rootfs": rootfs});
    let config = blob(
        "application/vnd.oci.image.config.v1+json",
        config.to_string().as_bytes(),
    );
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    let manifest =
        json!({"schemaVersion": 2, "mediaType": media_type, "config": config, "layers": [layer]});
    let manifest = blob(media_type, manifest.to_string().as_bytes());
    let index = json!({"schemaVersion": 2, "manifests": [manifest]});
    fs::write(layout.join("index.json"), index.to_string()).unwrap();
    fs::write(
        layout.join("oci-layout"),
        r#"{"imageLayoutVersion": "1.0.0"}"#,
    )
    .unwrap();
    manifest["digest"].as_str().unwrap().to_owned()
}

/// With an image layout in the place of the machine, so that its digest is known without atelier.
#[test]
fn keys_are_the_reference_s_with_the_digest_of_an_image_layout() {
    for name in ["node", "go", "chain"] {
        let project = example(name);
        let digest = make_layout(&project);
        let path = project.root.join(file(name));
        let text = fs::read_to_string(&path).unwrap();
        fs::write(
            &path,
            text.replace("from dev-base", "from \"oci:../../image\""),
        )
        .unwrap();
        project.commit("another image");
        assert_eq!(
            planned_keys(&project, name),
            expected_keys(&project, name, &digest),
            "{name}"
        );
    }
}

/// As they are: the digest of the machine is taken from a preimage, all else is gathered by hand.
#[test]
fn keys_are_the_reference_s_on_this_machine() {
    let project = example("chain");
    // A node of nothing but the machine, to read its digest from.
    project.write("bare/prebuild.kdl", "from dev-base");
    project.run(&["build", "bare/prebuild.kdl"]).expect(0);
    let bare = project
        .run(&["plan", "--json", "bare/prebuild.kdl"])
        .expect(0)
        .column("key")
        .remove(0)
        .1;
    let record = fs::read(project.store.join(format!("s/{bare}.json"))).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    let preimage = hex::decode(record["snapshot"]["preimage"].as_str().unwrap()).unwrap();
    let text = String::from_utf8_lossy(&preimage).into_owned();
    let at = text.find("sha256:").unwrap();
    let digest = &text[at..at + 71];
    for name in ["node", "go", "chain"] {
        let project = example(name);
        assert_eq!(
            planned_keys(&project, name),
            expected_keys(&project, name, digest),
            "{name}"
        );
    }
}
