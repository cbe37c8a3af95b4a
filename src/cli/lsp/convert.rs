//! Places as the protocol counts them: from zero, columns in UTF-16 units.

use std::ops;

use atelier_lang::position::{self, Position};
use atelier_lang::span::Span;
use tower_lsp_server::ls_types::{self, Range};

pub(super) fn range(text: &str, bytes: ops::Range<usize>) -> Range {
    Range {
        start: place(position::position(text, bytes.start)),
        end: place(position::position(text, bytes.end)),
    }
}

pub(super) fn range_of(text: &str, span: Span) -> Range {
    range(text, span.start as usize..span.end as usize)
}

pub(super) fn whole(text: &str) -> Range {
    range(text, 0..text.len())
}

/// The byte at a place; one that is behind a line's end, or the text's, is there.
pub(super) fn offset(text: &str, place: ls_types::Position) -> usize {
    let count = |number: u32| {
        usize::try_from(number)
            .unwrap_or(usize::MAX)
            .saturating_add(1)
    };
    let position = Position {
        column: count(place.character),
        line: count(place.line),
    };
    position::offset(text, position)
}

fn place(position: Position) -> ls_types::Position {
    let count = |number: usize| u32::try_from(number.saturating_sub(1)).unwrap_or(u32::MAX);
    ls_types::Position {
        line: count(position.line),
        character: count(position.column),
    }
}
