//! Bytes of a text as lines and columns, as editors and reports count them: from one, columns in UTF-16 units.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Position {
    pub column: usize,
    pub line: usize,
}

/// Where the byte at `offset` stands; the text's end for one behind it. `\n`, `\r\n` and `\r` end lines.
pub fn position(text: &str, offset: usize) -> Position {
    let offset = text.floor_char_boundary(offset.min(text.len()));
    let before = &text[..offset];
    let is_split = before.ends_with('\r') && text[offset..].starts_with('\n');
    // Between the two halves of a line's end it has not ended.
    let counted = if is_split {
        &before[..offset - 1]
    } else {
        before
    };
    let mut line = 1;
    let mut start = 0;
    for (at, character) in counted.char_indices() {
        let ends = character == '\n' || (character == '\r' && !counted[at + 1..].starts_with('\n'));
        if ends {
            line += 1;
            start = at + 1;
        }
    }
    let column = before[start..].encode_utf16().count() + 1;
    Position { column, line }
}

/// The byte at a place; the line's end for a column behind it, the text's end for a line behind it.
pub fn offset(text: &str, position: Position) -> usize {
    let mut start = 0;
    for _ in 1..position.line {
        match line_end(&text[start..]) {
            Some((_, next)) => start += next,
            None => return text.len(),
        }
    }
    let rest = &text[start..];
    let line = &rest[..line_end(rest).map_or(rest.len(), |(end, _)| end)];
    let mut column = 1;
    for (at, character) in line.char_indices() {
        // A place within a character is before it.
        if column + character.len_utf16() > position.column {
            return start + at;
        }
        column += character.len_utf16();
    }
    start + line.len()
}

/// Where the first line of `rest` ends, and where the next one starts.
fn line_end(rest: &str) -> Option<(usize, usize)> {
    let end = rest.find(['\n', '\r'])?;
    let length = if rest[end..].starts_with("\r\n") {
        2
    } else {
        1
    };
    Some((end, end + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_there_and_back() {
        let text = "aé☕👩x\r\nb\rc\n";
        for (offset_, line, column) in [
            (0, 1, 1),
            (1, 1, 2),
            (3, 1, 3),
            (6, 1, 4),
            (10, 1, 6),
            (11, 1, 7),
            (13, 2, 1),
            (15, 3, 1),
            (17, 4, 1),
        ] {
            let place = Position { column, line };
            assert_eq!(position(text, offset_), place, "{offset_}");
            assert_eq!(offset(text, place), offset_, "{place:?}");
        }
    }

    #[test]
    fn places_that_are_none() {
        let text = "aé\n👩";
        assert_eq!(position(text, 99), Position { column: 3, line: 2 });
        assert_eq!(position(text, 2), position(text, 1));
        let at = |line, column| offset(text, Position { column, line });
        assert_eq!((at(1, 99), at(9, 1), at(2, 2), at(0, 0)), (3, 8, 4, 0));
        assert_eq!(position("a\r\n", 2), Position { column: 3, line: 1 });
    }
}
