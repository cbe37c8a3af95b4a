//! Chains are kept shallow: each layer makes what is looked for and not there a little slower, and the kernel takes 500.

use std::fs::File;
use std::path::PathBuf;

use super::store::{self, Below, LAYER, failed};
use super::work::{self, Described, Job};
use super::{Local, lost};
use crate::backend::BackendError;
use crate::node::ContentKey;

/// With so many layers below it, a new one is not put on top before they are made one. See the ADR on overlays.
const DEEPEST: usize = 64;

/// What a child of `parent` stands on. Too many layers are replaced by one, in which they are merged; its files are the same
/// ones by another name, so that costs folders, and no file's content.
pub(super) async fn shallow(
    local: &Local,
    parent: Option<ContentKey>,
) -> Result<Below, BackendError> {
    let below = local.below(parent)?;
    // A copy of many layers is as good as one of few.
    let is_shallow = below.layers.len() < DEEPEST || local.store.way().is_direct();
    let Some(parent) = parent.filter(|_| !is_shallow) else {
        return Ok(below);
    };
    // One at a time; who comes second finds it done.
    let lock = local.store.root().join("locks/flatten");
    let lock = tokio::task::spawn_blocking(move || {
        let lock = File::create(lock)?;
        lock.lock().map(|()| lock)
    });
    let lock = lock.await.map_err(|error| failed("wait", &error.into()))?;
    let _lock = lock.map_err(|error| failed("lock the store", &error))?;
    let below = local.below(Some(parent))?;
    if below.layers.len() < DEEPEST {
        return Ok(below);
    }
    // Holds the layers, and becomes the new one.
    let scratch = local.store.scratch(&below.layers)?;
    let root = local.store.root();
    let trees = below
        .layers
        .iter()
        .map(|layer| root.join(store::tree(&layer.name)));
    let job = Job::Merge {
        trees: trees.collect::<Vec<PathBuf>>(),
        layer: scratch.path(LAYER),
    };
    let merged: Described = work::have_done(local.store.way(), job).await?;
    let flushed = scratch.flush().await;
    flushed.map_err(|error| failed("flush a layer to disk", &error))?;
    let record = local.store.record(parent);
    let record = record.map_err(|cause| lost(parent, &cause))?;
    let snapshot = record.ok_or_else(|| lost(parent, "it is gone"))?.snapshot;
    let below = Below {
        layers: Vec::new(),
        ..below
    };
    let published = local
        .store
        .publish(&scratch, below, merged.manifest, snapshot);
    let record = published.map_err(|error| failed("replace layers by one", &error))?;
    Ok(record.into())
}
