//! Cycles among named things, found and told.

use std::collections::VecDeque;

use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;

use crate::code;
use crate::diag::{Diagnostic, Label, Severity};
use crate::span::Spanned;

/// One shortest cycle of each knot, from its first member on. `edges[n]` are the things that `n` needs.
pub(crate) fn find(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut graph: DiGraph<(), (), usize> = DiGraph::default();
    let nodes: Vec<_> = edges.iter().map(|_| graph.add_node(())).collect();
    for (from, targets) in edges.iter().enumerate() {
        for to in targets {
            graph.add_edge(nodes[from], nodes[*to], ());
        }
    }
    let mut knot_of = vec![0; edges.len()];
    let mut starts = Vec::new();
    for (knot, members) in tarjan_scc(&graph).into_iter().enumerate() {
        for member in &members {
            knot_of[member.index()] = knot;
        }
        let first = members.iter().map(|member| member.index()).min();
        starts.extend(first.filter(|first| members.len() > 1 || edges[*first].contains(first)));
    }
    starts.sort_unstable();
    starts
        .into_iter()
        .map(|start| shortest(edges, &knot_of, start))
        .collect()
}

/// The things in such an order that what each needs comes before it. What is in a cycle, or needs one, is left out.
pub(crate) fn order(edges: &[Vec<usize>]) -> Vec<usize> {
    let mut missing: Vec<usize> = edges.iter().map(Vec::len).collect();
    let mut needed_by = vec![Vec::new(); edges.len()];
    for (from, targets) in edges.iter().enumerate() {
        for to in targets {
            needed_by[*to].push(from);
        }
    }
    let mut order: Vec<usize> = (0..edges.len())
        .filter(|index| missing[*index] == 0)
        .collect();
    let mut at = 0;
    while let Some(done) = order.get(at).copied() {
        for next in &needed_by[done] {
            missing[*next] -= 1;
            if missing[*next] == 0 {
                order.push(*next);
            }
        }
        at += 1;
    }
    order
}

/// The shortest way from `start` back to it, within its knot.
fn shortest(edges: &[Vec<usize>], knot_of: &[usize], start: usize) -> Vec<usize> {
    let mut came_from = vec![None; edges.len()];
    let mut queue = VecDeque::from([start]);
    while let Some(at) = queue.pop_front() {
        for next in edges[at]
            .iter()
            .copied()
            .filter(|next| knot_of[*next] == knot_of[start])
        {
            if next == start {
                let back = |at: &usize| if *at == start { None } else { came_from[*at] };
                let mut path: Vec<usize> = std::iter::successors(Some(at), back).collect();
                path.reverse();
                return path;
            }
            if came_from[next].is_none() {
                came_from[next] = Some(at);
                queue.push_back(next);
            }
        }
    }
    vec![start]
}

/// `a → b → a`, with every edge cited; `edges` are the names as each member writes the next.
pub(crate) fn diagnostic<'a>(
    names: impl Iterator<Item = &'a str>,
    edges: impl Iterator<Item = Spanned<String>>,
    verb: &str,
) -> Diagnostic {
    let names: Vec<&str> = names.collect();
    let closed = names.iter().chain(names.first()).copied();
    let label = |(name, edge): (&&str, Spanned<String>)| Label {
        span: edge.span,
        text: format!("`{name}` {verb} `{}`", edge.value),
    };
    Diagnostic {
        code: code::CYCLE,
        severity: Severity::Error,
        message: closed.collect::<Vec<_>>().join(" → "),
        labels: names.iter().zip(edges).map(label).collect(),
        trace: Vec::new(),
        help: Some("break it at one of these places".to_owned()),
        fix: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cycle_of_each_knot() {
        assert_eq!(find(&[vec![1], vec![2], vec![0], vec![0]]), [vec![0, 1, 2]]);
        assert_eq!(find(&[vec![0], vec![]]), [vec![0]]);
        assert_eq!(find(&[vec![1, 2], vec![2], vec![0]]), [vec![0, 2]]);
        assert!(find(&[vec![1], vec![]]).is_empty());
    }

    #[test]
    fn what_is_needed_comes_first() {
        assert_eq!(order(&[vec![1, 2], vec![2, 2], vec![]]), [2, 1, 0]);
        assert_eq!(order(&[vec![1], vec![0], vec![0], vec![]]), [3]);
    }
}
