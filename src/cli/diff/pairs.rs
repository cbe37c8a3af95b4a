//! Which nodes of two sides are compared.

use std::borrow::Cow;

use atelier_lang::source::Sources;

use crate::backend::Snapshot;
use crate::cli::failure::Failure;
use crate::cli::leaves::Written;
use crate::cli::stored;
use crate::explain::pair;
use crate::node::{ContentKey, ResolvedNode};
use crate::pin::PinnedNode;

/// A node of a side.
pub(super) struct Entry<'a> {
    pub name: &'a str,
    pub key: ContentKey,
    pub resolved: Cow<'a, ResolvedNode>,
    /// Where the side is a file.
    pub written: Option<Written<'a>>,
    /// Its place among the side's nodes.
    parent: Option<usize>,
}

/// The places of two nodes that are compared; one is missing where a node came or went.
pub(super) type Pair = (Option<usize>, Option<usize>);

/// The nodes of a file, parents first.
pub(super) fn of_file<'a>(nodes: &'a [PinnedNode<'a>], sources: &'a Sources) -> Vec<Entry<'a>> {
    let entry = |node: &'a PinnedNode<'a>| Entry {
        name: &node.node.name.value,
        key: node.key,
        resolved: Cow::Borrowed(&node.resolved),
        written: Some(Written { node, sources }),
        parent: node.parent,
    };
    nodes.iter().map(entry).collect()
}

/// A snapshot and its ancestors, given the other way round, parents first.
pub(super) fn of_chain(chain: &[Snapshot]) -> Result<Vec<Entry<'_>>, Failure> {
    let entries = chain.iter().rev().enumerate();
    let entry = |(index, snapshot): (usize, &'_ Snapshot)| Ok((index, stored::node(snapshot)?));
    let nodes: Vec<(usize, ResolvedNode)> = entries.map(entry).collect::<Result<_, Failure>>()?;
    let entries = chain.iter().rev().zip(nodes);
    let entries = entries.map(|(snapshot, (index, node))| Entry {
        name: &snapshot.node,
        key: snapshot.key,
        resolved: Cow::Owned(node),
        written: None,
        parent: index.checked_sub(1),
    });
    Ok(entries.collect())
}

/// All nodes by their names, and those that are called otherwise and have the same key.
pub(super) fn by_name(old: &[Entry<'_>], new: &[Entry<'_>]) -> Vec<Pair> {
    let find = |wanted: &dyn Fn(&Entry<'_>) -> bool| old.iter().position(wanted);
    let is_new = |name: &str| new.iter().all(|entry| entry.name != name);
    let mut is_taken = vec![false; old.len()];
    let mut pairs: Vec<Pair> = Vec::new();
    for (index, entry) in new.iter().enumerate() {
        let same = find(&|other| other.name == entry.name);
        let renamed = || {
            old.iter().enumerate().position(|(at, other)| {
                other.key == entry.key && !is_taken[at] && is_new(other.name)
            })
        };
        let other = same.or_else(renamed);
        if let Some(other) = other {
            is_taken[other] = true;
        }
        pairs.push((other, Some(index)));
    }
    let gone = (0..old.len()).filter(|&index| !is_taken[index]);
    pairs.extend(gone.map(|index| (Some(index), None)));
    pairs
}

/// Two nodes, and what each of them stands on; parents first, and what is gone last.
pub(super) fn by_chain(old: &[Entry<'_>], new: &[Entry<'_>], heads: (usize, usize)) -> Vec<Pair> {
    let chain = |entries: &[Entry<'_>], head: usize| -> Vec<usize> {
        std::iter::successors(Some(head), |&index| entries[index].parent).collect()
    };
    let (old_chain, new_chain) = (chain(old, heads.0), chain(new, heads.1));
    let found = pair(&names(new, &new_chain), &names(old, &old_chain));
    let mut pairs: Vec<Pair> = new_chain
        .iter()
        .zip(&found)
        .map(|(&new, other)| (other.map(|other| old_chain[other]), Some(new)))
        .collect();
    pairs.reverse();
    let gone = (0..old_chain.len()).rev();
    let gone = gone.filter(|other| !found.contains(&Some(*other)));
    pairs.extend(gone.map(|other| (Some(old_chain[other]), None)));
    pairs
}

fn names<'a>(entries: &[Entry<'a>], chain: &[usize]) -> Vec<&'a str> {
    chain.iter().map(|&index| entries[index].name).collect()
}
