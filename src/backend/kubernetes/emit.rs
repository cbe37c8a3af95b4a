//! What would be created for a sandbox, as manifests for others to apply. JSON, which `kubectl apply -f -` takes as it is.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::bake::content_of;
use super::names::{NODE, NONCE, Role};
use super::objects::{Attempt, Content};
use super::{Kubernetes, bug, image_of};
use crate::backend::local::environment;
use crate::backend::{BackendError, Environment, Presence, SandboxRequest};

/// For whom the manifests are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A claim and a pod.
    Manifest,
    /// A template and a warm pool of kubernetes-sigs/agent-sandbox.
    AgentSandbox,
}

/// Of a snapshot that is there, or of the one that will be: its name is known before. Secrets are not in it.
pub async fn emit(
    kubernetes: &Kubernetes,
    request: &SandboxRequest,
    form: Form,
) -> Result<Value, BackendError> {
    let image = image_of(&request.image)?;
    let bare = Environment {
        secrets: BTreeMap::new(),
        ..request.environment.clone()
    };
    let set = kubernetes.variables(&request.image).await?;
    let variables = environment::variables(&set, &BTreeMap::new(), &bare, &BTreeMap::new());
    let (content, node) = match kubernetes.find(request.key).await? {
        (Some(snapshot), Presence::Present(_)) => (
            content_of(&snapshot),
            snapshot.annotation(NODE).map(str::to_owned),
        ),
        _ => {
            let name = request.key.snapshot_name();
            (Content::Snapshot { name, size: 0 }, None)
        }
    };
    let settings = kubernetes.settings();
    let name = format!("sb-{}", super::names::short(request.key));
    let attempt = Attempt {
        settings,
        role: Role::Sandbox,
        key: request.key,
        name: name.clone(),
        nonce: "",
        of: name,
        owner: json!([]),
        resources: &request.resources,
        node: node.filter(|_| settings.node_local),
        copied: None,
    };
    manifests(&attempt, &image, variables, &content, form)
}

fn manifests(
    attempt: &Attempt<'_>,
    image: &str,
    variables: Vec<(String, String)>,
    content: &Content,
    form: Form,
) -> Result<Value, BackendError> {
    let pod = bare(&attempt.sandbox(image, &variables.into_iter().collect())?)?;
    let claim = bare(&attempt.claim(content)?)?;
    Ok(match form {
        Form::Manifest => list(&[claim, pod]),
        Form::AgentSandbox => agent_sandbox(&attempt.name, &claim, pod),
    })
}

/// Without the mark of an attempt: whoever creates it makes none.
fn bare(object: &impl Serialize) -> Result<Value, BackendError> {
    let mut object = serde_json::to_value(object).map_err(|error| bug(&error))?;
    if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
        annotations.remove(NONCE);
    }
    Ok(object)
}

fn list(items: &[Value]) -> Value {
    json!({ "apiVersion": "v1", "kind": "List", "items": items })
}

/// Their controller makes a claim of its own for each sandbox, and its volume: under the name that the mounts have.
fn agent_sandbox(name: &str, claim: &Value, mut pod: Value) -> Value {
    const GROUP: &str = "extensions.agents.x-k8s.io/v1beta1";
    if let Some(volumes) = pod["spec"]["volumes"].as_array_mut() {
        volumes.retain(|volume| volume["name"] != "volume");
    }
    // They are started again after a restart of their node.
    pod["spec"]["restartPolicy"] = json!("Always");
    let labels = pod["metadata"]["labels"].clone();
    let template = json!({
        "apiVersion": GROUP,
        "kind": "SandboxTemplate",
        "metadata": { "name": name, "labels": labels },
        "spec": {
            "podTemplate": { "metadata": { "labels": labels }, "spec": pod["spec"] },
            "volumeClaimTemplates": [{ "metadata": { "name": "volume" }, "spec": claim["spec"] }],
        },
    });
    let pool = json!({
        "apiVersion": GROUP,
        "kind": "SandboxWarmPool",
        "metadata": { "name": name, "labels": labels },
        "spec": { "replicas": 1, "sandboxTemplateRef": { "name": name } },
    });
    list(&[template, pool])
}

#[cfg(test)]
mod tests;
