//! Applies edits to a text and tells where each place of the result was before.
//!
//! It serves `lint --fix`, and the reading itself: a file with a slip is read as if the slip were put right, so that its other faults show too.

use std::ops::Range;

use crate::diag::{Diagnostic, Edit};
use crate::span::{FileId, Span};

/// One round of edits: where they were, and how long their replacements are.
#[derive(Debug, Default)]
pub(crate) struct Repair {
    changes: Vec<Change>,
}

#[derive(Debug)]
struct Change {
    before: Range<usize>,
    after: Range<usize>,
}

/// The text with the edits made. An edit that overlaps an earlier one is left out.
pub(crate) fn apply(text: &str, edits: impl Iterator<Item = Edit>) -> (String, Repair) {
    let mut edits: Vec<Edit> = edits.collect();
    edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let mut repaired = String::with_capacity(text.len());
    let mut changes = Vec::new();
    let mut at = 0;
    for edit in edits {
        let before = edit.span.start as usize..edit.span.end as usize;
        let Some(kept) = text.get(at..before.start) else {
            continue;
        };
        if text.get(before.clone()).is_none() {
            continue;
        }
        repaired.push_str(kept);
        let start = repaired.len();
        repaired.push_str(&edit.replacement);
        at = before.end;
        changes.push(Change {
            before,
            after: start..repaired.len(),
        });
    }
    repaired.push_str(text.get(at..).unwrap_or(""));
    (repaired, Repair { changes })
}

/// The text of `file` with what `diagnostics` suggest there carried out, as far as the edits do not overlap: what is left
/// shows when the result is evaluated again.
pub fn fixed(text: &str, file: FileId, diagnostics: &[Diagnostic]) -> String {
    let edits = diagnostics.iter().filter_map(|found| found.fix.as_deref());
    let here = edits.filter(|edit| edit.span.file == file);
    apply(text, here.cloned()).0
}

impl Repair {
    /// Where `span` of the repaired text was; what lies in a replacement is the whole of what it replaced.
    pub(crate) fn before(&self, span: Span) -> Span {
        let at = |offset: u32, is_end: bool| {
            u32::try_from(self.offset_before(offset as usize, is_end)).unwrap_or(offset)
        };
        Span {
            start: at(span.start, false),
            end: at(span.end, true),
            ..span
        }
    }

    fn offset_before(&self, offset: usize, is_end: bool) -> usize {
        // What was deleted right behind a span's end is not part of the span.
        let is_before = |change: &Change| !is_end || change.after.start < offset;
        let is_passed = |change: &Change| change.after.end <= offset && is_before(change);
        let passed = self.changes.partition_point(is_passed);
        let inside = self
            .changes
            .get(passed)
            .filter(|change| change.after.start < offset);
        let last = passed
            .checked_sub(1)
            .and_then(|last| self.changes.get(last));
        match (inside, last) {
            (Some(change), _) if is_end => change.before.end,
            (Some(change), _) => change.before.start,
            (None, Some(change)) => change.before.end + (offset - change.after.end),
            (None, None) => offset,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: u32, end: u32) -> Span {
        Span::new(FileId(0), start, end)
    }

    #[test]
    fn places_are_found_again() {
        let edits = [
            Edit {
                span: span(2, 5),
                replacement: "\"abc\"".to_owned(),
            },
            Edit {
                span: span(4, 6),
                replacement: "overlaps".to_owned(),
            },
            Edit {
                span: span(7, 8),
                replacement: String::new(),
            },
        ];
        let (text, repair) = apply("x abc yz w", edits.into_iter());
        assert_eq!(text, "x \"abc\" y w");
        assert_eq!(repair.before(span(2, 7)), span(2, 5));
        assert_eq!(repair.before(span(3, 4)), span(2, 5));
        assert_eq!(repair.before(span(0, 1)), span(0, 1));
        assert_eq!(repair.before(span(8, 9)), span(6, 7));
        assert_eq!(repair.before(span(10, 11)), span(9, 10));
    }
}
