//! `VolumeSnapshots`: found by key, cut, waited for, published by one guarded change, and discarded.

use std::time::Duration;

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::api::{DeleteParams, Preconditions};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::cluster::{Cluster, PATIENT};
use super::failure::Trouble;
use super::lease::Lock;
use super::names::{self, KEY, KEY_HEX, LOST, NONCE, OF, OWNER, RECORD, ROLE, Role};
use super::record::{self, Record};
use super::volume_snapshot::VolumeSnapshot;
use crate::backend::{BackendError, Class, Presence, Snapshot};
use crate::node::ContentKey;

mod cut;

pub(super) use cut::{Cut, Uncut, cut};

/// So many keys are asked for at a time: an address holds some 8 KiB.
const KEYS: usize = 100;

/// What a probe found: the newest published snapshot of each key.
pub(super) async fn find(
    cluster: &Cluster,
    keys: &[ContentKey],
    patience: Duration,
) -> Result<Vec<(ContentKey, VolumeSnapshot)>, BackendError> {
    let mut found = Vec::new();
    for keys in keys.chunks(KEYS) {
        let labels: Vec<String> = keys.iter().map(|&key| names::label(key)).collect();
        let selector = format!("{KEY} in ({})", labels.join(","));
        let all = cluster.list::<VolumeSnapshot>(&selector, patience).await?;
        let alive = all
            .into_iter()
            .filter(|snapshot| snapshot.metadata.deletion_timestamp.is_none());
        found.extend(alive.filter_map(|snapshot| {
            let key = record::key_of(&snapshot)?;
            Some((key, snapshot))
        }));
    }
    found.sort_by_cached_key(|(key, snapshot)| (*key, worth(snapshot)));
    found.reverse();
    found.dedup_by_key(|(key, _)| *key);
    Ok(found)
}

/// Of several of one key: one that is whole before one that is not, then the newest by the server's clock.
fn worth(snapshot: &VolumeSnapshot) -> impl Ord + use<> {
    let record = record::record_of(snapshot);
    let is_whole = snapshot.is_ready() && snapshot.error().is_none() && record.is_some();
    let made = snapshot.metadata.creation_timestamp.as_ref();
    let made = made.map(|made| made.0.as_nanosecond());
    (is_whole, made, record.map(|record| record.created))
}

pub(super) async fn presence(
    cluster: &Cluster,
    key: ContentKey,
    found: Option<&VolumeSnapshot>,
) -> Result<Presence, BackendError> {
    let Some(found) = found else {
        return Ok(Presence::Absent);
    };
    if let Some(error) = found.error() {
        return Ok(Presence::Lost(error.to_owned()));
    }
    if !found.is_ready() {
        return Ok(Presence::Lost("its driver has not got it ready".to_owned()));
    }
    let Some(mut snapshot) = record::read(found, 0) else {
        return Ok(Presence::Lost("its record cannot be read".to_owned()));
    };
    match record::preimage(cluster, found, key).await? {
        Some(preimage) => snapshot.preimage = preimage,
        None => return Ok(Presence::Lost("its preimage is gone".to_owned())),
    }
    Ok(Presence::Present(Box::new(snapshot)))
}

/// Publishes what was cut: the label that makes it found, and its record, in one change that only this attempt's own
/// snapshot takes.
pub(super) async fn publish(
    cluster: &Cluster,
    lock: &Lock<'_>,
    cut: &Cut,
    key: ContentKey,
    preimage: &[u8],
    record: &Record,
    node: Option<&str>,
) -> Result<Snapshot, BackendError> {
    let mut annotations = record::keep_preimage(cluster, &cut.snapshot, preimage).await?;
    let text = serde_json::to_string(record).map_err(|error| super::bug(&error))?;
    annotations.insert(RECORD, text);
    if let Some(node) = node {
        annotations.insert(names::NODE, node.to_owned());
    }
    let mut operations = guards(&cut.snapshot, &lock.nonce);
    operations.push(add("labels", KEY, &names::label(key)));
    let annotations = annotations.iter();
    operations.extend(annotations.map(|(name, value)| add("annotations", name, value)));
    let operations = Value::Array(operations);
    let name = cut.snapshot.name();
    let began = Instant::now();
    let mut refused = 0;
    lock.confirm().await?;
    let published = loop {
        match cluster.patch::<VolumeSnapshot>(name, &operations).await {
            Ok(published) => break published,
            // To say the same again changes nothing.
            Err(Trouble::Unknown(_)) if began.elapsed() < PATIENT => {
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
            // The controller may have written to it at the same moment; whoever has taken it over has done so for good.
            Err(Trouble::Conflict) if refused < 2 => {
                refused += 1;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            // Whoever has taken the lock over has deleted it.
            Err(Trouble::Missing) => {
                return Err(Trouble::Conflict.into_error("publish the snapshot"));
            }
            Err(trouble) => return Err(trouble.into_error("publish the snapshot")),
        }
    };
    // What is being deleted can still be changed, as long as something keeps it.
    if published.metadata.deletion_timestamp.is_some() {
        return Err(Trouble::Conflict.into_error("publish the snapshot"));
    }
    let snapshot = record::read(&published, 0);
    let mut snapshot = snapshot.ok_or_else(|| super::bug(&"a record that cannot be read"))?;
    snapshot.preimage = preimage.to_vec();
    Ok(snapshot)
}

fn guards(snapshot: &VolumeSnapshot, nonce: &str) -> Vec<Value> {
    let nonce_path = format!("/metadata/annotations/{}", escaped(NONCE));
    vec![
        json!({ "op": "test", "path": "/metadata/uid", "value": snapshot.uid() }),
        json!({ "op": "test", "path": nonce_path, "value": nonce }),
    ]
}

fn add(field: &str, name: &str, value: &str) -> Value {
    let path = format!("/metadata/{field}/{}", escaped(name));
    json!({ "op": "add", "path": path, "value": value })
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Which attempts' snapshots are meant.
#[derive(Clone, Copy)]
pub(super) enum Whose<'a> {
    All,
    AllBut(&'a str),
    Only(&'a str),
}

impl Whose<'_> {
    pub(super) fn is_of(self, nonce: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::AllBut(own) => nonce != Some(own),
            Self::Only(own) => nonce == Some(own),
        }
    }
}

/// So often it is looked for unpublished snapshots that have changed before they were deleted: the controller writes to them, or
/// they have been published meanwhile.
const LOOKS: u32 = 5;

/// Deletes snapshots of a bake that were never published. They go before the claims that they are of.
pub(super) async fn discard(
    cluster: &Cluster,
    key: ContentKey,
    whose: Whose<'_>,
) -> Result<(), BackendError> {
    let selector = format!(
        "{OF}={},{ROLE}={},!{KEY}",
        names::lease(key),
        Role::Snapshot.label()
    );
    let is_meant = |snapshot: &VolumeSnapshot| {
        // Another key may begin like this one.
        let is_of_key = snapshot.annotation(KEY_HEX) == Some(&key.to_hex());
        let is_meant = is_of_key && whose.is_of(snapshot.annotation(NONCE));
        is_meant && snapshot.metadata.deletion_timestamp.is_none()
    };
    for _ in 0..LOOKS {
        let mut all = cluster.list::<VolumeSnapshot>(&selector, PATIENT).await?;
        all.retain(is_meant);
        let mut is_done = true;
        for snapshot in all {
            is_done &= delete_as_seen(cluster, &snapshot).await?;
        }
        if is_done {
            return Ok(());
        }
    }
    Ok(())
}

/// Deletes exactly this one, once no claim is waiting to be filled from it: neither would ever be done.
pub(super) async fn delete(
    cluster: &Cluster,
    snapshot: &VolumeSnapshot,
) -> Result<bool, BackendError> {
    delete_version(cluster, snapshot, None).await
}

/// The same, unless it has changed since it was read.
pub(super) async fn delete_as_seen(
    cluster: &Cluster,
    snapshot: &VolumeSnapshot,
) -> Result<bool, BackendError> {
    let version = snapshot.metadata.resource_version.clone();
    delete_version(cluster, snapshot, version).await
}

async fn delete_version(
    cluster: &Cluster,
    snapshot: &VolumeSnapshot,
    resource_version: Option<String>,
) -> Result<bool, BackendError> {
    release(cluster, snapshot.name()).await?;
    let parameters = DeleteParams {
        preconditions: Some(Preconditions {
            uid: Some(snapshot.uid().to_owned()),
            resource_version,
        }),
        ..DeleteParams::default()
    };
    match cluster
        .delete::<VolumeSnapshot>(snapshot.name(), &parameters)
        .await
    {
        Ok(deleted) => Ok(deleted),
        // Another one of this name, or it has changed.
        Err(Trouble::Conflict) => Ok(false),
        Err(trouble) => Err(trouble.into_error("delete a snapshot")),
    }
}

/// Waits for claims that are filled from a snapshot.
async fn release(cluster: &Cluster, snapshot: &str) -> Result<(), BackendError> {
    const PATIENCE: Duration = Duration::from_mins(1);
    let began = Instant::now();
    loop {
        let labels = format!("{}={}", OWNER.0, OWNER.1);
        let claims = cluster.list::<PersistentVolumeClaim>(&labels, PATIENT);
        let waits = |claim: &PersistentVolumeClaim| {
            let source = claim
                .spec
                .as_ref()
                .and_then(|spec| spec.data_source.as_ref());
            let phase = claim
                .status
                .as_ref()
                .and_then(|status| status.phase.as_deref());
            source.is_some_and(|source| source.name == snapshot)
                && phase != Some("Bound")
                && claim.metadata.deletion_timestamp.is_none()
        };
        let claims = claims.await?;
        let Some(claim) = claims.iter().find(|claim| waits(claim)) else {
            return Ok(());
        };
        if began.elapsed() > PATIENCE {
            let claim = claim.metadata.name.clone().unwrap_or_default();
            let message =
                format!("the claim {claim} is still being filled from snapshot {snapshot}");
            return Err(BackendError::new(Class::Transient, message)
                .with_help("try again when it is bound, or delete it"));
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Takes a key's label away from a snapshot whose data was found to be gone: from now on it is a miss.
pub(super) async fn disown(
    cluster: &Cluster,
    snapshot: &VolumeSnapshot,
    why: &str,
) -> Result<(), BackendError> {
    let label = format!("/metadata/labels/{}", escaped(KEY));
    let operations = json!([
        { "op": "test", "path": "/metadata/uid", "value": snapshot.uid() },
        { "op": "remove", "path": label },
        add("annotations", LOST, why),
    ]);
    match cluster
        .patch::<VolumeSnapshot>(snapshot.name(), &operations)
        .await
    {
        // Or somebody else has done so.
        Ok(_) | Err(Trouble::Missing | Trouble::Conflict) => Ok(()),
        Err(trouble) => Err(trouble.into_error("give a lost snapshot up")),
    }
}
