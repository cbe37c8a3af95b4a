//! Groups: members that may be groups, flattened to prebuilds.

use std::collections::BTreeMap;

use super::{Names, Target, unknown_target};
use crate::code;
use crate::cycle;
use crate::decl::{Document, Group};
use crate::diag::Diagnostic;
use crate::span::Spanned;

/// The prebuilds of each group.
pub(super) fn members(
    document: &Document,
    names: &Names,
    found: &mut Vec<Diagnostic>,
) -> BTreeMap<String, Vec<usize>> {
    let groups = &document.groups;
    let resolved: Vec<_> = groups
        .iter()
        .map(|group| resolve(document, group, names, found))
        .collect();
    let inner = |members: &Vec<Target>| {
        let groups = members.iter().filter_map(|member| match member {
            Target::Group(index) => Some(*index),
            Target::Prebuild(_) => None,
        });
        groups.collect::<Vec<_>>()
    };
    let edges: Vec<Vec<usize>> = resolved.iter().map(inner).collect();
    for cycle in cycle::find(&edges) {
        let labels = cycle.iter().zip(cycle.iter().cycle().skip(1));
        let labels = labels.map(|(from, to)| as_written(&groups[*from], &groups[*to].name.value));
        let told = cycle.iter().map(|index| groups[*index].name.value.as_str());
        found.push(cycle::diagnostic(told, labels, "contains"));
    }
    let flat = |index| flatten(index, &resolved);
    groups
        .iter()
        .enumerate()
        .map(|(index, group)| (group.name.value.clone(), flat(index)))
        .collect()
}

fn resolve(
    document: &Document,
    group: &Group,
    names: &Names,
    found: &mut Vec<Diagnostic>,
) -> Vec<Target> {
    let mut targets = Vec::new();
    let mut seen: BTreeMap<&str, &Spanned<String>> = BTreeMap::new();
    for member in &group.members {
        if let Some(first) = seen.insert(&member.value, member) {
            let message = format!("`{}` is in the group twice", member.value);
            found.push(
                Diagnostic::error(code::DUPLICATE_NAME, member.span, message, "again")
                    .and(first.span, "first here")
                    .help("delete one"),
            );
        }
        match names.get(member.value.as_str()) {
            Some(target) => targets.push(*target),
            None => {
                let known = names.keys().copied();
                found.push(unknown_target(
                    document,
                    "target",
                    member,
                    known,
                    found.len(),
                ));
            }
        }
    }
    targets
}

fn as_written(group: &Group, member: &str) -> Spanned<String> {
    let written = group.members.iter().find(|name| name.value == member);
    written.unwrap_or(&group.name).clone()
}

/// Each group is visited once, so a cycle ends too.
fn flatten(start: usize, resolved: &[Vec<Target>]) -> Vec<usize> {
    let mut visited = vec![false; resolved.len()];
    let mut pending = vec![start];
    let mut prebuilds = Vec::new();
    while let Some(index) = pending.pop() {
        if std::mem::replace(&mut visited[index], true) {
            continue;
        }
        for member in &resolved[index] {
            match member {
                Target::Prebuild(index) => prebuilds.push(*index),
                Target::Group(index) => pending.push(*index),
            }
        }
    }
    prebuilds
}
