//! Names: where they are defined and used, and other names for them.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use atelier_lang::index::{Definition, Index, Kind};
use atelier_lang::span::Span;
use tower_lsp_server::ls_types::{Location, Position, Range, TextEdit, Uri, WorkspaceEdit};

use super::analysis::Analysis;
use super::documents::{Documents, ITSELF};

/// The name at a place, and where exactly it stands.
fn named<'a>(
    documents: &'a Documents,
    path: &Path,
    place: Position,
) -> Option<(&'a Analysis, &'a Definition, Span)> {
    let analysis = documents.analysis(path)?;
    let (_, offset) = documents.at(path, place)?;
    let (definition, span) = analysis.index.at(ITSELF, offset)?;
    Some((analysis, definition, span))
}

/// What an import's name leads to is the file.
pub(super) fn definition(documents: &Documents, path: &Path, place: Position) -> Option<Location> {
    let (analysis, definition, span) = named(documents, path, place)?;
    if definition.kind == Kind::Import && span == definition.name.span {
        let aliases = analysis.index.aliases(span.file).iter();
        let mut files = aliases.filter(|(alias, _)| *alias == definition.name.value);
        let (_, file) = files.next()?;
        return documents.location(analysis, Span::new(*file, 0, 0));
    }
    documents.location(analysis, definition.name.span)
}

/// A place in a file: what several evaluations agree on.
type Place = (PathBuf, u32, u32);

fn place(analysis: &Analysis, span: Span) -> Place {
    (analysis.name(span.file), span.start, span.end)
}

/// Where the name is used, in all files that the open ones need.
fn uses<'a>(
    documents: &'a Documents,
    defined: &Place,
) -> impl Iterator<Item = (&'a Analysis, Span)> {
    documents.analyses().flat_map(move |analysis| {
        let definitions = analysis.index.definitions.iter();
        let is_it = |found: &&Definition| place(analysis, found.name.span) == *defined;
        let names: Vec<Span> = definitions
            .filter(is_it)
            .map(|found| found.name.span)
            .collect();
        let uses = names
            .into_iter()
            .flat_map(|name| analysis.index.uses_of(name));
        uses.map(move |span| (analysis, span)).collect::<Vec<_>>()
    })
}

pub(super) fn references(
    documents: &Documents,
    path: &Path,
    at: Position,
    with_definition: bool,
) -> Option<Vec<Location>> {
    let (analysis, definition, _) = named(documents, path, at)?;
    let defined = place(analysis, definition.name.span);
    let own = with_definition.then_some((analysis, definition.name.span));
    let mut seen = BTreeSet::new();
    let places = own.into_iter().chain(uses(documents, &defined));
    let new = places.filter(|(analysis, span)| seen.insert(place(analysis, *span)));
    Some(
        new.filter_map(|(analysis, span)| documents.location(analysis, span))
            .collect(),
    )
}

/// Where the name stands that can be another.
pub(super) fn renamable(documents: &Documents, path: &Path, place: Position) -> Option<Range> {
    let (analysis, definition, span) = named(documents, path, place)?;
    let is_own = !analysis.sources.is_library(definition.name.span.file);
    is_own.then(|| documents.range(analysis, path, span))
}

/// What has a name already that a definition is to have.
fn taken(analysis: &Analysis, definition: &Definition, new: &str) -> Option<&'static str> {
    let of_file = definition.name.span.file;
    let definitions = || analysis.index.definitions.iter();
    let outer = |inner: &Definition| {
        let name = inner.name.span;
        let holds = |outer: &Span| {
            outer.file == name.file && outer.start <= name.start && name.end <= outer.end
        };
        let outer = definitions()
            .filter(|outer| is_outer(outer.kind))
            .map(|outer| outer.whole);
        outer.filter(|_| is_inner(inner.kind)).find(holds)
    };
    let mut others = definitions().filter(|other| {
        other.name.value == new
            && other.name.span.file == of_file
            && namespace(other.kind) == namespace(definition.kind)
            && (!is_inner(other.kind)
                || !is_inner(definition.kind)
                || outer(other) == outer(definition))
    });
    others.next().map(|other| match namespace(other.kind) {
        Namespace::Imports => "an import",
        Namespace::Values => "a value",
        Namespace::Templates => "a template",
        Namespace::Targets => "a target",
    })
}

/// What is in one can have the names of what is in another.
#[derive(PartialEq)]
enum Namespace {
    Imports,
    Values,
    Templates,
    Targets,
}

fn namespace(kind: Kind) -> Namespace {
    match kind {
        Kind::Import => Namespace::Imports,
        Kind::Let | Kind::Param | Kind::Parameter | Kind::Axis => Namespace::Values,
        Kind::Template => Namespace::Templates,
        Kind::Prebuild | Kind::Group => Namespace::Targets,
    }
}

pub(super) fn is_inner(kind: Kind) -> bool {
    matches!(kind, Kind::Parameter | Kind::Axis)
}

fn is_outer(kind: Kind) -> bool {
    matches!(kind, Kind::Template | Kind::Prebuild)
}

/// The edits that give the name at a place another; an error says why it cannot be.
pub(super) fn rename(
    documents: &Documents,
    path: &Path,
    at: Position,
    new: &str,
) -> Result<Option<WorkspaceEdit>, String> {
    let Some((analysis, definition, _)) = named(documents, path, at) else {
        return Ok(None);
    };
    if analysis.sources.is_library(definition.name.span.file) {
        return Err("it comes with atelier".to_owned());
    }
    if !Index::is_name(new) {
        return Err(format!(
            "`{new}` is not a name: a lower-case letter, then up to 39 of a-z, 0-9 and `-`"
        ));
    }
    if let Some(taken) = taken(analysis, definition, new) {
        return Err(format!("there is {taken} `{new}` already"));
    }
    let defined = place(analysis, definition.name.span);
    let mut seen = BTreeSet::new();
    let mut changes: HashMap<Uri, Vec<TextEdit>> = HashMap::new();
    let own = std::iter::once((analysis, definition.name.span));
    for (analysis, span) in own.chain(uses(documents, &defined)) {
        if !seen.insert(place(analysis, span)) {
            continue;
        }
        if let Some(location) = documents.location(analysis, span) {
            let written = analysis.sources.slice(span).trim_matches(['"', '#']);
            let is_path = definition.kind == Kind::Import && written != definition.name.value;
            // An import whose name is the file's is given one.
            let (range, new_text) = match is_path {
                true => (
                    Range {
                        start: location.range.end,
                        ..location.range
                    },
                    format!(" as={new}"),
                ),
                false => (location.range, new.to_owned()),
            };
            changes
                .entry(location.uri)
                .or_default()
                .push(TextEdit { range, new_text });
        }
    }
    Ok(Some(WorkspaceEdit {
        changes: Some(changes),
        ..WorkspaceEdit::default()
    }))
}
