//! What is created, as a whole: a change of it is a change of the goldens.

use std::collections::BTreeMap;
use std::time::Duration;

use atelier_lang::graph::Resources;
use insta::assert_snapshot;
use serde::Serialize;
use serde_json::json;

use super::pods::literal;
use super::{Attempt, Content, bytes};
use crate::backend::kubernetes::names::{self, Role};
use crate::backend::kubernetes::settings::Settings;
use crate::node::ContentKey;

const KEY: ContentKey = ContentKey([0xab; 32]);

fn settings() -> Settings {
    Settings {
        storage_class: Some("fast".to_owned()),
        snapshot_class: Some("fast-snapshots".to_owned()),
        runtime_class: Some("kata".to_owned()),
        node_selector: BTreeMap::from([("pool".to_owned(), "builds".to_owned())]),
        pull_secrets: vec!["ghcr".to_owned()],
        ..Settings::default()
    }
}

const RESOURCES: Resources = Resources {
    cpu: 2,
    memory: 4 << 30,
    disk: 20 << 30,
    timeout: Duration::from_hours(1),
};

fn attempt(settings: &Settings, role: Role) -> Attempt<'_> {
    Attempt {
        settings,
        role,
        key: KEY,
        name: names::bake(KEY, "nonce"),
        nonce: "nonce",
        of: names::lease(KEY),
        owner: json!([{ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "name": "bake-abababababab", "uid": "u" }]),
        resources: &RESOURCES,
        node: None,
        copied: None,
    }
}

fn pretty(object: &impl Serialize) -> String {
    serde_json::to_string_pretty(object).unwrap()
}

#[test]
fn a_bake() {
    let settings = settings();
    let attempt = attempt(&settings, Role::Bake);
    let caches = [".npm".to_owned(), "/var/cache/x".to_owned()];
    let pod = attempt.bake("r/runner@sha256:1", "r/base@sha256:2", &caches, 4500);
    assert_snapshot!("bake", pretty(&pod.unwrap()));
    assert_snapshot!("claim", pretty(&attempt.claim(&Content::Empty).unwrap()));
    let snapshot = attempt.snapshot("snap-abababababab").unwrap();
    assert_snapshot!("snapshot", pretty(&snapshot));
}

#[test]
fn a_child_whose_parent_is_copied() {
    let settings = settings();
    let mut attempt = attempt(&settings, Role::Bake);
    attempt.copied = Some("pb-abababababab-nonce-parent".to_owned());
    let pod = attempt.bake("r/runner@sha256:1", "r/base@sha256:2", &[], 4500);
    let spec = pod.unwrap().spec.unwrap();
    assert_snapshot!("copied_checkout", pretty(&spec.init_containers));
    assert_snapshot!("copied_volumes", pretty(&spec.volumes));
}

#[test]
fn a_child_on_the_node_of_its_parent() {
    let settings = settings();
    let mut attempt = attempt(&settings, Role::Verify);
    attempt.node = Some("node-7".to_owned());
    let content = Content::Snapshot {
        name: "snap-1".to_owned(),
        size: 30 << 30,
    };
    assert_snapshot!("filled_claim", pretty(&attempt.claim(&content).unwrap()));
    let pod = attempt.verify("r/runner@sha256:1", 4500).unwrap();
    assert_snapshot!("verify", pretty(&pod));
}

#[test]
fn a_sandbox() {
    let settings = Settings::default();
    let attempt = attempt(&settings, Role::Sandbox);
    let variables = BTreeMap::from([("A".to_owned(), "$(B) c".to_owned())]);
    let pod = attempt.sandbox("r/base@sha256:2", &variables).unwrap();
    assert_snapshot!("sandbox", pretty(&pod));
}

#[test]
fn sizes_are_read_in_either_system() {
    assert_eq!(bytes("8Gi"), Some(8 << 30));
    assert_eq!(bytes("1500M"), Some(1_500_000_000));
    assert_eq!(bytes("17"), Some(17));
    assert_eq!(bytes("many"), None);
}

#[test]
fn values_are_taken_as_they_are() {
    assert_eq!(literal("a $(HOME) $HOME"), "a $$(HOME) $HOME");
}
