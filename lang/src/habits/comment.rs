//! Block comments that a glob in the commented lines has closed or opened: `"**/x"`, `"packages/*"`.

use super::Page;
use crate::code;
use crate::diag::Diagnostic;
use crate::lex::{Kind, is_newline, is_space};
use crate::limits::{COMMENTS, span};

const HELP: &str = "take lines away with `//`, or a whole node with `/-`";

impl Page<'_> {
    pub(super) fn comment(&self, at: usize, found: &mut Vec<Diagnostic>) -> usize {
        let token = self.tokens[at];
        let Kind::BlockComment { depth, closed } = token.kind else {
            return at + 1;
        };
        let opening = span(self.file, token.start, token.start + 2);
        if !closed && (2..=COMMENTS).contains(&depth) {
            let written = &token.text(self.text)[2..];
            let inner = token.start + 2 + written.find("/*").unwrap_or(0);
            let inner = span(self.file, inner, inner + 2);
            let message = "this `/*` opened a comment inside the comment";
            found.push(
                Diagnostic::error(
                    code::COMMENT_CLOSED_EARLY,
                    inner,
                    message,
                    "nothing closes it",
                )
                .and(opening, "the comment starts here")
                .help(HELP),
            );
            return self.tokens.len();
        }
        let behind = self.text[token.end..].chars().next();
        let is_stuck = behind.is_some_and(|c| !is_space(c) && !is_newline(c) && c != ';');
        let orphan = self
            .orphan
            .filter(|orphan| closed && is_stuck && *orphan > at);
        if let Some(orphan) = orphan {
            let early = span(self.file, token.end - 2, token.end);
            let late = self.tokens[orphan].start;
            let message = "this `*/` ended the comment";
            found.push(
                Diagnostic::error(code::COMMENT_CLOSED_EARLY, early, message, "here already")
                    .and(opening, "the comment starts here")
                    .and(span(self.file, late, late + 2), "it was meant to end here")
                    .help(HELP),
            );
            return self.tokens.len();
        }
        at + 1
    }
}
