//! The language of `prebuild.kdl`: text in, a graph of snapshots or diagnostics out.
//!
//! Pure: it sees files only through [`source::World`], and no network, clock, environment or listing at all.

mod check;
pub mod code;
mod decl;
pub mod diag;
pub mod document;
mod eval;
pub mod glob;
pub mod graph;
mod habits;
pub mod image;
mod lex;
mod limits;
mod load;
pub mod render;
pub mod repair;
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

use decl::Reader;
use diag::{Diagnostic, Outcome};
use graph::Graph;
use source::{Sources, VirtualPath, World};

/// What an evaluation starts from.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The file to evaluate, from the project's root.
    pub file: VirtualPath,
    /// The platform of images that name none, such as `linux/amd64`.
    pub platform: String,
}

/// Evaluates a file. The sources that were read come back beside the outcome, since diagnostics point into them.
pub fn evaluate(world: &dyn World, inputs: &Inputs) -> (Sources, Outcome<Graph>) {
    let mut sources = Sources::default();
    let mut found = Vec::new();
    let graph = graph(world, inputs, &mut sources, &mut found);
    let value = graph.filter(|_| !found.iter().any(Diagnostic::is_error));
    let diagnostics = diag::presentable(found);
    (sources, Outcome { value, diagnostics })
}

fn graph(
    world: &dyn World,
    inputs: &Inputs,
    sources: &mut Sources,
    found: &mut Vec<Diagnostic>,
) -> Option<Graph> {
    let bytes = world.read(&inputs.file, limits::FILE);
    let loaded = load::load(inputs.file.as_str(), bytes, sources, found);
    let (nodes, text) = loaded.tree.as_ref()?;
    let mut later = Vec::new();
    let document = Reader::new(&inputs.file, text, &mut later).document(nodes);
    let graph = eval::link(&document, &inputs.platform, loaded.file, &mut later);
    found.extend(
        later
            .into_iter()
            .map(|diagnostic| loaded.placed(diagnostic)),
    );
    Some(graph)
}
