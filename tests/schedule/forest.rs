//! Random forests, parents before their children.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// The parent of each node.
pub(crate) fn any_forest() -> impl Strategy<Value = Vec<Option<usize>>> {
    vec((any::<Index>(), 0..4_u8), 1..12).prop_map(|nodes| {
        let parent = |(index, (parent, root)): (usize, &(Index, u8))| {
            (index > 0 && *root > 0).then(|| parent.index(index))
        };
        nodes.iter().enumerate().map(parent).collect()
    })
}

/// Whether a parent, or its parent, and so on, is one of `of`.
pub(crate) fn has_ancestor(forest: &[Option<usize>], mut node: usize, of: &[usize]) -> bool {
    while let Some(parent) = forest[node] {
        if of.contains(&parent) {
            return true;
        }
        node = parent;
    }
    false
}
