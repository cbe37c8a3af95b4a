//! Two things at one path: clones, files, caches, in a prebuild and in what it starts from.

use crate::code;
use crate::decl::{Document, Prebuild};
use crate::diag::Diagnostic;
use crate::graph::Repo;
use crate::span::Span;

pub(super) fn check(document: &Document, parents: &[Option<usize>], found: &mut Vec<Diagnostic>) {
    for (index, prebuild) in document.prebuilds.iter().enumerate() {
        clones(document, parents, index, found);
        files(prebuild, found);
        caches(document, parents, index, found);
        variables(prebuild, found);
    }
}

/// Clones must not meet, also not with those of a parent. One report for each clone is enough.
fn clones(
    document: &Document,
    parents: &[Option<usize>],
    index: usize,
    found: &mut Vec<Diagnostic>,
) {
    let own = &document.prebuilds[index].repos;
    for (at, repo) in own.iter().enumerate() {
        let above = std::iter::successors(parents[index], |parent| parents[*parent]);
        let inherited = above.flat_map(|parent| &document.prebuilds[parent].repos);
        // A child may complete what a parent took some files of.
        let inherited = inherited.filter(|parents| !continues(repo, parents));
        let other = own[..at].iter().chain(inherited).find_map(|other| {
            let told = meet(repo, other)?;
            Some((other.span, told))
        });
        if let Some((first, told)) = other {
            found.push(
                Diagnostic::error(code::PATHS_CLASH, repo.span, told, "this clone")
                    .and(first, "the other")
                    .help("give one of them another path=DIR"),
            );
        }
    }
}

fn continues(repo: &Repo, parents: &Repo) -> bool {
    let is_same = repo.source.value == parents.source.value && repo.path == parents.path;
    is_same && parents.only.is_some()
}

fn meet(repo: &Repo, other: &Repo) -> Option<String> {
    let (path, other) = (repo.path.as_deref()?, other.path.as_deref()?);
    if path == other {
        return Some(format!("both clones land at `{path}`"));
    }
    let is_nested = is_inside(path, other) || is_inside(other, path);
    is_nested.then(|| format!("the clones at `{path}` and `{other}` are nested"))
}

fn files(prebuild: &Prebuild, found: &mut Vec<Diagnostic>) {
    for (at, file) in prebuild.files.iter().enumerate() {
        let path = &file.destination;
        let other = prebuild.files[..at].iter().find_map(|other| {
            let told = file_meets_file(path, &other.destination)?;
            Some((other.destination.span, told))
        });
        let clone = || {
            prebuild
                .repos
                .iter()
                .find_map(|repo| file_meets_clone(path, repo))
        };
        if let Some((first, told)) = other.or_else(clone) {
            found.push(
                Diagnostic::error(code::PATHS_CLASH, path.span, told, "this file")
                    .and(first, "the other")
                    .help("give one of them another path, or delete it"),
            );
        }
    }
}

fn file_meets_file(path: &str, other: &str) -> Option<String> {
    if path == other {
        return Some(format!("both files land at `{path}`"));
    }
    let is_nested = is_inside(path, other) || is_inside(other, path);
    is_nested.then(|| format!("`{path}` and `{other}`: one would be a file and a folder"))
}

/// A file may land inside a clone, but not where the clone's folder is.
fn file_meets_clone(path: &str, repo: &Repo) -> Option<(Span, String)> {
    let clone = repo.path.as_deref()?;
    let covers = path == clone || is_inside(clone, path);
    covers.then(|| {
        (
            repo.span,
            format!("a file at `{path}`, where the clone at `{clone}` lands"),
        )
    })
}

/// A cache may lie inside a clone, but hides what is at its own path and below.
fn caches(
    document: &Document,
    parents: &[Option<usize>],
    index: usize,
    found: &mut Vec<Diagnostic>,
) {
    for cache in &document.prebuilds[index].caches {
        let covers = |path: &str| path == cache.path || is_inside(path, &cache.path);
        let line = std::iter::successors(Some(index), |prebuild| parents[*prebuild]);
        let hidden = line.map(|at| &document.prebuilds[at]).find_map(|prebuild| {
            let repos = prebuild.repos.iter();
            let clones = repos.filter_map(|repo| Some(("clone", repo.path.as_deref()?, repo.span)));
            let files = prebuild.files.iter().map(|file| &file.destination);
            let files = files.map(|path| ("file", path.as_str(), path.span));
            clones.chain(files).find(|(_, path, _)| covers(path))
        });
        if let Some((what, path, span)) = hidden {
            let message = format!("a cache at `{}` hides the {what} at `{path}`", cache.path);
            found.push(
                Diagnostic::error(code::PATHS_CLASH, cache.span, message, "this cache")
                    .and(span, format!("the {what}"))
                    .help("give the cache another path=DIR"),
            );
        }
    }
}

/// A step sees variables and secrets under their names: one of each would hide the other.
fn variables(prebuild: &Prebuild, found: &mut Vec<Diagnostic>) {
    for secret in &prebuild.secrets {
        let same = prebuild
            .env
            .iter()
            .find(|variable| variable.name.value == secret.value);
        let Some(variable) = same else { continue };
        let message = format!("`{}` is a secret and a variable", secret.value);
        found.push(
            Diagnostic::error(
                code::DUPLICATE_NAME,
                variable.name.span,
                message,
                "the variable",
            )
            .and(secret.span, "the secret")
            .help("rename or delete one"),
        );
    }
}

fn is_inside(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}
