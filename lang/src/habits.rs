//! Spellings that are not KDL but plainly mean something: KDL 1, YAML, TOML, shells, and the bare values that KDL
//! cannot read. Each finding carries the edit that sets it right, so that the rest of the file can be read too.
//!
//! It sees tokens, never a tree: where these mistakes are, the parser gives up or understands something else.

mod comment;
mod glued;
mod line;
mod text;
mod word;

use std::ops::Range;

use crate::diag::{Code, Diagnostic};
use crate::lex::{Kind, Token};
use crate::limits::span;
use crate::span::{FileId, Span};
use crate::spelling::visible;

/// More than these are not slips: the file is something else.
pub(crate) const SHOWN: usize = 20;

/// What a token is for, as far as its neighbours tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// A node's name.
    Name,
    Argument,
    /// A property's key.
    Key,
    /// What stands behind `=`.
    Value,
    /// Inside `( )`.
    Annotation,
    /// No word and no string.
    Other,
}

/// A file's tokens and their roles.
struct Page<'a> {
    text: &'a str,
    file: FileId,
    tokens: &'a [Token],
    roles: Vec<Role>,
    /// A late `*/` that closes nothing: the comment it was meant for has ended before.
    orphan: Option<usize>,
}

/// All such findings, in source order; at most [`SHOWN`].
pub(crate) fn find(text: &str, tokens: &[Token], file: FileId) -> Vec<Diagnostic> {
    let orphan = |token: &Token| token.kind == Kind::Word && token.text(text).starts_with("*/");
    let orphan = tokens.iter().rposition(orphan);
    let page = Page {
        text,
        file,
        tokens,
        roles: roles(tokens),
        orphan,
    };
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() && found.len() < SHOWN {
        at = page.look(at, &mut found).max(at + 1);
        if found
            .last()
            .is_some_and(|last| last.code == crate::code::COMMENT_CLOSED_EARLY)
        {
            break;
        }
    }
    found.truncate(SHOWN);
    found
}

/// Newlines, `;` and braces start a node; what follows its name are entries.
fn roles(tokens: &[Token]) -> Vec<Role> {
    let mut roles = vec![Role::Other; tokens.len()];
    let mut named = false;
    let mut dashed = false;
    let mut parens = false;
    let mut last: Option<usize> = None;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::LineComment | Kind::HashComment => continue,
            Kind::Newline if dashed => continue,
            _ if token.is_blank() => continue,
            Kind::Newline | Kind::Semicolon | Kind::Open | Kind::Close => {
                named = false;
                parens = false;
            }
            Kind::ParenOpen => parens = true,
            Kind::ParenClose => parens = false,
            Kind::Equals => {
                let key = last.filter(|last| roles[*last] == Role::Argument);
                if let Some(key) = key {
                    roles[key] = Role::Key;
                }
            }
            Kind::Word | Kind::Text { .. } if parens => roles[at] = Role::Annotation,
            Kind::Word | Kind::Text { .. } => {
                let after_equals = last.is_some_and(|last| tokens[last].kind == Kind::Equals);
                roles[at] = match (named, after_equals) {
                    (_, true) => Role::Value,
                    (true, false) => Role::Argument,
                    (false, false) => Role::Name,
                };
                named = true;
            }
            _ => {}
        }
        dashed = token.kind == Kind::Slashdash;
        // The closing parenthesis of `x=(f)y` leaves the value behind `=`.
        if !matches!(token.kind, Kind::ParenOpen | Kind::ParenClose)
            && roles[at] != Role::Annotation
        {
            last = Some(at);
        }
    }
    roles
}

impl Page<'_> {
    /// Looks at one token; yields the next to look at.
    fn look(&self, at: usize, found: &mut Vec<Diagnostic>) -> usize {
        match self.tokens[at].kind {
            Kind::HashComment => self.hash_comment(at, found),
            Kind::BlockComment { .. } => self.comment(at, found),
            Kind::Word | Kind::Text { .. } if self.roles[at] == Role::Name => self.name(at, found),
            Kind::Word | Kind::Text { .. } if self.roles[at] != Role::Annotation => {
                self.value(at, found)
            }
            _ => at + 1,
        }
    }

    fn kind(&self, at: usize) -> Option<Kind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    fn written(&self, at: usize) -> &str {
        self.tokens
            .get(at)
            .map_or("", |token| token.text(self.text))
    }

    /// The next token that is not blank.
    fn significant(&self, from: usize) -> Option<usize> {
        (from..self.tokens.len()).find(|at| !self.tokens[*at].is_blank())
    }

    fn slice(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or("")
    }

    fn span(&self, range: &Range<usize>) -> Span {
        span(self.file, range.start, range.end)
    }

    fn range(&self, at: usize) -> Range<usize> {
        self.tokens[at].start..self.tokens[at].end
    }

    /// A finding with the edit that sets it right.
    fn habit(
        &self,
        code: Code,
        range: &Range<usize>,
        message: impl Into<String>,
        label: &str,
        replacement: String,
    ) -> Diagnostic {
        let span = self.span(range);
        let help = match replacement.as_str() {
            "" => "delete it".to_owned(),
            text => format!("write {}", visible(text)),
        };
        Diagnostic::error(code, span, message, label)
            .help(help)
            .fix(span, replacement)
    }
}
