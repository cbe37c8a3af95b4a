//! The kinds of `snapshot.storage.k8s.io`, which are not part of Kubernetes itself, with what is used of them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{ClusterResourceScope, Metadata, NamespaceResourceScope, Resource};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VolumeSnapshot {
    #[serde(default)]
    pub(super) api_version: String,
    #[serde(default)]
    pub(super) kind: String,
    pub(super) metadata: ObjectMeta,
    #[serde(default)]
    pub(super) spec: Spec,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<Status>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) volume_snapshot_class_name: Option<String>,
    pub(super) source: Source,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Source {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) persistent_volume_claim_name: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Status {
    pub(super) ready_to_use: Option<bool>,
    /// A quantity, such as `8Gi`.
    pub(super) restore_size: Option<String>,
    pub(super) bound_volume_snapshot_content_name: Option<String>,
    pub(super) error: Option<StatusError>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct StatusError {
    pub(super) message: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VolumeSnapshotClass {
    #[serde(default)]
    pub(super) api_version: String,
    #[serde(default)]
    pub(super) kind: String,
    pub(super) metadata: ObjectMeta,
    pub(super) driver: String,
    pub(super) deletion_policy: String,
}

impl VolumeSnapshot {
    pub(super) fn is_ready(&self) -> bool {
        let status = self.status.as_ref();
        status.is_some_and(|status| status.ready_to_use == Some(true))
    }

    pub(super) fn error(&self) -> Option<&str> {
        let error = self.status.as_ref()?.error.as_ref()?;
        Some(
            error
                .message
                .as_deref()
                .unwrap_or("its driver gives no reason"),
        )
    }

    pub(super) fn annotation(&self, name: &str) -> Option<&str> {
        let annotations = self.metadata.annotations.as_ref()?;
        annotations.get(name).map(String::as_str)
    }

    pub(super) fn label(&self, name: &str) -> Option<&str> {
        let labels = self.metadata.labels.as_ref()?;
        labels.get(name).map(String::as_str)
    }

    pub(super) fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    pub(super) fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }
}

impl Resource for VolumeSnapshot {
    const API_VERSION: &'static str = "snapshot.storage.k8s.io/v1";
    const GROUP: &'static str = "snapshot.storage.k8s.io";
    const KIND: &'static str = "VolumeSnapshot";
    const VERSION: &'static str = "v1";
    const URL_PATH_SEGMENT: &'static str = "volumesnapshots";
    type Scope = NamespaceResourceScope;
}

impl Metadata for VolumeSnapshot {
    type Ty = ObjectMeta;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl Resource for VolumeSnapshotClass {
    const API_VERSION: &'static str = "snapshot.storage.k8s.io/v1";
    const GROUP: &'static str = "snapshot.storage.k8s.io";
    const KIND: &'static str = "VolumeSnapshotClass";
    const VERSION: &'static str = "v1";
    const URL_PATH_SEGMENT: &'static str = "volumesnapshotclasses";
    type Scope = ClusterResourceScope;
}

impl Metadata for VolumeSnapshotClass {
    type Ty = ObjectMeta;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
