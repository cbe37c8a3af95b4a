//! Two things at one path: clones, files, caches, in a prebuild and in what it starts from.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::code;
use crate::decl::{Document, Prebuild};
use crate::diag::Diagnostic;
use crate::graph::Repo;
use crate::span::Span;

/// What a walk from the images up to one prebuild has met.
#[derive(Default)]
struct Line<'a> {
    clones: Paths<'a, Landing<'a>>,
    files: Paths<'a, Span>,
}

#[derive(Clone, Copy)]
struct Landing<'a> {
    /// The prebuild that clones it.
    owner: usize,
    repo: &'a Repo,
}

enum Walk {
    Enter(usize),
    Leave(usize),
}

pub(super) fn check(document: &Document, parents: &[Option<usize>], found: &mut Vec<Diagnostic>) {
    let prebuilds = &document.prebuilds;
    let mut children = vec![Vec::new(); prebuilds.len()];
    let mut walk = Vec::new();
    for (index, parent) in parents.iter().enumerate() {
        match parent {
            Some(parent) => children[*parent].push(index),
            None => walk.push(Walk::Enter(index)),
        }
    }
    let mut line = Line::default();
    while let Some(step) = walk.pop() {
        match step {
            Walk::Enter(index) => {
                line.enter(index, &prebuilds[index], found);
                caches(&prebuilds[index], &line, found);
                variables(&prebuilds[index], found);
                walk.push(Walk::Leave(index));
                walk.extend(children[index].iter().copied().map(Walk::Enter));
            }
            Walk::Leave(index) => line.leave(&prebuilds[index]),
        }
    }
}

impl<'a> Line<'a> {
    fn enter(&mut self, owner: usize, prebuild: &'a Prebuild, found: &mut Vec<Diagnostic>) {
        for repo in &prebuild.repos {
            let Some(path) = repo.path.as_deref() else {
                continue;
            };
            found.extend(self.meets(owner, path, repo));
            self.clones.add(path, Landing { owner, repo });
        }
        let mut own: Paths<Span> = Paths::default();
        for file in &prebuild.files {
            let path = &file.destination;
            let other = own.met(path, |_| true).map(|(other, span)| {
                let told = if other == path.as_str() {
                    format!("both files land at `{other}`")
                } else {
                    format!(
                        "`{}` and `{other}`: one would be a file and a folder",
                        path.value
                    )
                };
                (*span, told)
            });
            if let Some((first, told)) = other.or_else(|| self.file_meets_clone(owner, path)) {
                found.push(
                    Diagnostic::error(code::PATHS_CLASH, path.span, told, "this file")
                        .and(first, "the other")
                        .help("give one of them another path, or delete it"),
                );
            }
            own.add(path, path.span);
            self.files.add(path, path.span);
        }
    }

    fn leave(&mut self, prebuild: &Prebuild) {
        let clones = prebuild
            .repos
            .iter()
            .filter_map(|repo| repo.path.as_deref());
        clones.for_each(|path| self.clones.remove(path));
        let files = prebuild.files.iter().map(|file| &file.destination);
        files.for_each(|path| self.files.remove(path));
    }

    /// Clones must not meet, also not with those of a parent. One report for each clone is enough.
    fn meets(&self, owner: usize, path: &str, repo: &Repo) -> Option<Diagnostic> {
        // A child may complete what a parent took some files of.
        let is_other = |other: &Landing| other.owner == owner || !continues(repo, other.repo);
        let (other, clone) = self.clones.met(path, is_other)?;
        let told = if other == path {
            format!("both clones land at `{path}`")
        } else {
            format!("the clones at `{path}` and `{other}` are nested")
        };
        Some(
            Diagnostic::error(code::PATHS_CLASH, repo.span, told, "this clone")
                .and(clone.repo.span, "the other")
                .help("give one of them another path=DIR"),
        )
    }

    /// A file may land inside a clone, but not where the clone's folder is.
    fn file_meets_clone(&self, owner: usize, path: &str) -> Option<(Span, String)> {
        let (at, clone) = self.clones.covered(path, |clone| clone.owner == owner)?;
        let told = format!("a file at `{path}`, where the clone at `{at}` lands");
        Some((clone.repo.span, told))
    }
}

fn continues(repo: &Repo, parents: &Repo) -> bool {
    let is_same = repo.source.value == parents.source.value && repo.path == parents.path;
    is_same && parents.only.is_some()
}

/// A cache may lie inside a clone, but hides what is at its own path and below.
fn caches(prebuild: &Prebuild, line: &Line, found: &mut Vec<Diagnostic>) {
    for cache in &prebuild.caches {
        let clone = line.clones.covered(&cache.path, |_| true);
        let clone = clone.map(|(path, clone)| ("clone", path, clone.repo.span));
        let file = line.files.covered(&cache.path, |_| true);
        let file = file.map(|(path, span)| ("file", path, *span));
        if let Some((what, path, span)) = clone.or(file) {
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

/// Things by where they lie, several at one path. A look-up does not walk through all of them.
struct Paths<'a, T>(BTreeMap<&'a str, Vec<T>>);

impl<T> Default for Paths<'_, T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<'a, T> Paths<'a, T> {
    fn add(&mut self, path: &'a str, thing: T) {
        self.0.entry(path).or_default().push(thing);
    }

    /// Takes the last away that was added there.
    fn remove(&mut self, path: &str) {
        if let Some(things) = self.0.get_mut(path) {
            things.pop();
            if things.is_empty() {
                self.0.remove(path);
            }
        }
    }

    /// Something that counts at the path, above it or below it.
    fn met(&self, path: &str, counts: impl Fn(&T) -> bool) -> Option<(&'a str, &T)> {
        let above = path.match_indices('/').map(|(end, _)| &path[..end]);
        let mut above = above.filter_map(|path| self.at(path, &counts));
        above.next().or_else(|| self.covered(path, &counts))
    }

    /// Something that counts at the path or below it.
    fn covered(&self, path: &str, counts: impl Fn(&T) -> bool) -> Option<(&'a str, &T)> {
        if let Some(found) = self.at(path, &counts) {
            return Some(found);
        }
        // What is below a folder begins with its path and `/`, and `0` is the next character.
        let (first, end) = (format!("{path}/"), format!("{path}0"));
        let range = (
            Bound::Included(first.as_str()),
            Bound::Excluded(end.as_str()),
        );
        let mut below = self.0.range::<str, _>(range);
        below.find_map(|(path, things)| Some((*path, nearest(things, &counts)?)))
    }

    fn at(&self, path: &str, counts: impl Fn(&T) -> bool) -> Option<(&'a str, &T)> {
        let (path, things) = self.0.get_key_value(path)?;
        Some((*path, nearest(things, counts)?))
    }
}

/// Of those that count, what was added last.
fn nearest<T>(things: &[T], counts: impl Fn(&T) -> bool) -> Option<&T> {
    things.iter().rev().find(|thing| counts(thing))
}
