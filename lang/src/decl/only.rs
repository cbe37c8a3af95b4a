//! `only`, `stub` and `layer`: which files of a repository a node takes, and the dependency layer that stands for a
//! prebuild of its own.

use std::collections::BTreeMap;

use super::{Base, Document, Fields, Group, Prebuild, Reader};
use crate::check;
use crate::code;
use crate::diag::Diagnostic;
use crate::expand::Cell;
use crate::glob;
use crate::graph::{Folder, Only, Repo};
use crate::span::Spanned;
use crate::table::Place;
use crate::tree::Node;
use crate::value;

/// For names that are put together.
const LONGEST: usize = 63;

/// What a layer is called unless it has a name.
const LAYER: &str = "deps";

impl Reader<'_> {
    /// The patterns of the `only` and `stub` in a block.
    pub(super) fn only(&mut self, block: &[&Node]) -> Option<Only> {
        let mut only = Only::default();
        let mut stub = None;
        let mut is_there = false;
        for node in block {
            let list = match node.name.as_str() {
                "only" => {
                    is_there = true;
                    &mut only.files
                }
                "stub" => {
                    stub = stub.or(Some(node));
                    &mut only.stubs
                }
                _ => continue,
            };
            for pattern in Fields(node).arguments(0) {
                if self.take(&pattern, glob::pattern).is_some() {
                    list.push(pattern);
                }
            }
        }
        if let (Some(stub), false) = (stub, is_there) {
            let message = "`stub` without `only`";
            let label = "the files are all there";
            self.found.push(
                Diagnostic::error(code::ONLY, stub.head(), message, label)
                    .help("say which files the node takes, with only GLOB…"),
            );
        }
        is_there.then_some(only)
    }

    /// Reads a `layer` as the prebuild that it stands for; [`unfold`] adds what it shares with its target. `None` for the
    /// repository if that is faulty.
    pub(super) fn layer(&mut self, target: &mut Prebuild, repo: Option<&Repo>, node: &Node) {
        let stated = Fields(node).argument(0);
        let stated = stated.filter(|name| self.take(name, value::name).is_some());
        let name = stated.unwrap_or_else(|| Spanned::new(LAYER.to_owned(), node.name.span));
        let mut layer = Prebuild::new(name, node.span);
        let folder = match repo.and_then(|repo| repo.path.clone()) {
            Some(path) => Folder::Workspace(path),
            None => Folder::Repo(0),
        };
        let mut block = Vec::new();
        for child in node.children.iter().flatten() {
            if check::statement(child, Place::Layer, self.files, self.found).is_none() {
                continue;
            }
            match child.name.as_str() {
                "run" => layer.steps.extend(self.step(child, Some(&folder))),
                "cache" | "secret" => self.fill(&mut layer, child),
                _ => block.push(child),
            }
        }
        self.short_enough(target, &layer.name);
        let only = self.only(&block);
        if block.is_empty() {
            let message = "`layer` without `only`";
            self.found.push(
                Diagnostic::error(code::ONLY, node.head(), message, "a layer of what?")
                    .help("such as: layer { only package.json bun.lock; run \"bun install\"; }"),
            );
        }
        // A faulty layer is still one.
        let only = Some(only.unwrap_or_default());
        layer
            .repos
            .extend(repo.cloned().map(|repo| Repo { only, ..repo }));
        target.layers.push(layer);
    }
}

impl Reader<'_> {
    /// The prebuild that a layer stands for has a name that nobody wrote.
    fn short_enough(&mut self, target: &Prebuild, layer: &Spanned<String>) {
        let name = unfolded_name(target, layer);
        // What another file calls it does not count.
        let own = name.rsplit('.').next().unwrap_or(&name);
        if own.len() <= LONGEST {
            return;
        }
        let message = format!("`{own}` is longer than {LONGEST} characters");
        let label = "with the prebuild's name before it";
        self.found.push(
            Diagnostic::error(code::BAD_NAME, layer.span, message, label)
                .help("give the layer, or the prebuild, a shorter name"),
        );
    }
}

fn unfolded_name(target: &Prebuild, layer: &str) -> String {
    match &target.cell {
        // A layer has the matrix of its target, so its cells are named like those of any prebuild.
        Some(Cell { base, suffix }) => format!("{base}-{layer}{suffix}"),
        None => format!("{}-{layer}", target.name.value),
    }
}

/// Makes the layers of a file's prebuilds what they stand for: prebuilds in a chain that their target starts from.
pub(super) fn unfold(document: &mut Document) {
    let mut unfolded = Vec::new();
    let mut cells: BTreeMap<String, Group> = BTreeMap::new();
    for target in &mut document.prebuilds {
        for layer in &target.layers {
            if let (Some(Cell { base, .. }), Some(_)) = (&target.cell, &target.base) {
                let member = Spanned::new(unfolded_name(target, &layer.name), layer.name.span);
                let name = Spanned::new(format!("{base}-{}", layer.name.value), layer.name.span);
                let group = Group {
                    name: name.clone(),
                    members: Vec::new(),
                    is_imported: false,
                };
                let cells = cells.entry(name.value).or_insert(group);
                cells.members.push(member);
            }
        }
        unfolded.extend(chain(target));
    }
    document.prebuilds.extend(unfolded);
    document.groups.extend(cells.into_values());
}

/// Takes the layers out of a prebuild, which then starts from the last.
fn chain(target: &mut Prebuild) -> Vec<Prebuild> {
    let layers = std::mem::take(&mut target.layers);
    // Without a `from` that is the target's fault, told once.
    let Some(mut base) = target.base.clone() else {
        return Vec::new();
    };
    let mut unfolded = Vec::new();
    for layer in layers {
        let name = Spanned::new(unfolded_name(target, &layer.name), layer.name.span);
        let at = layer.name.span;
        let parent = Base::Parent {
            name: name.clone(),
            at,
        };
        unfolded.push(Prebuild {
            name,
            base: Some(std::mem::replace(&mut base, parent)),
            env: target.env.clone(),
            path: target.path.clone(),
            resources: target.resources.clone(),
            is_layer: true,
            ..layer
        });
    }
    target.base = Some(base);
    unfolded
}
