//! Linked declarations → nodes: which count, in which order, and whether all that parents hand down has room.

use std::collections::BTreeMap;

use super::inherit;
use crate::Limits;
use crate::code;
use crate::decl::Document;
use crate::diag::Diagnostic;
use crate::graph::{Graph, NodeId};

/// How many parents stand above each prebuild. There are no cycles.
pub(super) fn levels(parents: &[Option<usize>]) -> Vec<usize> {
    let mut levels: Vec<Option<usize>> = vec![None; parents.len()];
    for start in 0..parents.len() {
        let mut chain = Vec::new();
        let mut at = Some(start);
        while let Some(index) = at.filter(|index| levels[*index].is_none()) {
            chain.push(index);
            at = parents[index];
        }
        let above = at
            .and_then(|known| levels[known])
            .map_or(0, |level| level + 1);
        for (below, index) in chain.into_iter().rev().enumerate() {
            levels[index] = Some(above + below);
        }
    }
    levels.into_iter().flatten().collect()
}

/// Every node has the variables and folders of all that it starts from: long chains of long lists would fill the memory.
pub(super) fn inherits_too_much(
    document: &Document,
    parents: &[Option<usize>],
    levels: &[usize],
    limits: Limits,
) -> Option<Diagnostic> {
    let mut order: Vec<usize> = (0..parents.len()).collect();
    order.sort_by_key(|index| levels[*index]);
    let mut counts = vec![0_usize; parents.len()];
    let mut total = 0_usize;
    for index in order {
        let prebuild = &document.prebuilds[index];
        let above = parents[index].map_or(0, |parent| counts[parent]);
        counts[index] = above + prebuild.env.len() + prebuild.path.len();
        total = total.saturating_add(counts[index]);
        if total > limits.inherited {
            let name = &prebuild.name;
            let message = format!("more than {} inherited values", limits.inherited);
            let label = format!("inherits {above} variables and folders");
            return Some(
                Diagnostic::error(code::EXPANDS_TOO_FAR, name.span, message, label)
                    .help("have shorter chains, or state fewer where they start"),
            );
        }
    }
    None
}

/// Which prebuilds count: those of the file itself, and of other files what those and the file's groups need.
fn wanted(
    document: &Document,
    parents: &[Option<usize>],
    members: &BTreeMap<String, Vec<usize>>,
) -> Vec<bool> {
    let prebuilds = document.prebuilds.iter().enumerate();
    let own = prebuilds.filter(|(_, prebuild)| !prebuild.is_imported);
    let own = own.map(|(index, _)| index);
    let groups = document.groups.iter().filter(|group| !group.is_imported);
    let grouped = groups.filter_map(|group| members.get(&group.name.value));
    let mut wanted = vec![false; document.prebuilds.len()];
    for start in own.chain(grouped.flatten().copied()) {
        let mut at = Some(start);
        while let Some(index) = at.filter(|index| !wanted[*index]) {
            wanted[index] = true;
            at = parents[index];
        }
    }
    wanted
}

/// Puts the nodes into the graph's order: by level, then name.
pub(super) fn assemble(
    document: &Document,
    platform: &str,
    parents: &[Option<usize>],
    levels: &[usize],
    members: &BTreeMap<String, Vec<usize>>,
) -> Graph {
    let prebuilds = &document.prebuilds;
    let wanted = wanted(document, parents, members);
    let mut order: Vec<usize> = (0..prebuilds.len())
        .filter(|index| wanted[*index])
        .collect();
    order.sort_by_key(|index| (levels[*index], &prebuilds[*index].name.value));
    let mut place = vec![NodeId(0); prebuilds.len()];
    for (at, index) in order.iter().enumerate() {
        place[*index] = NodeId(at);
    }
    let mut graph = Graph::default();
    let mut is_parent = vec![false; prebuilds.len()];
    for index in &order {
        if let Some(parent) = parents[*index] {
            is_parent[parent] = true;
        }
        let parent = parents[*index].map(|parent| place[parent]);
        let node = inherit::node(&prebuilds[*index], parent, &graph, platform);
        graph.nodes.extend(node);
    }
    let placed = |indices: &[usize]| {
        let mut ids: Vec<NodeId> = indices.iter().map(|index| place[*index]).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    for group in document.groups.iter().filter(|group| !group.is_imported) {
        let name = &group.name.value;
        let members = members.get(name).map(Vec::as_slice).unwrap_or_default();
        graph.groups.insert(name.clone(), placed(members));
    }
    let is_leaf = |index: &usize| !is_parent[*index] && !prebuilds[*index].is_imported;
    let leaves: Vec<usize> = (0..prebuilds.len()).filter(is_leaf).collect();
    graph.default = graph
        .groups
        .get("default")
        .cloned()
        .unwrap_or_else(|| placed(&leaves));
    graph
}
