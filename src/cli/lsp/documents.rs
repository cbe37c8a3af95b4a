//! The documents that an editor has open.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use atelier_lang::Limits;
use atelier_lang::complete::{self, Item, Known};
use atelier_lang::format;
use atelier_lang::source::Sources;
use atelier_lang::span::{FileId, Span};
use tower_lsp_server::ls_types::{self, Diagnostic, Location, Range, TextEdit, Uri};

use super::analysis::{self, Analysis, Role, Texts};
use super::{convert, findings};
use crate::cli::place;

/// The file that is evaluated comes first.
pub(super) const ITSELF: FileId = FileId(0);

#[derive(Default)]
pub(super) struct Documents {
    /// Of all that are open.
    texts: Texts,
    /// Of those that are ours.
    analyses: BTreeMap<PathBuf, Analysis>,
    /// Their last texts that could be read to the end.
    readable: Texts,
    /// The files that findings were told of.
    told: BTreeSet<PathBuf>,
}

impl Documents {
    /// Takes a document in. Of files in the same notation, those are ours that the editor says are, that have our name, or
    /// that the project's own file needs.
    pub(super) fn open(&mut self, path: PathBuf, text: String, is_ours: bool) {
        self.texts.insert(path.clone(), text);
        let role = if path.file_name().is_some_and(|name| name == place::FILE) {
            Some(Role::Main)
        } else if is_ours || analysis::is_needed(&path, &self.texts) {
            Some(Role::Imported)
        } else {
            None
        };
        let analysis = role.and_then(|role| Analysis::of(&path, role, &self.texts));
        if let Some(analysis) = analysis {
            self.analyses.insert(path, analysis);
        }
        self.look_again();
    }

    /// Puts another text in a document's place.
    pub(super) fn put(&mut self, path: &Path, text: String) {
        let Some(old) = self.texts.get_mut(path) else {
            return;
        };
        *old = text;
        self.look_at(|_, analysis| analysis.reads(path));
    }

    pub(super) fn close(&mut self, path: &Path) {
        self.texts.remove(path);
        self.analyses.remove(path);
        self.readable.remove(path);
        self.look_again();
    }

    /// Evaluates all anew: files on the disk may have changed.
    pub(super) fn look_again(&mut self) {
        self.look_at(|_, _| true);
    }

    fn look_at(&mut self, counts: impl Fn(&Path, &Analysis) -> bool) {
        for (path, analysis) in &mut self.analyses {
            if !counts(path, analysis) {
                continue;
            }
            if let Some(new) = Analysis::of(path, analysis.role, &self.texts) {
                *analysis = new;
            }
            if let Some(text) = self.texts.get(path).filter(|_| analysis.is_readable()) {
                self.readable.insert(path.clone(), text.clone());
            }
        }
    }

    /// The findings of each file that has some, or had.
    pub(super) fn tell(&mut self) -> BTreeMap<PathBuf, Vec<Diagnostic>> {
        let told = std::mem::take(&mut self.told).into_iter();
        let open = self.analyses.keys().cloned();
        let mut found: BTreeMap<PathBuf, Vec<Diagnostic>> =
            told.chain(open).map(|path| (path, Vec::new())).collect();
        let mut seen = BTreeSet::new();
        for analysis in self.analyses.values() {
            for (path, finding) in findings::told(self, analysis) {
                // Several may need the same file.
                let place = (finding.range.start, finding.range.end);
                if seen.insert((path.clone(), place, finding.message.clone())) {
                    found.entry(path).or_default().push(finding);
                }
            }
        }
        let some = found.iter().filter(|(_, found)| !found.is_empty());
        self.told = some.map(|(path, _)| path.clone()).collect();
        found
    }

    pub(super) fn is_ours(&self, path: &Path) -> bool {
        self.analyses.contains_key(path)
    }

    pub(super) fn text(&self, path: &Path) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    pub(super) fn analysis(&self, path: &Path) -> Option<&Analysis> {
        self.analyses.get(path)
    }

    pub(super) fn analyses(&self) -> impl Iterator<Item = &Analysis> {
        self.analyses.values()
    }

    /// The document's text and the byte at a place of it.
    pub(super) fn at(&self, path: &Path, place: ls_types::Position) -> Option<(&str, u32)> {
        let text = self.text(path)?;
        let offset = convert::offset(text, place);
        Some((text, u32::try_from(offset).ok()?))
    }

    /// Where a span of an evaluation is.
    pub(super) fn location(&self, analysis: &Analysis, span: Span) -> Option<Location> {
        let path = analysis.path(span.file)?;
        let range = self.range(analysis, &path, span);
        Some(Location {
            uri: Uri::from_file_path(path)?,
            range,
        })
    }

    pub(super) fn range(&self, analysis: &Analysis, path: &Path, span: Span) -> Range {
        let shown = analysis.sources.text(span.file);
        convert::range_of(self.text(path).unwrap_or(shown), span)
    }

    pub(super) fn complete(
        &self,
        path: &Path,
        place: ls_types::Position,
    ) -> Option<(Range, Vec<Item>)> {
        let (text, offset) = self.at(path, place)?;
        if text.len() as u64 > Limits::NORMAL.file {
            return None;
        }
        let now = self.analysis(path)?;
        // A file that is being written is often one that cannot be read: what its names were a moment ago they still are.
        let before = self.readable.get(path).filter(|_| !now.is_readable());
        let mut texts = Cow::Borrowed(&self.texts);
        let earlier = before.and_then(|before| {
            texts.to_mut().insert(path.to_owned(), before.clone());
            Analysis::of(path, now.role, &texts)
        });
        let analysis = earlier.as_ref().unwrap_or(now);
        let doc = analysis.doc(&texts);
        let known = Known {
            index: &analysis.index,
            file: ITSELF,
            doc: doc.as_ref(),
        };
        let (range, items) = complete::complete(text, offset as usize, &known);
        Some((convert::range(text, range), items))
    }

    /// `None` for what cannot be formatted, which has findings.
    pub(super) fn format(&self, path: &Path) -> Option<Vec<TextEdit>> {
        let text = self.text(path)?;
        let read = Ok(text.as_bytes().to_vec());
        let limit = Limits::LARGE.file;
        let formatted = format::format("", read, limit, &mut Sources::default()).ok()?;
        if formatted == text {
            return Some(Vec::new());
        }
        Some(vec![TextEdit {
            range: convert::whole(text),
            new_text: formatted,
        }])
    }
}
