//! What stands at a place, explained: a name, a statement, what a `use` brings, what a target is in full.

use std::path::Path;

use atelier_lang::expansion;
use atelier_lang::graph::Graph;
use atelier_lang::index::{Definition, Kind};
use atelier_lang::schema;
use atelier_lang::source::Sources;
use atelier_lang::span::Span;
use atelier_lang::table;
use tower_lsp_server::ls_types::{Hover, HoverContents, MarkupContent, MarkupKind, Position};

use super::analysis::Analysis;
use super::convert;
use super::documents::{Documents, ITSELF};

/// The longest text that is shown, in lines.
const LINES: usize = 40;

pub(super) fn hover(documents: &Documents, path: &Path, place: Position) -> Option<Hover> {
    let analysis = documents.analysis(path)?;
    let (text, offset) = documents.at(path, place)?;
    let (page, range) = match analysis.index.at(ITSELF, offset) {
        Some((definition, span)) => (
            name(analysis, definition, span),
            documents.range(analysis, path, span),
        ),
        None => {
            let word = word(text, offset as usize)?;
            (statement(&text[word.clone()])?, convert::range(text, word))
        }
    };
    Some(Hover {
        contents: HoverContents::Markup(MarkupContent {
            kind: MarkupKind::Markdown,
            value: page,
        }),
        range: Some(range),
    })
}

fn name(analysis: &Analysis, definition: &Definition, span: Span) -> String {
    let sources = &analysis.sources;
    let mut parts = vec![block(&shown(sources, definition.whole))];
    if let Some(value) = definition.value.as_ref().filter(|value| !value.is_empty()) {
        parts.push(format!("is now\n{}", block(value)));
    }
    parts.push(comment(sources, definition.name.span));
    let graph = analysis.graph.as_ref();
    let more = graph.and_then(|graph| match definition.kind {
        Kind::Prebuild => target(graph, &definition.name.value, sources),
        Kind::Template => brought(graph, span, sources),
        _ => None,
    });
    parts.extend(more.map(|more| format!("expands to\n{}", block(&more))));
    parts.join("\n")
}

/// A prebuild with nothing left to expand.
fn target(graph: &Graph, name: &str, sources: &Sources) -> Option<String> {
    let id = graph.find(name)?;
    Some(expansion::text(&schema::data(graph, &[id], sources)))
}

/// The steps and files that the `use` at a place brings, of the first target that has it.
fn brought(graph: &Graph, at: Span, sources: &Sources) -> Option<String> {
    let is_it = |use_: Span| use_.file == at.file && use_.start <= at.start && at.end <= use_.end;
    let is_brought = |span: Span| sources.trace(span).any(|expansion| is_it(expansion.span));
    let lines = graph.nodes.iter().map(|node| {
        let repos = node.repos.iter().map(|repo| repo.span);
        let files = node.files.iter().map(|file| file.span);
        let steps = node.steps.iter().filter(|step| is_brought(step.span));
        let steps =
            steps.map(|step| format!("run {}", atelier_lang::spelling::quoted(&step.command)));
        let others = repos.chain(files).filter(|span| is_brought(*span));
        let others = others.map(|span| sources.slice(span).to_owned());
        others.chain(steps).collect::<Vec<String>>()
    });
    let lines = lines.into_iter().find(|lines| !lines.is_empty())?;
    Some(lines.join("\n"))
}

/// How a statement is written.
fn statement(word: &str) -> Option<String> {
    let row = table::find(word)?;
    Some(format!(
        "{}such as\n{}in the key: {}\n",
        block(row.form),
        block(row.example),
        row.key
    ))
}

/// The word at a byte.
fn word(text: &str, offset: usize) -> Option<std::ops::Range<usize>> {
    let is_part = |c: char| c.is_ascii_lowercase();
    let before = text.get(..offset)?;
    let start = before.trim_end_matches(is_part).len();
    let rest = text.get(start..)?;
    let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    (length > 0).then(|| start..start + length)
}

fn shown(sources: &Sources, span: Span) -> String {
    let text = sources.slice(span);
    let lines: Vec<&str> = text.lines().take(LINES).collect();
    lines.join("\n")
}

/// What is said of a definition right above it.
fn comment(sources: &Sources, span: Span) -> String {
    atelier_lang::doc::comment(sources.text(span.file), span.start)
}

fn block(text: &str) -> String {
    // No text closes it.
    format!("````kdl\n{}\n````\n", text.trim_end())
}
