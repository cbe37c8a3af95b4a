//! The language of `prebuild.kdl`: text in, a graph of snapshots or diagnostics out.
//!
//! Pure: it sees files only through [`source::World`], and no network, clock, environment or listing at all.

mod check;
pub mod code;
pub mod complete;
mod cycle;
mod decl;
pub mod diag;
pub mod doc;
pub mod document;
mod eval;
mod expand;
pub mod expansion;
mod files;
pub mod format;
pub mod glob;
pub mod graph;
mod habits;
pub mod image;
pub mod index;
mod inputs;
mod lex;
mod limits;
mod load;
pub mod position;
pub mod render;
pub mod repair;
pub mod report;
pub mod schema;
mod secret;
pub mod source;
pub mod span;
pub mod spelling;
pub mod suggest;
mod syntax;
pub mod table;
pub mod tree;
pub mod url;
mod value;

use decl::Document;
use diag::{Diagnostic, Outcome};
use expand::Found;
use files::Files;
use graph::Graph;
use index::Index;
pub use inputs::{Inputs, Limits, Missing};
use source::{Sources, World};

/// Evaluates a file. The sources that were read come back beside the outcome, since diagnostics point into them.
pub fn evaluate(world: &dyn World, inputs: &Inputs) -> (Sources, Outcome<Graph>) {
    let (sources, outcome, _) = analyse(world, inputs);
    (sources, outcome)
}

/// The same, and where names are defined and used.
pub fn analyse(world: &dyn World, inputs: &Inputs) -> (Sources, Outcome<Graph>, Index) {
    let mut index = Index::default();
    let mut sources = Sources::default();
    let mut found = Vec::new();
    let graph = graph(world, inputs, &mut sources, &mut index, &mut found);
    let value = graph.filter(|_| !found.iter().any(Diagnostic::is_error));
    let diagnostics = diag::distinct(diag::presentable(found, &sources));
    (sources, Outcome { value, diagnostics }, index)
}

fn graph(
    world: &dyn World,
    inputs: &Inputs,
    sources: &mut Sources,
    index: &mut Index,
    found: &mut Vec<Diagnostic>,
) -> Option<Graph> {
    let mut files = Files::default();
    let mut later = Vec::new();
    let both = Found {
        early: found,
        later: &mut later,
    };
    let (expanded, made) = expand::expand(world, inputs, sources, &mut files, index, both);
    let graph = expanded.first().map(|first| first.file).map(|file| {
        let document = Document::read(&expanded, &files, &mut later);
        eval::link(&document, inputs, file, &mut later)
    });
    for finding in &mut later {
        if finding
            .fix
            .as_ref()
            .is_some_and(|fix| made.contains(&fix.span.as_written()))
        {
            finding.fix = None;
        }
    }
    found.extend(files.placed(later));
    files.place(sources);
    index.place(|span| files.before(span));
    graph
}
