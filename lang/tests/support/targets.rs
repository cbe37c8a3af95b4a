//! What holds for all bytes, for the tests and for the fuzzers of fuzz/.

use std::collections::BTreeMap;

use atelier_lang::complete::{Known, complete};
use atelier_lang::diag::{Diagnostic, Outcome};
use atelier_lang::doc::{self, DocData};
use atelier_lang::format::{self, Unformatted};
use atelier_lang::graph::{Graph, NodeId};
use atelier_lang::index::Index;
use atelier_lang::source::Sources;
use atelier_lang::span::{FileId, Span};
use atelier_lang::{expansion, render, report, schema};

use crate::support::{Memory, inputs};

/// The files that bytes stand for: no text has this byte, so it is between them.
fn files(bytes: &[u8]) -> Memory {
    let names = ["prebuild.kdl", "a.kdl", "b/c.kdl"];
    let parts = bytes.splitn(names.len(), |byte| *byte == 0xff);
    let files = names.iter().zip(parts);
    let files = files.map(|(name, part)| ((*name).to_owned(), part.to_vec()));
    Memory(files.collect())
}

/// No panic; findings in order, with spans that fit; a graph exactly if there is no error; and what it is printed as means
/// the same.
pub(crate) fn evaluate(bytes: &[u8]) {
    let world = files(bytes);
    let (sources, outcome, index) = atelier_lang::analyse(&world, &inputs());
    sound(&sources, &outcome.diagnostics);
    let has_error = outcome.diagnostics.iter().any(Diagnostic::is_error);
    assert_eq!(outcome.value.is_none(), has_error);
    let _data = report::report(&outcome.diagnostics, &sources);
    let (_, described) = doc::doc(&world, &inputs());
    known(&index, &sources);
    completed(bytes, &index, described.value.as_ref());
    if let Outcome {
        value: Some(graph), ..
    } = outcome
    {
        printed(&graph, &sources);
    }
}

fn sound(sources: &Sources, found: &[Diagnostic]) {
    let first = |finding: &Diagnostic| finding.labels.first().map(|label| label.span);
    assert!(found.iter().map(first).is_sorted(), "in source order");
    for finding in found {
        let labels = finding.labels.iter().map(|label| label.span);
        for span in labels.chain(finding.fix.iter().map(|fix| fix.span)) {
            let text = sources.text(span.file);
            let range = span.start as usize..span.end as usize;
            assert!(text.get(range).is_some(), "{finding:?}");
        }
        let _shown = format!("{:?}", render::render(finding, sources));
    }
}

/// Names are where the index says they are, and lead to definitions.
fn known(index: &Index, sources: &Sources) {
    let fits = |span: Span| {
        let range = span.start as usize..span.end as usize;
        sources.text(span.file).get(range).is_some()
    };
    for definition in &index.definitions {
        assert!(
            fits(definition.name.span) && fits(definition.whole),
            "{definition:?}"
        );
    }
    for used in &index.uses {
        assert!(fits(used.span), "{used:?}");
        assert!(index.definition(used.definition).is_some(), "{used:?}");
    }
}

/// There is an answer at every place; this tries some.
fn completed(bytes: &[u8], index: &Index, doc: Option<&DocData>) {
    let Ok(text) = str::from_utf8(bytes) else {
        return;
    };
    let file = FileId(0);
    let known = Known { index, file, doc };
    for eighth in 0..=8 {
        let (range, _) = complete(text, text.len() * eighth / 8, &known);
        assert!(text.get(range).is_some());
    }
}

/// The graph as a file means the same, where names of other files do not get in each other's way.
fn printed(graph: &Graph, sources: &Sources) {
    let page = |graph: &Graph, sources: &Sources| {
        let all: Vec<NodeId> = (0..graph.nodes.len()).map(NodeId).collect();
        expansion::text(&schema::data(graph, &all, sources))
    };
    let text = page(graph, sources);
    if graph.nodes.is_empty() || graph.nodes.iter().any(|node| node.name.value.contains('.')) {
        return;
    }
    let world = Memory(BTreeMap::from([(
        "prebuild.kdl".to_owned(),
        text.clone().into_bytes(),
    )]));
    let mut inputs = inputs();
    inputs.limits = atelier_lang::Limits::LARGE;
    let (sources, outcome) = atelier_lang::evaluate(&world, &inputs);
    let Some(again) = outcome.value else {
        panic!("{text}\n{:#?}", outcome.diagnostics);
    };
    assert_eq!(page(&again, &sources), text);
}

/// What is formatted means what it meant, and is formatted.
pub(crate) fn format(bytes: &[u8]) {
    let limit = 64 << 10;
    match format::format("x", Ok(bytes.to_vec()), limit, &mut Sources::default()) {
        Ok(_) | Err(Unformatted::Faulty(_)) => {}
        Err(Unformatted::Changed) => panic!("{:?}", String::from_utf8_lossy(bytes)),
    }
}
