//! Snapshots compared with what they were when they were published.

use std::collections::BTreeMap;

use super::Local;
use super::store::{Layer, failed};
use super::way::Sandbox;
use super::work::{self, Job};
use crate::backend::{Backend, BackendError, Class};
use crate::node::ContentKey;

/// What became of one snapshot.
#[derive(Debug)]
pub struct Checked {
    pub key: ContentKey,
    /// What is not as it was, in words; nothing if the snapshot is whole. A damaged one satisfies its key no longer.
    pub damage: Vec<String>,
}

/// The keys that have a record in the store, damaged or not.
pub fn keys(local: &Local) -> Result<Vec<ContentKey>, BackendError> {
    let keys = local.store.keys();
    let mut keys = keys.map_err(|error| failed("read the store", &error))?;
    keys.sort();
    Ok(keys)
}

/// Compares all layers of the snapshots with their manifests; reads every file of them once.
pub async fn check(local: &Local, keys: &[ContentKey]) -> Result<Vec<Checked>, BackendError> {
    // Many snapshots share most of their layers.
    let mut known: BTreeMap<Layer, Vec<String>> = BTreeMap::new();
    let mut checked = Vec::new();
    for &key in keys {
        let mut damage = Vec::new();
        match local.store.load(key) {
            Ok(None) => continue,
            Err(cause) => damage.push(cause),
            Ok(Some(record)) => {
                refuse(local, key, record.sandbox)?;
                for layer in record.layers {
                    if !known.contains_key(&layer) {
                        known.insert(layer.clone(), verify(local, &layer).await?);
                    }
                    damage.extend(known[&layer].iter().cloned());
                }
            }
        }
        if !damage.is_empty() {
            let removed = local.store.remove(key);
            removed.map_err(|error| failed("take a damaged snapshot out", &error))?;
        }
        checked.push(Checked { key, damage });
    }
    Ok(checked)
}

/// Removes layers that no snapshot names, whatever has left them; returns how many things that were.
pub async fn tidy(local: &Local) -> Result<usize, BackendError> {
    let doubt = local.store.doubt();
    doubt.map_err(|error| failed("look for layers that nothing names", &error))?;
    local.sweep().await
}

/// Without a user namespace a user sees other owners than those that were recorded in one.
fn refuse(local: &Local, key: ContentKey, sandbox: Sandbox) -> Result<(), BackendError> {
    if !local.store.way().is_direct() || sandbox != Sandbox::Range {
        return Ok(());
    }
    let message = format!("{} was baked in {sandbox}", key.snapshot_name());
    Err(BackendError::new(Class::Denied, message).with_help("check it without --sandbox direct"))
}

async fn verify(local: &Local, layer: &Layer) -> Result<Vec<String>, BackendError> {
    let job = Job::Verify {
        layer: local.store.root().join(&layer.name),
        digest: layer.manifest.clone(),
    };
    let found: Vec<String> = work::have_done(local.store.way(), job).await?;
    Ok(found
        .into_iter()
        .map(|difference| format!("{}: {difference}", layer.name))
        .collect())
}
