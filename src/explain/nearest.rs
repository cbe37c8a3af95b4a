//! The snapshot that a node resembles most: what to compare with where it has no past of its own.

use std::cmp::Reverse;

use super::{Change, changes};
use crate::backend::Snapshot;
use crate::node::ResolvedNode;

/// A snapshot, and what of a node differs from it.
#[derive(Clone, Debug)]
pub struct Near<'a> {
    pub snapshot: &'a Snapshot,
    pub changes: Vec<Change>,
}

/// Of snapshots and what they were made of, the one from which a node called `name` differs in the fewest leaves; of
/// several, one of the same name, and then the newest. `None` if no snapshot has anything of it.
pub fn nearest<'a>(
    node: &ResolvedNode,
    name: &str,
    snapshots: &'a [(Snapshot, ResolvedNode)],
) -> Option<Near<'a>> {
    let near = snapshots.iter().map(|(snapshot, other)| Near {
        snapshot,
        changes: changes(other, node),
    });
    let near = near.min_by_key(|near| {
        let snapshot = near.snapshot;
        (
            near.changes.len(),
            snapshot.node != name,
            Reverse(&snapshot.created),
        )
    })?;
    (near.changes.len() < items(node)).then_some(near)
}

/// How many changes there would be if everything were another.
fn items(node: &ResolvedNode) -> usize {
    let of_steps = match node.steps.is_empty() {
        true => 0,
        false => node.steps.len() + node.env.len() + node.path.len(),
    };
    1 + node.repos.len() + node.files.len() + node.needs.len() + of_steps
}
