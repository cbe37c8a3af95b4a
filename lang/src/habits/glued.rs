//! Words that something is stuck to: half a URL, a brace, a glob that opens a comment, a string.

use std::ops::Range;

use super::{Page, Role};
use crate::code;
use crate::diag::Diagnostic;
use crate::lex::{Kind, Spelling, is_newline, is_space};
use crate::spelling::{quoted, visible};

impl Page<'_> {
    /// `https://…` and `packages/*/x`: what follows the word has become a comment.
    pub(super) fn half_comment(&self, at: usize, found: &mut Vec<Diagnostic>) -> Option<usize> {
        if self.kind(at) != Some(Kind::Word) || self.roles[at] == Role::Key {
            return None;
        }
        let is_comment = |kind| matches!(kind, Kind::LineComment | Kind::BlockComment { .. });
        let comment = self
            .tokens
            .get(at + 1)
            .filter(|token| is_comment(token.kind))?;
        let word = self.written(at);
        let inside = &comment.text(self.text)[2..];
        let is_stuck = !inside.is_empty() && !inside.starts_with(|c| is_space(c) || is_newline(c));
        let range = self.tokens[at].start..self.word_end(comment.start + 2);
        let whole = self.slice(&range).to_owned();
        match comment.kind {
            Kind::LineComment if word.ends_with(':') => {
                let message = "this URL is half comment";
                let receives = format!("`//` starts a comment, so only `{word}` is left");
                found.push(self.habit(
                    code::URL_COMMENT,
                    &range,
                    message,
                    &receives,
                    quoted(&whole),
                ));
            }
            Kind::LineComment if is_stuck && self.roles[at] != Role::Name => {
                let message = format!("`{}` must be quoted here", visible(&whole));
                let label = "`//` starts a comment";
                found.push(self.habit(code::UNQUOTED, &range, message, label, quoted(&whole)));
            }
            Kind::BlockComment { closed, .. }
                if self.roles[at] != Role::Name
                    && (!closed || comment.text(self.text).contains(is_newline)) =>
            {
                let message = format!("`{}` must be quoted here", visible(&whole));
                let label = "`/*` starts a comment";
                found.push(self.habit(code::UNQUOTED, &range, message, label, quoted(&whole)));
            }
            _ => return None,
        }
        Some(self.line_end(self.token_after(range.end, at + 2)))
    }

    /// `${x}`, `base-{x}`: the brace has opened a block.
    pub(super) fn brace(&self, at: usize, found: &mut Vec<Diagnostic>) -> Option<usize> {
        let word = self.written(at);
        let is_value = matches!(self.roles[at], Role::Argument | Role::Value);
        let is_glued = self.kind(at + 1) == Some(Kind::Open) && self.kind(at) == Some(Kind::Word);
        if !is_glued || !(is_value || word.ends_with('$')) {
            return None;
        }
        let brace = self.tokens[at + 1].start;
        let range = self.tokens[at].start..self.word_end(brace);
        let whole = self.slice(&range);
        let is_one_word = whole.matches('{').count() == whole.matches('}').count();
        if !is_one_word && !word.ends_with('$') {
            // `prebuild a{ … }`: only the space is missing, and KDL needs none.
            return None;
        }
        let message = format!("`{{` behind `{}` opens a block", visible(word));
        let span = self.span(&(brace..brace + 1));
        let label = "the block starts here";
        let diagnostic = Diagnostic::error(code::BRACE_BLOCK, span, message, label);
        found.push(if is_one_word && !whole.contains('"') {
            let replacement = quoted(whole);
            diagnostic
                .help(format!(
                    "quote it: {}; a space before `{{` makes it a block",
                    visible(&replacement)
                ))
                .fix(self.span(&range), replacement)
        } else {
            diagnostic.help("quote the value, or put a space before `{`")
        });
        // The roles of what follows on the line are wrong as long as the brace is there.
        Some(self.line_end(self.token_after(range.end, at + 2)))
    }

    /// `"$HOME"/bin`: a shell would join the pieces.
    pub(super) fn joined(&self, at: usize, found: &mut Vec<Diagnostic>) -> Option<usize> {
        let piece = |at: usize| match self.kind(at)? {
            Kind::Word => Some(self.written(at).to_owned()),
            Kind::Text {
                spelling: Spelling::Quoted,
                fault: None,
            } => {
                let inner = self.written(at);
                let inner = inner.get(1..inner.len() - 1)?;
                (!inner.contains('\\')).then(|| inner.to_owned())
            }
            _ => None,
        };
        let first = piece(at)?;
        let mut whole = first.clone();
        let mut end = at + 1;
        while let Some(next) = piece(end) {
            whole.push_str(&next);
            end += 1;
        }
        if end == at + 1 || self.roles[at] == Role::Key {
            return None;
        }
        if self.roles[at] == Role::Name {
            let end = self.span(&(self.tokens[at].end..self.tokens[at].end));
            let message = format!("a space is missing behind `{}`", visible(self.written(at)));
            let diagnostic = Diagnostic::error(code::NOT_KDL, end, message, "here");
            found.push(diagnostic.help("put a space here").fix(end, " "));
            return Some(at + 1);
        }
        let range = self.tokens[at].start..self.tokens[end - 1].end;
        let message = format!(
            "`{}` must be quoted as a whole",
            visible(self.slice(&range))
        );
        let label = "nothing joins the pieces";
        if first.ends_with(' ') {
            // `"echo "hi""`: quotes were meant to be in the text, and joining would lose them.
            let diagnostic = Diagnostic::error(code::UNQUOTED, self.span(&range), message, label);
            let help = "for quotes in a text write #\"…\"# around it, or \\\" for each";
            found.push(diagnostic.help(help));
            return Some(end);
        }
        found.push(self.habit(code::UNQUOTED, &range, message, label, quoted(&whole)));
        Some(end)
    }

    /// Where what looks like one word ends: at a space, a line's end, or `;`.
    fn word_end(&self, from: usize) -> usize {
        let rest = self.text.get(from..).unwrap_or("");
        let ends = |c: char| is_space(c) || is_newline(c) || c == ';';
        rest.find(ends)
            .map_or(self.text.len(), |length| from + length)
    }

    /// The first token that starts at `offset` or later.
    fn token_after(&self, offset: usize, from: usize) -> usize {
        let starts: Range<usize> = from..self.tokens.len();
        starts
            .into_iter()
            .find(|at| self.tokens[*at].start >= offset)
            .unwrap_or(self.tokens.len())
    }
}
