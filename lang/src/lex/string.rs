//! The spellings of a string, KDL's and others'. Each takes the rest of the text, which starts with the string.

use super::{Fault, Kind, Spelling, is_newline, is_space};

const fn text(spelling: Spelling, fault: Option<Fault>, length: usize) -> (Kind, usize) {
    (Kind::Text { spelling, fault }, length)
}

/// `"…"` or `"""…"""`.
pub(super) fn quoted(rest: &str) -> (Kind, usize) {
    if let Some(body) = rest.strip_prefix("\"\"\"") {
        let fault = opening(body);
        return match closing(body, "\"\"\"") {
            Some(end) => {
                let fault = fault.or_else(|| last_line(&body[..end], Escapes::Known));
                text(Spelling::MultiLine, fault, 3 + end + 3)
            }
            None => text(Spelling::MultiLine, Some(Fault::Unclosed), rest.len()),
        };
    }
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return text(Spelling::Quoted, None, at + 1),
            '\\' => {
                let (_, escaped) = characters.next().unwrap_or((at, ' '));
                let takes_space = |c: char| is_space(c) || is_newline(c);
                if takes_space(escaped) {
                    while characters.next_if(|(_, c)| takes_space(*c)).is_some() {}
                }
            }
            newline if is_newline(newline) => {
                return text(Spelling::Quoted, Some(Fault::Unclosed), at);
            }
            _ => {}
        }
    }
    text(Spelling::Quoted, Some(Fault::Unclosed), rest.len())
}

/// `#"…"#` or `#"""…"""#`, with any number of hashes.
pub(super) fn raw(rest: &str) -> Option<(Kind, usize)> {
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    let body = &rest[hashes..];
    if let Some(body) = body.strip_prefix("\"\"\"") {
        let fault = opening(body);
        let close = format!("\"\"\"{}", &rest[..hashes]);
        return Some(match body.find(&close) {
            Some(end) => text(
                Spelling::MultiLineRaw,
                fault.or_else(|| last_line(&body[..end], Escapes::None)),
                hashes + 3 + end + close.len(),
            ),
            None if fault.is_some() => text(
                Spelling::MultiLineRaw,
                fault,
                body.find(is_newline)
                    .map_or(rest.len(), |end| hashes + 3 + end),
            ),
            None => text(Spelling::MultiLineRaw, Some(Fault::Unclosed), rest.len()),
        });
    }
    let body = body.strip_prefix('"')?;
    let close = format!("\"{}", &rest[..hashes]);
    let line = body.find(is_newline).unwrap_or(body.len());
    Some(match body[..line].find(&close) {
        Some(end) => text(Spelling::Raw, None, hashes + 1 + end + close.len()),
        None => text(Spelling::Raw, Some(Fault::Unclosed), hashes + 1 + line),
    })
}

/// `r"…"` or `r#"…"#`.
pub(super) fn old_raw(rest: &str) -> Option<(Kind, usize)> {
    let behind = rest.strip_prefix('r')?;
    let hashes = behind.len() - behind.trim_start_matches('#').len();
    let body = behind[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", &behind[..hashes]);
    let length = body.find(&close)? + 2 + hashes + close.len();
    Some(text(Spelling::OldRaw, None, length))
}

/// How far a closing `'` is looked for: a text of quotes would be read again for each of them.
const SINGLE: usize = 2 << 10;

/// `'…'` on one line, where something that ends a value follows.
pub(super) fn single(rest: &str) -> Option<(Kind, usize)> {
    let mut characters = rest.char_indices().skip(1).take(SINGLE).peekable();
    while let Some((at, character)) = characters.next() {
        if is_newline(character) {
            return None;
        }
        let next = characters.peek().map(|(_, next)| *next);
        let ends =
            next.is_none_or(|c| is_space(c) || is_newline(c) || matches!(c, ';' | '{' | '}'));
        if character == '\'' && ends {
            return Some(text(Spelling::Single, None, at + 1));
        }
    }
    None
}

/// What is wrong with a `"""`, looking at what stands behind it.
fn opening(body: &str) -> Option<Fault> {
    if body.starts_with(is_newline) {
        None
    } else {
        Some(Fault::NoNewline)
    }
}

/// Whether `\` takes away the space behind it.
#[derive(Clone, Copy, PartialEq)]
enum Escapes {
    Known,
    None,
}

/// What is wrong with the end of a `"""` whose content is `body`: nothing but space may stand before it on its line, which
/// begins further up where a `\` takes line breaks away. The parser would take what is inside for statements, and what is
/// inside has passed no guard.
fn last_line(body: &str, escapes: Escapes) -> Option<Fault> {
    let is_blank = |c: char| is_space(c) || is_newline(c);
    let escaped = |text: &str| {
        let slashes = text.len() - text.trim_end_matches('\\').len();
        escapes == Escapes::Known && slashes % 2 == 1
    };
    let mut rest = body;
    loop {
        let line = rest.trim_end_matches(is_space);
        let above = rest.trim_end_matches(is_blank);
        rest = match (escaped(line), line.ends_with(is_newline)) {
            (true, _) => &line[..line.len() - 1],
            (false, true) if escaped(above) => &above[..above.len() - 1],
            (false, true) => return None,
            (false, false) => return Some(Fault::LastLine),
        };
    }
}

/// Where `close` stands, escaped characters aside.
fn closing(body: &str, close: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, character) in body.char_indices() {
        if is_escaped {
            is_escaped = false;
        } else if character == '\\' {
            is_escaped = true;
        } else if body[at..].starts_with(close) {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::lex;
    use super::*;

    fn first(source: &str) -> (Kind, &str) {
        let tokens = lex(source);
        (tokens[0].kind, tokens[0].text(source))
    }

    #[test]
    fn spellings() {
        for (source, length, spelling, fault) in [
            ("\"a\\\"b\" c", 6, Spelling::Quoted, None),
            ("\"a\\  \n  b\" c", 10, Spelling::Quoted, None),
            ("\"a\nb\"", 2, Spelling::Quoted, Some(Fault::Unclosed)),
            ("\"\" x", 2, Spelling::Quoted, None),
            ("\"\"\"\n\\\"\"\"\n\"\"\" x", 12, Spelling::MultiLine, None),
            (
                "\"\"\"one\"\"\" x",
                9,
                Spelling::MultiLine,
                Some(Fault::NoNewline),
            ),
            (
                "\"\"\"\na\"\"\" x",
                8,
                Spelling::MultiLine,
                Some(Fault::LastLine),
            ),
            (
                "\"\"\"\n a \\\n \"\"\" x",
                13,
                Spelling::MultiLine,
                Some(Fault::LastLine),
            ),
            (
                "\"\"\"\n a\n \\\n\n \"\"\" x",
                15,
                Spelling::MultiLine,
                None,
            ),
            ("\"\"\"\n a \\\\\n \"\"\" x", 14, Spelling::MultiLine, None),
            (
                "#\"\"\"\na\"\"\"# x",
                10,
                Spelling::MultiLineRaw,
                Some(Fault::LastLine),
            ),
            ("#\"\"\"\na\\\n\"\"\"# x", 12, Spelling::MultiLineRaw, None),
            ("##\"a\"#b\"## x", 10, Spelling::Raw, None),
            ("#\"\"\"\na\n\"\"\"# x", 11, Spelling::MultiLineRaw, None),
            (
                "#\"\"\"one\"\"\"# x",
                11,
                Spelling::MultiLineRaw,
                Some(Fault::NoNewline),
            ),
            ("r\"\\d\" x", 5, Spelling::OldRaw, None),
            ("r#\"a\"# x", 6, Spelling::OldRaw, None),
            ("'a \"b\"' x", 7, Spelling::Single, None),
        ] {
            assert_eq!(first(source), text_of(source, length, spelling, fault));
        }
    }

    fn text_of(
        source: &str,
        length: usize,
        spelling: Spelling,
        fault: Option<Fault>,
    ) -> (Kind, &str) {
        (Kind::Text { spelling, fault }, &source[..length])
    }
}
