//! Which classes of storage and of snapshots go together.

use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, ListParams};

use crate::backend::kubernetes::cluster::{BRIEF, Cluster};
use crate::backend::kubernetes::volume_snapshot::VolumeSnapshotClass;
use crate::backend::kubernetes::{Kubernetes, Settings};
use crate::backend::local::doctor::{Check, Finding};

/// The class of volumes, and a class of snapshots of the same driver.
pub(super) async fn classes(kubernetes: &Kubernetes, cluster: &Cluster) -> Check {
    let storage: Api<StorageClass> = Api::all(cluster.client.clone());
    let snapshots: Api<VolumeSnapshotClass> = Api::all(cluster.client.clone());
    let all = ListParams::default();
    let storage = cluster.read("list storage classes", BRIEF, async || {
        storage.list(&all).await
    });
    let snapshots = cluster.read("list snapshot classes", BRIEF, async || {
        snapshots.list(&all).await
    });
    let (storage, snapshots) = match (storage.await, snapshots.await) {
        (Ok(storage), Ok(snapshots)) => (storage.items, snapshots.items),
        (Err(error), _) | (_, Err(error)) => {
            return Check::new("classes", Finding::Limited, error.message)
                .with_help("bind the role atelier-doctor, or see for yourself: kubectl get storageclass,volumesnapshotclass");
        }
    };
    match pair(kubernetes.settings(), &storage, &snapshots) {
        Ok(detail) => Check::new("classes", Finding::Good, detail),
        Err((what, help)) => Check::new("classes", Finding::Missing, what).with_help(help),
    }
}

/// The two classes in words; or what is missing, and what to do.
fn pair(
    settings: &Settings,
    storage: &[StorageClass],
    snapshots: &[VolumeSnapshotClass],
) -> Result<String, (String, &'static str)> {
    const DEFAULT: &str = "storageclass.kubernetes.io/is-default-class";
    const DEFAULT_SNAPSHOTS: &str = "snapshot.storage.kubernetes.io/is-default-class";
    let class = storage.iter().find(|class| match &settings.storage_class {
        Some(name) => class.metadata.name.as_ref() == Some(name),
        None => is_default(&class.metadata, DEFAULT),
    });
    let class = class.ok_or_else(|| {
        let there = names(storage.iter().map(|class| &class.metadata));
        (
            format!("no such storage class; there are: {there}"),
            "name one whose driver makes snapshots: kubernetes { storage-class NAME; }",
        )
    })?;
    let driver = &class.provisioner;
    let of_driver = snapshots.iter().filter(|class| &class.driver == driver);
    let chosen: Vec<_> = of_driver
        .filter(|class| match &settings.snapshot_class {
            Some(name) => class.metadata.name.as_ref() == Some(name),
            None => is_default(&class.metadata, DEFAULT_SNAPSHOTS),
        })
        .collect();
    let there = || names(snapshots.iter().map(|class| &class.metadata));
    let [snapshot] = chosen.as_slice() else {
        let which = match (&settings.snapshot_class, chosen.len()) {
            (Some(name), _) => format!("no snapshot class {name} of the driver {driver}"),
            (None, 0) => format!("no default snapshot class of the driver {driver}"),
            (None, _) => format!("several default snapshot classes of the driver {driver}"),
        };
        return Err((
            format!("{which}; there are: {}", there()),
            "make one, and name it: kubernetes { snapshot-class NAME; }",
        ));
    };
    let name = |metadata: &ObjectMeta| metadata.name.clone().unwrap_or_default();
    Ok(format!(
        "{} and {} of {driver}",
        name(&class.metadata),
        name(&snapshot.metadata)
    ))
}

fn is_default(metadata: &ObjectMeta, annotation: &str) -> bool {
    let annotations = metadata.annotations.as_ref();
    let value = annotations.and_then(|all| all.get(annotation));
    value.is_some_and(|value| value == "true")
}

fn names<'a>(all: impl Iterator<Item = &'a ObjectMeta>) -> String {
    let names: Vec<&str> = all.filter_map(|one| one.name.as_deref()).collect();
    names.join(", ")
}
