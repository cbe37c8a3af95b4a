//! What is created in a cluster, as data. Pure.

use atelier_lang::graph::Resources;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim};
use serde_json::{Map, Value, json};

use super::bug;
use super::names::{KEY_HEX, NONCE, OF, OWNER, ROLE, Role};
use super::settings::Settings;
use super::volume_snapshot::VolumeSnapshot;
use crate::backend::BackendError;
use crate::node::ContentKey;

mod pods;

/// What the objects of one attempt have in common.
pub(super) struct Attempt<'a> {
    pub(super) settings: &'a Settings,
    pub(super) role: Role,
    pub(super) key: ContentKey,
    /// Of the pod and of its claim.
    pub(super) name: String,
    pub(super) nonce: &'a str,
    /// The lease or the sandbox that it belongs to.
    pub(super) of: String,
    /// Owner references; an empty list for none.
    pub(super) owner: Value,
    pub(super) resources: &'a Resources,
    /// The pod has to be on this node.
    pub(super) node: Option<String>,
    /// The claim of a parent whose workspace is copied: another one, since its snapshot must not be built upon.
    pub(super) copied: Option<String>,
}

/// What a claim is filled with.
pub(super) enum Content {
    Empty,
    Snapshot { name: String, size: u64 },
}

impl Attempt<'_> {
    fn metadata(&self) -> Value {
        let mut metadata = json!({
            "name": self.name,
            "labels": { OWNER.0: OWNER.1, ROLE: self.role.label(), OF: self.of },
            "annotations": { KEY_HEX: self.key.to_hex(), NONCE: self.nonce },
        });
        if self
            .owner
            .as_array()
            .is_some_and(|owners| !owners.is_empty())
        {
            metadata["ownerReferences"] = self.owner.clone();
        }
        metadata
    }

    /// The claim that the workspace lies on.
    pub(super) fn claim(&self, content: &Content) -> Result<PersistentVolumeClaim, BackendError> {
        self.claim_of(&self.name, content)
    }

    pub(super) fn claim_of(
        &self,
        name: &str,
        content: &Content,
    ) -> Result<PersistentVolumeClaim, BackendError> {
        let size = match content {
            Content::Empty => self.resources.disk,
            Content::Snapshot { size, .. } => self.resources.disk.max(*size),
        };
        let mut spec = json!({
            "accessModes": ["ReadWriteOnce"],
            "resources": { "requests": { "storage": size.to_string() } },
        });
        if let Some(class) = &self.settings.storage_class {
            spec["storageClassName"] = json!(class);
        }
        if let Content::Snapshot { name, .. } = content {
            spec["dataSource"] = json!({
                "apiGroup": "snapshot.storage.k8s.io",
                "kind": "VolumeSnapshot",
                "name": name,
            });
        }
        let mut metadata = self.metadata();
        metadata["name"] = json!(name);
        made(json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": metadata,
            "spec": spec,
        }))
    }

    /// The snapshot of the attempt's claim. It has no label of a key: nobody finds it yet.
    pub(super) fn snapshot(&self, name: &str) -> Result<VolumeSnapshot, BackendError> {
        let mut spec = json!({ "source": { "persistentVolumeClaimName": self.name } });
        if let Some(class) = &self.settings.snapshot_class {
            spec["volumeSnapshotClassName"] = json!(class);
        }
        let mut metadata = self.metadata();
        metadata["name"] = json!(name);
        metadata["labels"][ROLE] = json!(Role::Snapshot.label());
        // It outlives the lease.
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.remove("ownerReferences");
        }
        made(json!({
            "apiVersion": "snapshot.storage.k8s.io/v1",
            "kind": "VolumeSnapshot",
            "metadata": metadata,
            "spec": spec,
        }))
    }
}

/// A part of a snapshot's preimage, which ends with the snapshot.
pub(super) fn part(
    snapshot: &VolumeSnapshot,
    number: usize,
    content: &str,
) -> Result<ConfigMap, BackendError> {
    let labels = snapshot.metadata.labels.clone().unwrap_or_default();
    let mut kept: Map<String, Value> = Map::new();
    for name in [OWNER.0, OF] {
        if let Some(value) = labels.get(name) {
            kept.insert(name.to_owned(), json!(value));
        }
    }
    made(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": part_name(snapshot, number),
            "labels": kept,
            "annotations": { NONCE: snapshot.annotation(NONCE) },
            "ownerReferences": [{
                "apiVersion": "snapshot.storage.k8s.io/v1",
                "kind": "VolumeSnapshot",
                "name": snapshot.name(),
                "uid": snapshot.uid(),
            }],
        },
        "data": { "preimage": content },
    }))
}

/// Parts of an older snapshot of the same name may still be there.
pub(super) fn part_name(snapshot: &VolumeSnapshot, number: usize) -> String {
    let nonce = snapshot.annotation(NONCE).unwrap_or_default();
    format!("{}-{nonce}-{number}", snapshot.name())
}

fn made<T: serde::de::DeserializeOwned>(object: Value) -> Result<T, BackendError> {
    serde_json::from_value(object).map_err(|error| bug(&error))
}

/// A size as Kubernetes writes it; `None` for what is none.
pub(super) fn bytes(quantity: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 10] = [
        ("Ki", 1 << 10),
        ("Mi", 1 << 20),
        ("Gi", 1 << 30),
        ("Ti", 1 << 40),
        ("Pi", 1 << 50),
        ("k", 1000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
        ("T", 1_000_000_000_000),
        ("P", 1_000_000_000_000_000),
    ];
    let unit = UNITS
        .into_iter()
        .find_map(|(unit, size)| Some((quantity.strip_suffix(unit)?, size)));
    let (digits, size) = unit.unwrap_or((quantity, 1));
    digits.parse::<u64>().ok()?.checked_mul(size)
}

#[cfg(test)]
mod tests;
