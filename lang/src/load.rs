//! A file's bytes → its tree: the guard, the advice on spelling, the parser, in that order.
//!
//! Where spellings can be set right by machine, the parser gets the corrected text, so that one run shows every fault
//! of the file; the findings come back at the places of the original.

#[cfg(test)]
mod suite;

use crate::code;
use crate::diag::{Diagnostic, Edit};
use crate::habits;
use crate::lex::{Kind, Token, is_newline, lex};
use crate::limits;
use crate::repair::{self, Repair};
use crate::secret;
use crate::source::{ReadError, Sources};
use crate::span::{FileId, Span};
use crate::syntax;
use crate::tree::Node;

/// One correction can reveal the next; beyond this the file is something else.
const ROUNDS: usize = 8;

/// What a file holds, as far as it could be read.
pub(crate) struct Loaded {
    pub(crate) file: FileId,
    /// `None` if it could not be read at all.
    pub(crate) tree: Option<Vec<Node>>,
    /// The text that the tree's spans point into.
    text: String,
    /// The corrections between the file and that text, in the order in which they were made.
    repairs: Vec<Repair>,
}

/// Parses what reading the file called `name`, at most `limit` bytes of it, has yielded.
pub(crate) fn load(
    name: &str,
    read: Result<Vec<u8>, ReadError>,
    limit: u64,
    sources: &mut Sources,
    found: &mut Vec<Diagnostic>,
) -> Loaded {
    let file = FileId(u32::try_from(sources.len()).unwrap_or(u32::MAX));
    let mut loaded = Loaded {
        file,
        tree: None,
        text: String::new(),
        repairs: Vec::new(),
    };
    let (text, fault) = match read {
        Ok(bytes) => limits::decode(bytes, limit, file),
        Err(error) => (String::new(), Some(unreadable(&error, limit, file))),
    };
    match fault {
        Some(fault) => found.push(fault),
        None => loaded.parse(&text, found),
    }
    sources.add(name, presentable(&text));
    loaded
}

fn unreadable(error: &ReadError, limit: u64, file: FileId) -> Diagnostic {
    let start = Span::new(file, 0, 0);
    match error {
        ReadError::TooLarge { size } => limits::too_large(*size, limit, file),
        ReadError::Refused(why) => {
            let message = format!("the file cannot be used: {why}");
            Diagnostic::error(code::PATH_ESCAPES, start, message, "this file")
                .help("a regular file inside the project")
        }
        ReadError::Failed(why) => {
            let message = format!("the file cannot be read: {why}");
            Diagnostic::error(code::UNREADABLE, start, message, "this file")
        }
    }
}

impl Loaded {
    fn parse(&mut self, text: &str, found: &mut Vec<Diagnostic>) {
        let forbidden = limits::characters(text, self.file);
        if !forbidden.is_empty() {
            found.extend(forbidden);
            return;
        }
        let mut text = text.to_owned();
        let tokens = loop {
            let tokens = lex(&text);
            let habits = habits::find(&text, &tokens, self.file);
            let edits: Vec<Edit> = habits
                .iter()
                .filter_map(|habit| habit.fix.as_deref().cloned())
                .collect();
            let is_hopeless = edits.len() < habits.len() || habits.len() == habits::SHOWN;
            let is_clean = habits.is_empty();
            found.extend(habits.into_iter().map(|habit| self.placed(habit)));
            if is_clean {
                break tokens;
            }
            if is_hopeless || self.repairs.len() == ROUNDS {
                return;
            }
            let (repaired, repair) = repair::apply(&text, edits.into_iter());
            self.repairs.push(repair);
            text = repaired;
        };
        let structure = limits::structure(&tokens, self.file);
        if !structure.is_empty() {
            found.extend(structure.into_iter().map(|fault| self.placed(fault)));
            return;
        }
        let strings = limits::strings(&text, &tokens, self.file);
        found.extend(strings.into_iter().map(|fault| self.placed(fault)));
        match syntax::parse(&without_comments(&text, &tokens), self.file) {
            Ok(nodes) => self.tree = Some(nodes),
            Err(errors) => found.extend(errors.into_iter().map(|error| self.placed(error))),
        }
        self.text = text;
    }

    /// What stands at `span`; empty where the span does not fit.
    pub(crate) fn slice(&self, span: Span) -> &str {
        let range = span.start as usize..span.end as usize;
        self.text.get(range).unwrap_or("")
    }

    /// The finding with its spans moved to where they are in the file itself.
    fn placed(&self, diagnostic: Diagnostic) -> Diagnostic {
        diagnostic.moved(|span| self.before(span))
    }

    pub(crate) fn before(&self, span: Span) -> Span {
        self.repairs
            .iter()
            .rev()
            .fold(span, |span, repair| repair.before(span))
    }
}

/// The same text with every comment blank, byte for byte: the parser recurses into what comments hold.
fn without_comments(text: &str, tokens: &[Token]) -> String {
    let mut quiet = String::with_capacity(text.len());
    for token in tokens {
        let written = token.text(text);
        match token.kind {
            Kind::LineComment | Kind::BlockComment { .. } => {
                quiet.extend(written.bytes().map(|_| ' '));
            }
            // A comment behind `\` is one too.
            Kind::Continuation => match written.find("//") {
                Some(start) => {
                    let end = written.find(is_newline).unwrap_or(written.len());
                    quiet.push_str(&written[..start]);
                    quiet.extend((start..end).map(|_| ' '));
                    quiet.push_str(&written[end..]);
                }
                None => quiet.push_str(written),
            },
            _ => quiet.push_str(written),
        }
    }
    quiet
}

/// The text as it may be shown, of the same length: without secrets, and without what gives orders to a terminal.
fn presentable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in secret::masked(text).chars() {
        let length = character.len_utf8();
        if !limits::is_forbidden(character) {
            shown.push(character);
        } else if length == '\u{fffd}'.len_utf8() {
            shown.push('\u{fffd}');
        } else {
            shown.extend((0..length).map(|_| '?'));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_go_and_lengths_stay() {
        let text = "a /* \u{e9} /* x */ */ b // c\n\\ // d\nc";
        let quiet = without_comments(text, &lex(text));
        assert_eq!(quiet.len(), text.len());
        assert!(!quiet.contains(['/', '*', 'x', 'd']), "{quiet}");
    }

    #[test]
    fn what_is_hidden_keeps_its_length() {
        let text = "repo https://us\u{e9}r:p@h/x \u{202e}\u{1b}\t";
        assert_eq!(presentable(text), "repo https://*******@h/x \u{fffd}?\t");
    }
}
