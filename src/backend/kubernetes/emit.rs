//! What would be created for a sandbox, as manifests for others to apply. JSON, which `kubectl apply -f -` takes as it is.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::bake::content_of;
use super::names::Role;
use super::objects::{Attempt, Content};
use super::{Kubernetes, bug, image_of};
use crate::backend::local::environment;
use crate::backend::{BackendError, Environment, SandboxRequest};

/// For whom the manifests are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A claim and a pod.
    Manifest,
    /// A template and a warm pool of kubernetes-sigs/agent-sandbox.
    AgentSandbox,
}

/// Of a snapshot that is there, or of the one that will be: its name is known before.
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
    let content = match kubernetes.find(request.key).await?.0 {
        Some(snapshot) => content_of(&snapshot),
        None => Content::Snapshot {
            name: request.key.snapshot_name(),
            size: 0,
        },
    };
    let name = format!("sb-{}", super::names::short(request.key));
    let attempt = Attempt {
        settings: kubernetes.settings(),
        role: Role::Sandbox,
        key: request.key,
        name: name.clone(),
        nonce: "manifest",
        of: name.clone(),
        owner: json!([]),
        resources: &request.resources,
        node: None,
        copied: None,
    };
    let pod = attempt.sandbox(&image, &variables.into_iter().collect())?;
    let claim = attempt.claim(&content)?;
    let as_json = |value: Result<Value, serde_json::Error>| value.map_err(|error| bug(&error));
    let pod = as_json(serde_json::to_value(&pod))?;
    let claim = as_json(serde_json::to_value(&claim))?;
    Ok(match form {
        Form::Manifest => list(&[claim, pod]),
        Form::AgentSandbox => agent_sandbox(&name, &claim, pod),
    })
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
mod tests {
    use super::agent_sandbox;
    use serde_json::json;

    #[test]
    fn a_template_has_the_claim_in_place_of_the_volume() {
        let pod = json!({
            "metadata": { "labels": { "a": "b" } },
            "spec": { "volumes": [{ "name": "volume" }, { "name": "tmp" }] },
        });
        let claim = json!({ "spec": { "dataSource": { "name": "snap-1" } } });
        let both = agent_sandbox("sb-1", &claim, pod);
        let spec = &both["items"][0]["spec"];
        assert_eq!(
            spec["podTemplate"]["spec"]["volumes"],
            json!([{ "name": "tmp" }])
        );
        assert_eq!(
            spec["volumeClaimTemplates"][0]["spec"]["dataSource"]["name"],
            "snap-1"
        );
        assert_eq!(
            both["items"][1]["spec"]["sandboxTemplateRef"]["name"],
            "sb-1"
        );
    }
}
