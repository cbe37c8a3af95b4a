//! Lines and values as `fmt` would leave them.

use std::fmt::Write as _;

use crate::lex::is_newline;
use crate::spelling::{is_odd, quoted};

const INDENT: &str = "    ";

#[derive(Default)]
pub(super) struct Page {
    pub(super) text: String,
    depth: usize,
}

impl Page {
    pub(super) fn blank(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    pub(super) fn line(&mut self, words: &[impl AsRef<str>]) {
        self.text.push_str(&INDENT.repeat(self.depth));
        let words = words.iter().map(AsRef::as_ref);
        self.text.push_str(&words.collect::<Vec<&str>>().join(" "));
        self.text.push('\n');
    }

    /// A line that opens a block.
    pub(super) fn open(&mut self, words: &[String]) {
        let words = words.iter().map(String::as_str).chain(["{"]);
        self.line(&words.collect::<Vec<_>>());
        self.depth += 1;
    }

    pub(super) fn close(&mut self) {
        self.depth -= 1;
        self.line(&["}"]);
    }

    /// A text as a value: lines as lines, if they can be.
    pub(super) fn value(&self, text: &str) -> String {
        let is_plain = |c: char| c == '\n' || c == '\t' || !(is_newline(c) || is_odd(c));
        let is_blank = |line: &str| !line.is_empty() && line.trim().is_empty();
        let fits =
            text.chars().all(is_plain) && !text.contains("\"\"\"") && !text.lines().any(is_blank);
        if !text.contains('\n') || !fits {
            return word(text);
        }
        let indent = INDENT.repeat(self.depth + 1);
        let mut lines = String::from("#\"\"\"\n");
        for line in text.split('\n') {
            if !line.is_empty() {
                lines.push_str(&indent);
            }
            lines.push_str(line);
            lines.push('\n');
        }
        lines + &indent + "\"\"\"#"
    }
}

pub(super) fn property(key: &str, value: &str) -> String {
    let mut property = String::from(key);
    let _ = write!(property, "={}", word(value));
    property
}

/// Bare where it is certain that it may be.
pub(super) fn word(text: &str) -> String {
    let is_bare = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && !matches!(text, "true" | "false" | "null" | "inf" | "nan");
    if is_bare {
        text.to_owned()
    } else {
        quoted(text)
    }
}
