//! Snapshots of the store by the beginning of their keys.

use std::collections::BTreeMap;

use super::failure::Failure;
use super::log::key_prefix;
use crate::backend::{Backend, Presence, Snapshot};
use crate::key;
use crate::node::{ContentKey, ResolvedNode};

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

/// The same with what they were made of: a list of many may leave it out.
pub(super) async fn whole(
    backend: &impl Backend,
    snapshots: &[&Snapshot],
) -> Result<Vec<Snapshot>, Failure> {
    let keys: Vec<ContentKey> = snapshots.iter().map(|snapshot| snapshot.key).collect();
    let bare = snapshots
        .iter()
        .any(|snapshot| snapshot.preimage.is_empty());
    let found = match bare {
        true => backend.probe(&keys).await?,
        false => Vec::new(),
    };
    let found = found.into_iter().map(Some).chain(std::iter::repeat(None));
    let whole = snapshots.iter().zip(found);
    let whole = whole.map(|(&listed, found)| match found {
        Some(Presence::Present(snapshot)) => *snapshot,
        _ => listed.clone(),
    });
    Ok(whole.collect())
}

/// What a snapshot was made of.
pub(super) fn node(snapshot: &Snapshot) -> Result<ResolvedNode, Failure> {
    key::decode(&snapshot.preimage).map_err(|error| {
        let name = snapshot.key.snapshot_name();
        Failure::usage(
            format!("{name} cannot be compared with: {error}"),
            "it was keyed by another version of atelier: name another snapshot",
        )
    })
}

/// Those that this version can compare, with what they were made of.
pub(super) fn readable(snapshots: Vec<Snapshot>) -> Vec<(Snapshot, ResolvedNode)> {
    let snapshots = snapshots.into_iter();
    let read = |snapshot: Snapshot| Some((key::decode(&snapshot.preimage).ok()?, snapshot));
    snapshots
        .filter_map(read)
        .map(|(node, snapshot)| (snapshot, node))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{chain, find};
    use crate::backend::{Durations, Snapshot};
    use crate::node::ContentKey;

    fn snapshot(byte: u8, last: u8, parent: Option<ContentKey>) -> Snapshot {
        let mut key = [byte; 32];
        key[31] = last;
        Snapshot {
            key: ContentKey(key),
            preimage: Vec::new(),
            node: "app".to_owned(),
            parent,
            created: String::new(),
            durations: Durations::default(),
            bytes: 0,
            commits: BTreeMap::new(),
            verified: Vec::new(),
        }
    }

    #[test]
    fn the_beginning_of_a_key_names_one_snapshot_or_is_refused() {
        let (a, b) = (snapshot(0xaa, 1, None), snapshot(0xaa, 2, None));
        let other = snapshot(0xbb, 1, None);
        let all = [a.clone(), b.clone(), other.clone()];
        let found = |word: &str| find(&all, word).map(|snapshot| snapshot.key);
        assert_eq!(found("bbbbbb").unwrap(), other.key);
        assert_eq!(found(&other.key.snapshot_name()).unwrap(), other.key);
        assert_eq!(found(&a.key.to_hex()).unwrap(), a.key);
        let said = |word: &str| format!("{:?}", found(word).unwrap_err());
        assert!(said("snap-aaaaaaaaaaaa").contains("several snapshots begin with"));
        assert!(said("cccccc").contains("there is no snapshot `cccccc`"));
        assert!(said(&(b.key.to_hex() + "00")).contains("there is no snapshot"));
    }

    #[test]
    fn a_chain_ends_where_the_store_does() {
        let base = snapshot(1, 1, Some(ContentKey([9; 32])));
        let child = snapshot(2, 2, Some(base.key));
        let all = [child.clone(), base.clone()];
        let keys = |chain: Vec<&Snapshot>| -> Vec<ContentKey> {
            chain.into_iter().map(|snapshot| snapshot.key).collect()
        };
        assert_eq!(keys(chain(&all, &all[0])), [child.key, base.key]);
        assert_eq!(keys(chain(&all, &all[1])), [base.key]);
    }
}
