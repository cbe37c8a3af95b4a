//! What a document defines, as an outline.

use std::path::Path;

use atelier_lang::index::{Definition, Kind};
use tower_lsp_server::ls_types::{DocumentSymbol, Range, SymbolKind};

use super::analysis::Analysis;
use super::documents::{Documents, ITSELF};
use super::names::is_inner;

/// What the document defines; what belongs to a template or a prebuild is inside of it.
pub(super) fn symbols(documents: &Documents, path: &Path) -> Option<Vec<DocumentSymbol>> {
    let analysis = documents.analysis(path)?;
    let own = |found: &&Definition| found.name.span.file == ITSELF;
    let definitions = || analysis.index.definitions.iter().filter(own);
    let outer = definitions().filter(|found| !is_inner(found.kind));
    let symbols = outer.map(|found| {
        let range = documents.range(analysis, path, found.whole);
        let inner = definitions().filter(|found| is_inner(found.kind));
        let inner = inner.map(|found| symbol(documents, analysis, path, found, Vec::new()));
        let inside =
            inner.filter(|inner| range.start <= inner.range.start && inner.range.end <= range.end);
        symbol(documents, analysis, path, found, inside.collect())
    });
    let mut symbols: Vec<DocumentSymbol> = symbols.collect();
    symbols.sort_by_key(|symbol| symbol.range.start);
    Some(symbols)
}

fn symbol(
    documents: &Documents,
    analysis: &Analysis,
    path: &Path,
    found: &Definition,
    children: Vec<DocumentSymbol>,
) -> DocumentSymbol {
    let range = documents.range(analysis, path, found.whole);
    let name = documents.range(analysis, path, found.name.span);
    #[expect(
        deprecated,
        reason = "a field of the protocol's that has to be left empty"
    )]
    DocumentSymbol {
        name: found.name.value.clone(),
        detail: found.value.clone(),
        kind: match found.kind {
            Kind::Import => SymbolKind::PACKAGE,
            Kind::Let => SymbolKind::CONSTANT,
            Kind::Param | Kind::Parameter | Kind::Axis => SymbolKind::VARIABLE,
            Kind::Template => SymbolKind::FUNCTION,
            Kind::Prebuild => SymbolKind::MODULE,
            Kind::Group => SymbolKind::NAMESPACE,
        },
        tags: None,
        deprecated: None,
        // The name has to be inside.
        range: Range {
            start: range.start.min(name.start),
            end: range.end.max(name.end),
        },
        selection_range: name,
        children: Some(children).filter(|children| !children.is_empty()),
    }
}
