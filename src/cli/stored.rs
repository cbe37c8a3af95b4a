//! Snapshots of the store by the beginning of their keys.

use std::collections::BTreeMap;

use super::failure::Failure;
use super::log::key_prefix;
use crate::backend::Snapshot;
use crate::node::ContentKey;

/// The one snapshot whose key begins as `word` says.
pub(super) fn find<'a>(snapshots: &'a [Snapshot], word: &str) -> Result<&'a Snapshot, Failure> {
    let found = matching(snapshots, word);
    match found.as_slice() {
        [snapshot] => Ok(snapshot),
        [] => Err(Failure::usage(
            format!("there is no snapshot `{word}`"),
            "see `atelier snapshots`",
        )),
        _ => Err(Failure::usage(
            format!("several snapshots begin with `{word}`"),
            "give more digits",
        )),
    }
}

/// All whose keys begin so.
pub(super) fn matching<'a>(snapshots: &'a [Snapshot], word: &str) -> Vec<&'a Snapshot> {
    let prefix = key_prefix(word).unwrap_or(word);
    let snapshots = snapshots.iter();
    snapshots
        .filter(|snapshot| snapshot.key.to_hex().starts_with(prefix))
        .collect()
}

/// A snapshot and those that it stands on, itself first, as far as they are there.
pub(super) fn chain<'a>(snapshots: &'a [Snapshot], first: &'a Snapshot) -> Vec<&'a Snapshot> {
    let by_key: BTreeMap<ContentKey, &Snapshot> = snapshots
        .iter()
        .map(|snapshot| (snapshot.key, snapshot))
        .collect();
    let parent = |snapshot: &&'a Snapshot| by_key.get(&snapshot.parent?).copied();
    std::iter::successors(Some(first), parent).collect()
}
