//! Manifests as a whole: whoever applies them relies on every word.

use std::collections::BTreeMap;
use std::time::Duration;

use atelier_lang::graph::Resources;
use insta::assert_snapshot;
use serde_json::json;

use super::{Attempt, Content, Form, Role, manifests};
use crate::backend::kubernetes::settings::Settings;
use crate::node::ContentKey;

const RESOURCES: Resources = Resources {
    cpu: 2,
    memory: 4 << 30,
    disk: 20 << 30,
    timeout: Duration::from_hours(1),
};

fn emitted(settings: &Settings, node: Option<&str>, form: Form) -> serde_json::Value {
    let attempt = Attempt {
        settings,
        role: Role::Sandbox,
        key: ContentKey([0xab; 32]),
        name: "sb-abababababab".to_owned(),
        nonce: "",
        of: "sb-abababababab".to_owned(),
        owner: json!([]),
        resources: &RESOURCES,
        node: node.map(str::to_owned),
        copied: None,
    };
    let variables = vec![("COLOUR".to_owned(), "blue $(X)".to_owned())];
    let content = Content::Snapshot {
        name: "snap-abababababab".to_owned(),
        size: 30 << 30,
    };
    manifests(&attempt, "r/base@sha256:2", variables, &content, form).unwrap()
}

fn pretty(value: &serde_json::Value) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

#[test]
fn a_claim_and_a_pod() {
    let settings = Settings {
        storage_class: Some("fast".to_owned()),
        runtime_class: Some("kata".to_owned()),
        node_selector: BTreeMap::from([("pool".to_owned(), "agents".to_owned())]),
        pull_secrets: vec!["ghcr".to_owned()],
        ..Settings::default()
    };
    assert_snapshot!(
        "manifest",
        pretty(&emitted(&settings, None, Form::Manifest))
    );
}

#[test]
fn a_template_and_a_pool_of_agent_sandbox() {
    let emitted = emitted(&Settings::default(), None, Form::AgentSandbox);
    assert_snapshot!("agent_sandbox", pretty(&emitted));
}

/// behaviours 1.17: in either form it goes where the snapshot is.
#[test]
fn what_is_on_one_node_alone_stays_there() {
    let settings = Settings {
        node_local: true,
        ..Settings::default()
    };
    let manifest = emitted(&settings, Some("node-7"), Form::Manifest);
    let template = emitted(&settings, Some("node-7"), Form::AgentSandbox);
    let pods = [
        &manifest["items"][1]["spec"],
        &template["items"][0]["spec"]["podTemplate"]["spec"],
    ];
    for pod in pods {
        let terms = &pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            ["nodeSelectorTerms"];
        let fields = json!([{ "key": "metadata.name", "operator": "In", "values": ["node-7"] }]);
        assert_eq!(terms, &json!([{ "matchFields": fields }]), "{pod}");
    }
}
