//! Sandboxes: a claim that is filled from a snapshot, and a pod that waits for commands. One that is kept is found again by
//! its claim, which has its writes; one that is not is owned by a lease, which its caller renews.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::api::{DeleteParams, PropagationPolicy};
use serde::{Deserialize, Serialize};

use super::Kubernetes;
use super::cluster::{BRIEF, Cluster, PATIENT};
use super::names::{self, KEY_HEX, Role, SANDBOX};
use super::pod::{Container, is_running};
use super::watch::Watch;
use crate::backend::{BackendError, Class, Sandbox, SandboxId, SandboxState, is_sandbox_name};
use crate::node::ContentKey;

mod boot;

pub(super) use boot::boot;

/// How long the end of a sandbox is waited for.
const FAREWELL: Duration = Duration::from_secs(30);

/// What a claim tells of its sandbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct About {
    /// `None` for one that ends with who booted it.
    name: Option<String>,
    node: String,
    created: String,
}

/// A sandbox that this value has booted and that ends with it.
pub(super) struct Booted {
    /// Of the claim and of the pod.
    pub(super) object: String,
    pub(super) lease: String,
}

/// The name of the objects of a sandbox.
pub(super) fn object(id: &SandboxId) -> String {
    match id.0.strip_prefix('/') {
        Some(nonce) => format!("sb-{nonce}"),
        // Names may have what those of objects may not.
        None => format!("sb-{}", &blake3::hash(id.0.as_bytes()).to_hex()[..16]),
    }
}

fn key_of(claim: &PersistentVolumeClaim) -> Option<ContentKey> {
    let annotations = claim.metadata.annotations.as_ref()?;
    annotations.get(KEY_HEX)?.parse().ok()
}

fn about(claim: &PersistentVolumeClaim) -> Option<About> {
    let annotations = claim.metadata.annotations.as_ref()?;
    serde_json::from_str(annotations.get(SANDBOX)?).ok()
}

/// One that is being started is there; one whose pod is gone has ended.
fn state(pod: Option<&Pod>) -> SandboxState {
    let Some(pod) = pod else {
        return SandboxState::Ended;
    };
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    let is_alive = is_running(pod, Container::Workspace) || phase == Some("Pending");
    match is_alive && pod.metadata.deletion_timestamp.is_none() {
        true => SandboxState::Running,
        false => SandboxState::Ended,
    }
}

/// Those that are kept, and those of this value; oldest first.
pub(super) async fn all(kubernetes: &Kubernetes) -> Result<Vec<Sandbox>, BackendError> {
    let cluster = kubernetes.cluster().await?;
    let labels = format!("{}={}", names::ROLE, Role::Sandbox.label());
    let claims = cluster
        .list::<PersistentVolumeClaim>(&labels, BRIEF)
        .await?;
    let mut pods = BTreeMap::new();
    cluster
        .each(&labels, BRIEF, |pod: Pod| {
            pods.insert(pod.metadata.name.clone().unwrap_or_default(), pod);
        })
        .await?;
    let own = kubernetes.sandboxes.borrow();
    let mut all: Vec<Sandbox> = claims
        .into_iter()
        .filter(|claim| claim.metadata.deletion_timestamp.is_none())
        .filter_map(|claim| {
            let (about, key) = (about(&claim)?, key_of(&claim)?);
            let object = claim.metadata.name.unwrap_or_default();
            let id = match &about.name {
                Some(name) => SandboxId(name.clone()),
                None => own
                    .iter()
                    .find(|(_, booted)| booted.object == object)?
                    .0
                    .clone(),
            };
            Some(Sandbox {
                id,
                name: about.name,
                key,
                node: about.node,
                created: about.created,
                state: state(pods.get(&object)),
                processes: None,
                log: None,
            })
        })
        .collect();
    all.sort_by(|a, b| (&a.created, &a.id).cmp(&(&b.created, &b.id)));
    Ok(all)
}

/// Ends a sandbox and forgets its writes; `false` if there is none.
pub(super) async fn destroy(kubernetes: &Kubernetes, id: &SandboxId) -> Result<bool, BackendError> {
    let cluster = kubernetes.cluster().await?;
    let object = object(id);
    let own = kubernetes.sandboxes.borrow_mut().remove(id);
    if !is_sandbox_name(&id.0) && own.is_none() {
        return Ok(false);
    }
    end_pod(cluster, &object).await?;
    let parameters = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Foreground),
        ..DeleteParams::default()
    };
    let deleted = cluster.delete::<PersistentVolumeClaim>(&object, &parameters);
    let deleted = deleted
        .await
        .map_err(|trouble| trouble.into_error("remove the sandbox"))?;
    if let Some(own) = own {
        super::lease::forget(cluster, &own.lease).await?;
    }
    let mut watch = Watch::<PersistentVolumeClaim>::of(cluster, object);
    let gone = async {
        while watch.next().await?.is_some() {}
        Ok(())
    };
    match tokio::time::timeout(FAREWELL, gone).await {
        Ok(gone) => gone.map(|()| deleted),
        Err(_) => Err(BackendError::new(
            Class::Transient,
            format!("sandbox {} does not end", id.0),
        )
        .with_help("try again in a moment")),
    }
}

/// At once: whatever is in it has no time to say goodbye.
async fn end_pod(cluster: &Cluster, object: &str) -> Result<(), BackendError> {
    let now = DeleteParams::default().grace_period(0);
    let ended = cluster.delete::<Pod>(object, &now).await;
    let was_there = ended.map_err(|trouble| trouble.into_error("end the sandbox"))?;
    if was_there {
        let mut watch = Watch::<Pod>::of(cluster, object);
        let gone = async { while let Ok(Some(_)) = watch.next().await {} };
        tokio::time::timeout(FAREWELL, gone).await.ok();
    }
    Ok(())
}

/// The pod of a sandbox that runs.
pub(super) async fn running(
    kubernetes: &Kubernetes,
    id: &SandboxId,
) -> Result<String, BackendError> {
    let cluster = kubernetes.cluster().await?;
    let object = object(id);
    let pod = cluster.get::<Pod>(&object, PATIENT).await?;
    match state(pod.as_ref()) {
        SandboxState::Running => Ok(object),
        SandboxState::Ended => Err(BackendError::new(
            Class::Lost,
            format!(
                "there is no sandbox {} that runs",
                id.0.trim_start_matches('/')
            ),
        )),
    }
}
