//! Strings: other tools' spellings, escapes that KDL does not have, indentation that is not shared.

use std::ops::Range;

use super::Page;
use crate::code;
use crate::diag::Diagnostic;
use crate::lex::{Fault, Kind, Spelling, is_newline, is_space};
use crate::limits::span;
use crate::spelling::{quoted, visible};

impl Page<'_> {
    /// `r"…"`: the `r` goes, and one `#` must be there.
    pub(super) fn old_raw(&self, at: usize, found: &mut Vec<Diagnostic>) {
        let written = self.written(at);
        let behind = written.strip_prefix('r').unwrap_or(written);
        let hashed = if behind.starts_with('#') {
            behind.to_owned()
        } else {
            format!("#{behind}#")
        };
        let message = "KDL 2 writes raw strings without `r`";
        let label = "a raw string of KDL 1";
        let range = self.range(at);
        found.push(if hashed.contains(is_newline) {
            Diagnostic::error(code::KDL_1_RAW_STRING, self.span(&range), message, label)
                .help("write #\"\"\", the lines, and \"\"\"# on a line of its own")
        } else {
            self.habit(code::KDL_1_RAW_STRING, &range, message, label, hashed)
        });
    }

    /// `'…'`
    pub(super) fn single(&self, at: usize, found: &mut Vec<Diagnostic>) {
        let written = self.written(at);
        let inner = written.get(1..written.len() - 1).unwrap_or("");
        let message = "`'` does not quote";
        let label = "a shell's or YAML's habit";
        let range = self.range(at);
        found.push(self.habit(code::FOREIGN_SYNTAX, &range, message, label, quoted(inner)));
    }

    pub(super) fn string(&self, at: usize, found: &mut Vec<Diagnostic>) {
        let Some(Kind::Text { spelling, fault }) = self.kind(at) else {
            return;
        };
        if fault != Some(Fault::Unclosed)
            && matches!(spelling, Spelling::Quoted | Spelling::MultiLine)
        {
            self.escapes(at, found);
        }
        if fault.is_none() && matches!(spelling, Spelling::MultiLine | Spelling::MultiLineRaw) {
            found.extend(self.indentation(at, spelling == Spelling::MultiLine));
        }
    }

    fn escapes(&self, at: usize, found: &mut Vec<Diagnostic>) {
        let start = self.tokens[at].start;
        let written = self.written(at);
        let mut rest = written.char_indices();
        while let Some((offset, character)) = rest.next() {
            if character != '\\' {
                continue;
            }
            let Some((_, escaped)) = rest.next() else {
                return;
            };
            let is_known = match escaped {
                '\\' | '"' | 'b' | 'f' | 'n' | 'r' | 't' | 's' => true,
                'u' => is_code_point(&written[offset + 2..]),
                other => is_space(other) || is_newline(other),
            };
            if is_known {
                continue;
            }
            let range = start + offset..start + offset + 1 + escaped.len_utf8();
            let message = format!(
                "no escape `\\{}` in a quoted string",
                visible(&escaped.to_string())
            );
            let backslash = span(self.file, range.start, range.start + 1);
            found.push(
                Diagnostic::error(
                    code::BAD_ESCAPE,
                    self.span(&range),
                    message,
                    "KDL has none such",
                )
                .help("write `\\\\`; a raw string, #\"…\"#, keeps backslashes as they are")
                .fix(backslash, "\\\\"),
            );
        }
    }

    /// Each line must start like the closing one.
    fn indentation(&self, at: usize, has_escapes: bool) -> Option<Diagnostic> {
        let token = self.tokens[at];
        let written = self.written(at);
        let lines = lines(written);
        let (close, body) = lines.split_last()?;
        let indent = leading(&written[close.clone()]);
        if has_escapes
            && written[close.clone()]
                .trim_start_matches(is_space)
                .starts_with('\\')
        {
            return None;
        }
        let is_bad = |line: &Range<usize>| {
            let text = &written[line.clone()];
            leading(text).len() < text.len() && !text.starts_with(indent)
        };
        let mut goes_on = false;
        let mut bad = Vec::new();
        for line in body.iter().skip(1) {
            if !goes_on && is_bad(line) {
                bad.push(line.start..line.start + leading(&written[line.clone()]).len());
            }
            goes_on = has_escapes && ends_escaped(&written[line.clone()]);
        }
        let (first, last) = bad.first().zip(bad.last())?;
        let mut fixed = String::new();
        let mut from = first.start;
        for own in &bad {
            fixed.push_str(&written[from..own.start]);
            fixed.push_str(indent);
            from = own.end;
        }
        let place =
            |range: Range<usize>| self.span(&(token.start + range.start..token.start + range.end));
        let message = "a line does not share the closing line's indentation";
        let own = told(&written[first.clone()]);
        Some(
            Diagnostic::error(code::INDENTATION, place(first.clone()), message, own)
                .and(place(close.start..close.start + indent.len()), told(indent))
                .help("start each line with exactly what stands before the closing `\"\"\"`")
                .fix(place(first.start..last.end), fixed),
        )
    }
}

/// `{1f600}`, as it follows `\u`.
fn is_code_point(rest: &str) -> bool {
    let digits = rest
        .strip_prefix('{')
        .and_then(|rest| rest.split_once('}'))
        .map(|(digits, _)| digits);
    let digits = digits.filter(|digits| (1..=6).contains(&digits.len()));
    let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    number.and_then(char::from_u32).is_some() && !rest.starts_with("{+")
}

/// The lines of a string, the opening one first.
fn lines(written: &str) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut start = 0;
    for (at, character) in written.char_indices() {
        if is_newline(character) && !written[at..].starts_with("\r\n") {
            let end = if at > start && written[..at].ends_with('\r') && character == '\n' {
                at - 1
            } else {
                at
            };
            lines.push(start..end);
            start = at + character.len_utf8();
        }
    }
    lines.push(start..written.len());
    lines
}

fn leading(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches(is_space).len()]
}

/// Whether a `\` takes away the line's end.
fn ends_escaped(line: &str) -> bool {
    let line = line.trim_end_matches(is_space);
    (line.len() - line.trim_end_matches('\\').len()) % 2 == 1
}

fn told(indent: &str) -> String {
    let tabs = indent.matches('\t').count();
    let spaces = indent.chars().count() - tabs;
    let count = |number: usize, what: &str| match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    };
    match (tabs, spaces) {
        (0, 0) => "nothing here".to_owned(),
        (0, spaces) => format!("{} here", count(spaces, "space")),
        (tabs, 0) => format!("{} here", count(tabs, "tab")),
        (tabs, spaces) => format!("{} and {} here", count(tabs, "tab"), count(spaces, "space")),
    }
}
