//! The pods of bakes, verifications and sandboxes.

use std::collections::BTreeMap;

use atelier_lang::graph::Resources;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::{Attempt, made};
use crate::backend::BackendError;
use crate::backend::kubernetes::pod::Container;
use crate::runner::protocol::{HOME, WORKSPACE};

/// Where a runner sees the volume.
const VOLUME: &str = "/atelier/volume";

/// Where it sees the volume of a parent that is copied.
const PARENT: &str = "/atelier/parent";

/// Where the checkout leaves the runner for the steps.
const PROGRAMS: &str = "/atelier/bin";

/// The runner in its own image, and its name.
const RUNNER: &str = "atelier-runner";

/// How long a pod may take to end after it was told to; the runner ends at once.
const GRACE: u32 = 5;

impl Attempt<'_> {
    /// The pod of a bake: the check-out by the runner's image, then the steps in the node's own.
    pub(in crate::backend::kubernetes) fn bake(
        &self,
        runner: &str,
        image: &str,
        caches: &[String],
        seconds: u64,
    ) -> Result<Pod, BackendError> {
        let mut mounts = vec![
            json!({ "name": "volume", "mountPath": VOLUME }),
            json!({ "name": "volume", "mountPath": HOME, "subPath": WORKSPACE }),
            json!({ "name": "programs", "mountPath": PROGRAMS, "readOnly": true }),
            json!({ "name": "tmp", "mountPath": "/tmp" }),
        ];
        let mut volumes = vec![
            claimed(&self.name),
            json!({ "name": "programs", "emptyDir": {} }),
            json!({ "name": "tmp", "emptyDir": {} }),
        ];
        for (number, path) in caches.iter().enumerate() {
            let name = format!("cache-{number}");
            let path = match path.starts_with('/') {
                true => path.clone(),
                false => format!("{HOME}/{path}"),
            };
            mounts.push(json!({ "name": name, "mountPath": path }));
            volumes.push(json!({ "name": name, "emptyDir": {} }));
        }
        let mut checkout = json!({
            "name": Container::Checkout.name(),
            "image": runner,
            "command": [RUNNER, "checkout", "--volume", VOLUME, "--copy-to", PROGRAMS],
            "stdin": true,
            "stdinOnce": true,
            "securityContext": restricted(),
            "resources": self.limits(),
            "volumeMounts": [
                { "name": "volume", "mountPath": VOLUME },
                { "name": "programs", "mountPath": PROGRAMS },
                { "name": "tmp", "mountPath": "/tmp" },
            ],
        });
        let steps = json!({
            "name": Container::Steps.name(),
            "image": image,
            "command": [
                format!("{PROGRAMS}/{RUNNER}"), "steps", "--volume", VOLUME, "--workspace", HOME,
            ],
            "workingDir": "/",
            "stdin": true,
            "stdinOnce": true,
            "securityContext": restricted(),
            "resources": self.limits(),
            "volumeMounts": mounts,
        });
        if let Some(claim) = &self.copied {
            volumes
                .push(json!({ "name": "parent", "persistentVolumeClaim": { "claimName": claim } }));
            add(&mut checkout["command"], [json!("--parent"), json!(PARENT)]);
            let mount = json!({ "name": "parent", "mountPath": PARENT, "readOnly": true });
            add(&mut checkout["volumeMounts"], [mount]);
        }
        let mut spec = self.pod(&volumes);
        spec["initContainers"] = json!([checkout]);
        spec["containers"] = json!([steps]);
        spec["activeDeadlineSeconds"] = json!(seconds);
        self.made_pod(&spec)
    }

    /// The pod that compares a clone with its manifest.
    pub(in crate::backend::kubernetes) fn verify(
        &self,
        runner: &str,
        seconds: u64,
    ) -> Result<Pod, BackendError> {
        let verify = json!({
            "name": Container::Verify.name(),
            "image": runner,
            "command": [RUNNER, "verify", "--volume", VOLUME],
            "stdin": true,
            "stdinOnce": true,
            "securityContext": restricted(),
            "resources": self.limits(),
            "volumeMounts": [
                { "name": "volume", "mountPath": VOLUME },
                { "name": "tmp", "mountPath": "/tmp" },
            ],
        });
        let volumes = [
            claimed(&self.name),
            json!({ "name": "tmp", "emptyDir": {} }),
        ];
        let mut spec = self.pod(&volumes);
        spec["containers"] = json!([verify]);
        spec["activeDeadlineSeconds"] = json!(seconds);
        self.made_pod(&spec)
    }

    /// The pod of a sandbox, which waits for commands until it is ended.
    pub(in crate::backend::kubernetes) fn sandbox(
        &self,
        image: &str,
        variables: &BTreeMap<String, String>,
    ) -> Result<Pod, BackendError> {
        // `wait` is interrupted by signals, and `sleep` as such is not, where it is the first process.
        const WAIT: &str = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done";
        let variables = variables
            .iter()
            .map(|(name, value)| json!({ "name": name, "value": literal(value) }));
        let workspace = json!({
            "name": Container::Workspace.name(),
            "image": image,
            "command": ["sh", "-c", WAIT],
            "workingDir": HOME,
            "env": variables.collect::<Vec<_>>(),
            "securityContext": restricted(),
            "resources": self.limits(),
            "volumeMounts": [
                { "name": "volume", "mountPath": HOME, "subPath": WORKSPACE },
                { "name": "tmp", "mountPath": "/tmp" },
            ],
        });
        let volumes = [
            claimed(&self.name),
            json!({ "name": "tmp", "emptyDir": {} }),
        ];
        let mut spec = self.pod(&volumes);
        spec["containers"] = json!([workspace]);
        spec["terminationGracePeriodSeconds"] = json!(1);
        self.made_pod(&spec)
    }

    /// What all pods have in common.
    fn pod(&self, volumes: &[Value]) -> Value {
        let settings = self.settings;
        let mut spec = json!({
            "restartPolicy": "Never",
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "hostname": "atelier",
            "terminationGracePeriodSeconds": GRACE,
            "securityContext": {
                "runAsUser": 1000,
                "runAsGroup": 1000,
                "runAsNonRoot": true,
                "fsGroup": 1000,
                "fsGroupChangePolicy": "OnRootMismatch",
                "seccompProfile": { "type": "RuntimeDefault" },
            },
            // A node that is gone has the work on it done elsewhere soon.
            "tolerations": [
                { "key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30 },
                { "key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30 },
            ],
            "volumes": volumes,
        });
        if let Some(class) = &settings.runtime_class {
            spec["runtimeClassName"] = json!(class);
        }
        if !settings.node_selector.is_empty() {
            spec["nodeSelector"] = json!(settings.node_selector);
        }
        if !settings.pull_secrets.is_empty() {
            let named = settings.pull_secrets.iter();
            let named = named.map(|name| json!({ "name": name }));
            spec["imagePullSecrets"] = named.collect();
        }
        if let Some(node) = &self.node {
            spec["affinity"] = json!({ "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [
                    { "matchFields": [{ "key": "metadata.name", "operator": "In", "values": [node] }] },
                ] },
            } });
        }
        spec
    }

    /// What a container gets at the most, and a sixteenth of it for sure. What it writes beside the workspace counts too: else one
    /// could fill the disk of its node.
    fn limits(&self) -> Value {
        let Resources {
            cpu, memory, disk, ..
        } = self.resources;
        json!({
            "limits": {
                "cpu": cpu.to_string(),
                "memory": memory.to_string(),
                "ephemeral-storage": disk.to_string(),
            },
            "requests": {
                "cpu": format!("{}m", u64::from(*cpu) * 1000 / 16),
                "memory": (memory / 16).to_string(),
                "ephemeral-storage": (disk / 16).to_string(),
            },
        })
    }

    fn made_pod(&self, spec: &Value) -> Result<Pod, BackendError> {
        made(json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": self.metadata(),
            "spec": spec,
        }))
    }
}

fn add(list: &mut Value, more: impl IntoIterator<Item = Value>) {
    if let Some(list) = list.as_array_mut() {
        list.extend(more);
    }
}

fn claimed(name: &str) -> Value {
    json!({ "name": "volume", "persistentVolumeClaim": { "claimName": name } })
}

/// What `restricted` wants of a container.
fn restricted() -> Value {
    json!({ "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } })
}

/// `$(NAME)` in a value would be replaced.
pub(super) fn literal(value: &str) -> String {
    value.replace("$(", "$$(")
}
