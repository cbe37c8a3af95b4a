//! Trees → trees without reuse: `let`, `param`, `template`, `use`, `matrix`, `import` and `(f)` are gone, and what is left
//! knows which expansion it comes from (see [`crate::span::Via`]).
//!
//! Every size is known before anything is built: cycles, depths, cells and statements are counted first, and a text's
//! length before the text. Recursion follows blocks and templates, both at most sixteen deep.

mod define;
pub(crate) mod describe;
mod imports;
mod kind;
mod matrix;
mod modules;
mod names;
mod param;
mod pieces;
mod scope;
mod statement;
mod target;
mod templates;
mod values;
mod weigh;

use std::collections::{BTreeMap, BTreeSet};

use crate::Inputs;
use crate::diag::Diagnostic;
use crate::files::Files;
use crate::index::Index;
use crate::source::{Sources, World};
use crate::span::{FileId, Span};
use crate::tree::Node;
use imports::Library;
use scope::{Bindings, Expander};
use target::AllCells;

/// How deep templates may use templates.
const DEPTH: usize = 16;

/// How many cells a matrix may have.
const CELLS: usize = 64;

/// How many statements may come out of templates and matrices.
const STATEMENTS: u64 = 20_000;

/// The longest text, in bytes.
const STRING: usize = 64 << 10;

/// How much text may come out of templates, matrices and interpolation, in bytes.
const TEXT: usize = 16 << 20;

/// A file's statements as they are read on.
#[derive(Debug)]
pub(crate) struct Expanded {
    pub(crate) file: FileId,
    /// What the names of its targets begin with, seen from the file that is evaluated: nothing, or such as `org.`.
    pub(crate) prefix: String,
    /// Whether it is there for other files, so that it need not have targets.
    pub(crate) is_library: bool,
    /// The first statement of the file.
    pub(crate) first: Option<Span>,
    /// The bare form's first word, and all of it.
    pub(crate) bare: Option<(Span, Span)>,
    /// In the order of the file; a matrix's cells stand in the place of its prebuild.
    pub(crate) nodes: Vec<Node>,
    /// Which of the nodes are cells of a matrix.
    pub(crate) cells: BTreeMap<usize, Cell>,
}

/// A cell's name is put together from both.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// The name of the prebuild with the matrix.
    pub(crate) base: String,
    /// Such as `-22-debian`.
    pub(crate) suffix: String,
}

/// Findings whose places are right already, and those whose places the files have to set right.
pub(crate) struct Found<'a> {
    pub(crate) early: &'a mut Vec<Diagnostic>,
    pub(crate) later: &'a mut Vec<Diagnostic>,
}

/// Reads the file and those that it imports, and expands them: the file itself comes first. Empty if that cannot be done.
/// Beside them the places where what is written is not the text that counts: nothing can be corrected there by machine.
pub(crate) fn expand(
    world: &dyn World,
    inputs: &Inputs,
    sources: &mut Sources,
    files: &mut Files,
    index: &mut Index,
    mut found: Found<'_>,
) -> (Vec<Expanded>, BTreeSet<Span>) {
    let loaded = imports::load(world, inputs, Library::Used, sources, files, &mut found);
    let Some((modules, trees)) = loaded else {
        return Default::default();
    };
    let found = found.later;
    names::check(&modules, &trees, files, index, found);
    let weights = weigh::templates(&modules, found);
    let mut expander = Expander {
        modules: &modules,
        files,
        values: vec![Bindings::new(); modules.list.len()],
        sources,
        found,
        left: TEXT,
        made: BTreeSet::new(),
    };
    expander.bind_files(inputs);
    expander.tell(index);
    let mut cells = AllCells::new();
    for (module, at, node) in statements(&trees) {
        if let Some(of) = expander.cells(node, module) {
            cells.insert((module, at), of);
        }
    }
    let (limits, found) = (inputs.limits, &mut *expander.found);
    let Some(total) = weigh::files(&modules, &trees, &weights, &cells, limits, found) else {
        return Default::default();
    };
    let copied = usize::try_from(total.bytes).unwrap_or(TEXT);
    expander.left = expander.left.saturating_sub(copied);
    let mut expanded = Vec::new();
    for (index, nodes) in trees.into_iter().enumerate() {
        // What `std` has are templates.
        if modules.list[index].path.is_some() {
            expanded.push(expander.module(index, nodes, &cells, &weights));
        }
    }
    (expanded, expander.made)
}

/// Every top-level statement with its file and its place there.
fn statements(trees: &[Vec<Node>]) -> impl Iterator<Item = (usize, usize, &Node)> {
    trees.iter().enumerate().flat_map(|(module, tree)| {
        let nodes = tree.iter().enumerate();
        nodes.map(move |(at, node)| (module, at, node))
    })
}

/// How a target's name spells a value: lower-case, and each run of characters outside of a-z and 0-9 is one `-`.
fn slug(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len());
    for character in text.chars() {
        let lower = character.to_ascii_lowercase();
        if lower.is_ascii_lowercase() || lower.is_ascii_digit() {
            spelled.push(lower);
        } else if !spelled.ends_with('-') {
            spelled.push('-');
        }
    }
    spelled
}
