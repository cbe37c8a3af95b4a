//! The files of an evaluation as they are read: their texts as the parser saw them, and where they stand.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::diag::Diagnostic;
use crate::load::Loaded;
use crate::source::{Sources, VirtualPath};
use crate::span::{FileId, Span};

#[derive(Default)]
pub(crate) struct Files(BTreeMap<FileId, File>);

struct File {
    /// `None` for one that is in no project.
    path: Option<VirtualPath>,
    loaded: Loaded,
}

impl Files {
    pub(crate) fn add(&mut self, path: Option<VirtualPath>, loaded: Loaded) {
        self.0.insert(loaded.file, File { path, loaded });
    }

    /// What stands at `span`, as the parser saw it; empty where the span does not fit.
    pub(crate) fn slice(&self, span: Span) -> &str {
        let file = self.0.get(&span.file);
        file.map_or("", |file| file.loaded.slice(span))
    }

    /// The part of the text `value`, written at `span`, that is at `range`, if it can be told.
    pub(crate) fn within(&self, span: Span, value: &str, range: Range<usize>) -> Option<Span> {
        let written = self.slice(span);
        let whole = written.find(value).map(|at| at + range.start);
        // Spelled otherwise: the parts that are alike come in the same order.
        let part = || {
            let part = value.get(range.clone()).filter(|part| !part.is_empty())?;
            let before = value.get(..range.start)?.matches(part).count();
            let mut alike = written.match_indices(part);
            alike.nth(before).map(|(at, _)| at)
        };
        let at = whole.or_else(part).filter(|_| !range.is_empty())?;
        Some(span.within(at..at + range.len()))
    }

    pub(crate) fn path(&self, file: FileId) -> Option<&VirtualPath> {
        self.0.get(&file)?.path.as_ref()
    }

    /// Where a span of the parser's text is in the file itself.
    pub(crate) fn before(&self, span: Span) -> Span {
        let file = self.0.get(&span.file);
        file.map_or(span, |file| file.loaded.before(span))
    }

    /// The findings with their spans moved to where they are in the files themselves.
    pub(crate) fn placed(&self, found: Vec<Diagnostic>) -> impl Iterator<Item = Diagnostic> {
        let place = |finding: Diagnostic| finding.moved(|span| self.before(span));
        found.into_iter().map(place)
    }

    /// Moves the places of expansions likewise.
    pub(crate) fn place(&self, sources: &mut Sources) {
        for expansion in sources.expansions_mut() {
            expansion.span = self.before(expansion.span);
        }
    }
}
