//! Where the file has what a leaf comes from.

use atelier_lang::glob::Globs;
use atelier_lang::graph::{Reference, Repo};
use atelier_lang::span::{Span, Spanned};

use super::Name;
use crate::pin::PinnedNode;

/// Where the file has what makes a field of a node: the statement, or the property or pattern of it that says so. What it
/// does not state is the node's own affair, and so is what `is_there` no more.
pub fn place(node: &PinnedNode<'_>, field: &Name, is_there: bool) -> Span {
    find(node, field, is_there).unwrap_or(node.node.name.span)
}

fn find(node: &PinnedNode<'_>, field: &Name, is_there: bool) -> Option<Span> {
    let graph = node.node;
    match field.parts().as_slice() {
        ["from", ..] => Some(graph.places.base),
        ["repo", path, leaf @ ..] => Some(of_repo(node.repo(path)?, leaf)),
        ["file", path, ..] => {
            let mut files = graph.files.iter();
            files
                .find(|file| file.destination.value == *path)
                .map(|file| file.span)
        }
        ["env", name, ..] => graph.places.env.get(*name).copied(),
        ["path", number] if is_there => graph.places.path.get(index(number)?).copied(),
        ["step", number, ..] if is_there => Some(graph.steps.get(index(number)?)?.span),
        _ => None,
    }
}

/// Leaves count from one.
fn index(number: &str) -> Option<usize> {
    number.parse::<usize>().ok()?.checked_sub(1)
}

fn of_repo(repo: &Repo, leaf: &[&str]) -> Span {
    let property = |name: &str| repo.properties.get(name).copied();
    let reference = repo.reference.as_ref();
    let stated = match leaf {
        ["ref"] => reference.map(|reference| reference.span),
        ["commit"] => match reference {
            Some(Spanned {
                value: Reference::Commit(_),
                span,
            }) => Some(*span),
            _ => None,
        },
        ["options", option] => property(option),
        ["only", path, ..] => of_pattern(repo, path),
        ["url"] => Some(repo.source.span),
        _ => None,
    };
    // A statement's span holds its block, and begins where it does.
    stated.unwrap_or(repo.span)
}

/// The pattern that decides what becomes of a path: the last that matches.
fn of_pattern(repo: &Repo, path: &str) -> Option<Span> {
    let only = repo.only.as_ref()?;
    let last = |patterns: &[Spanned<String>]| {
        let globs = Globs::new(patterns.iter().map(|pattern| pattern.value.as_str()));
        let mut seen = vec![false; patterns.len()];
        let is_named = globs.name(path, &mut seen);
        let last = seen.iter().rposition(|seen| *seen)?;
        Some((patterns.get(last)?.span, is_named))
    };
    let (files, stubs) = (last(&only.files), last(&only.stubs));
    // What both lists name is a stub.
    let stub = stubs.filter(|(_, is_named)| *is_named);
    stub.or(files).map(|(span, _)| span)
}
