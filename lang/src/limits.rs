//! The guard that runs before the parser: what it refuses could cost minutes, the process, or the reader's trust.
//!
//! It bounds size and nesting, refuses characters that deceive, and finds what was never closed. Linear in the text.

use crate::code;
use crate::diag::Diagnostic;
use crate::lex::{Fault, Kind, Token};
use crate::span::{FileId, Span};
use crate::spelling::{called, escape, is_direction, is_zero_width};

const BLOCKS: usize = 16;
/// The parser's time doubles with each block that `/-` takes away inside another such block.
const DASHED_BLOCKS: usize = 2;
pub(crate) const COMMENTS: usize = 16;

/// How many findings of one kind are shown: a binary file would yield thousands.
const SHOWN: usize = 20;

/// Bytes → text. Where there is a finding, the text is only for showing.
pub(crate) fn decode(bytes: Vec<u8>, limit: u64, file: FileId) -> (String, Option<Diagnostic>) {
    let size = bytes.len() as u64;
    if size > limit {
        return (String::new(), Some(too_large(size, limit, file)));
    }
    let error = match String::from_utf8(bytes) {
        Ok(text) => return (text, None),
        Err(error) => error,
    };
    let at = error.utf8_error().valid_up_to();
    let bytes = error.into_bytes();
    let is_utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    let message = if is_utf16 {
        "file is UTF-16, not UTF-8"
    } else {
        "file is not UTF-8"
    };
    // In the text that is shown, the replacement character stands there.
    let span = span(file, at, at + '\u{fffd}'.len_utf8());
    let label = format!("byte 0x{:02x}", bytes.get(at).unwrap_or(&0));
    let diagnostic = Diagnostic::error(code::NOT_UTF8, span, message, label);
    let shown = String::from_utf8_lossy(&bytes).into_owned();
    (shown, Some(diagnostic.help("re-save it as UTF-8")))
}

pub(crate) fn too_large(size: u64, limit: u64, file: FileId) -> Diagnostic {
    let limit = limit >> 10;
    let size = if size >= 1 << 20 {
        format!("{} MiB", size.div_ceil(1 << 20))
    } else {
        format!("{} KiB", size.div_ceil(1 << 10))
    };
    let message = format!("file is {size}; limit {limit} KiB");
    Diagnostic::error(code::TOO_LARGE, span(file, 0, 0), message, "this file")
        .help("move data beside it and use from=, or split it with `import`")
}

/// Characters that cannot appear, not even in comments: what a reader sees must be what is meant.
pub(crate) fn characters(text: &str, file: FileId) -> Vec<Diagnostic> {
    let forbidden = text
        .char_indices()
        .filter(|(at, c)| is_forbidden(*c) && !(*at == 0 && *c == '\u{feff}'));
    let found = forbidden.take(SHOWN).map(|(at, character)| {
        let message = format!("U+{:04X} cannot appear here", u32::from(character));
        let span = span(file, at, at + character.len_utf8());
        Diagnostic::error(code::FORBIDDEN_CHARACTER, span, message, called(character)).help(
            match character {
                '\0' => "delete it".to_owned(),
                _ => format!(
                    "delete it; where it is meant, write `{}` in quotes",
                    escape(character)
                ),
            },
        )
    });
    found.collect()
}

pub(crate) fn is_forbidden(character: char) -> bool {
    let is_newline_or_tab = matches!(character, '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}');
    (character.is_control() && !is_newline_or_tab)
        || is_direction(character)
        || character == '\u{feff}'
}

/// What strings hide: NUL as an escape, and characters without width.
pub(crate) fn strings(text: &str, tokens: &[Token], file: FileId) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let is_text = |token: &&Token| matches!(token.kind, Kind::Text { .. });
    for token in tokens.iter().filter(is_text) {
        let written = token.text(text);
        for (at, _) in written.match_indices("\\u{") {
            let Some((digits, _)) = written[at + 3..].split_once('}') else {
                continue;
            };
            if !digits.is_empty() && digits.bytes().all(|b| b == b'0') {
                let span = span(file, token.start + at, token.start + at + digits.len() + 4);
                let message = "U+0000 cannot appear here";
                let nul = Diagnostic::error(code::FORBIDDEN_CHARACTER, span, message, "NUL");
                found.push(nul.help("no command, variable or path can hold it"));
            }
        }
        let hidden = written.char_indices().find(|(at, c)| {
            // Between two emoji, a joiner is spelling.
            let joins = *c == '\u{200d}' && !written[..*at].ends_with(|b: char| b.is_ascii());
            is_zero_width(*c) && !joins
        });
        if let Some((at, character)) = hidden {
            let message = format!("U+{:04X} cannot be seen", u32::from(character));
            let span = span(
                file,
                token.start + at,
                token.start + at + character.len_utf8(),
            );
            let label = called(character);
            found.push(
                Diagnostic::error(code::FORBIDDEN_CHARACTER, span, message, label)
                    .help(format!("delete it, or write `{}`", escape(character)))
                    .warning(),
            );
        }
    }
    found.truncate(SHOWN);
    found
}

/// Nesting, and what is never closed. The parser must not see a text with findings.
pub(crate) fn structure(tokens: &[Token], file: FileId) -> Vec<Diagnostic> {
    let mut blocks = Blocks::new(file);
    for token in tokens {
        blocks.see(token);
        unclosed(token, file, &mut blocks.found);
        if blocks.is_hopeless() {
            return blocks.found;
        }
    }
    for open in blocks.open.iter().take(SHOWN) {
        let message = "this block is never closed";
        let span = span(file, open.at, open.at + 1);
        let diagnostic = Diagnostic::error(code::NOT_KDL, span, message, "opens here");
        blocks.found.push(diagnostic.help("close it with `}`"));
    }
    blocks.found
}

struct Blocks {
    file: FileId,
    open: Vec<Block>,
    /// Whether a `/-` stands before what comes, within the node.
    is_dashed: bool,
    /// A `/-` with nothing behind it yet: newlines do not end it.
    slashdash: Option<Token>,
    found: Vec<Diagnostic>,
}

struct Block {
    at: usize,
    is_dashed: bool,
}

impl Blocks {
    fn new(file: FileId) -> Self {
        Self {
            file,
            open: Vec::new(),
            is_dashed: false,
            slashdash: None,
            found: Vec::new(),
        }
    }

    fn see(&mut self, token: &Token) {
        if token.is_blank() || matches!(token.kind, Kind::Newline | Kind::LineComment) {
            self.is_dashed &= self.slashdash.is_some() || token.kind != Kind::Newline;
        } else if let Some(first) = self.slashdash.take()
            && token.kind == Kind::Slashdash
        {
            self.found.push(adjacent(token, &first, self.file));
        }
        match token.kind {
            Kind::Slashdash => {
                self.is_dashed = true;
                self.slashdash = Some(*token);
            }
            Kind::Semicolon => self.is_dashed = false,
            Kind::Open => self.opens(token),
            Kind::Close => self.closes(token),
            Kind::BlockComment { depth, .. } if depth > COMMENTS => {
                let message = "comments nest too deep";
                self.too_deep(token, message, &format!("{depth} levels; limit {COMMENTS}"));
            }
            _ => {}
        }
    }

    /// Too deep to go on, or too much to show.
    fn is_hopeless(&self) -> bool {
        self.open.len() > BLOCKS || self.found.len() >= SHOWN
    }

    fn opens(&mut self, token: &Token) {
        self.open.push(Block {
            at: token.start,
            is_dashed: self.is_dashed,
        });
        self.is_dashed = false;
        let depth = self.open.len();
        let dashed = self.open.iter().filter(|block| block.is_dashed).count();
        if depth == BLOCKS + 1 {
            let label = format!("the {depth}th `{{`");
            self.too_deep(token, "blocks nest too deep", &label);
        } else if depth <= BLOCKS && dashed == DASHED_BLOCKS + 1 {
            let message = "blocks taken away with `/-` nest too deep";
            self.too_deep(token, message, &format!("inside {DASHED_BLOCKS} others"));
        }
    }

    fn closes(&mut self, token: &Token) {
        self.is_dashed = false;
        if self.open.pop().is_none() {
            let span = span(self.file, token.start, token.end);
            let message = "this `}` closes nothing";
            let diagnostic = Diagnostic::error(code::NOT_KDL, span, message, "no block is open");
            self.found
                .push(diagnostic.help("delete it, or open the block with `{`"));
        }
    }

    fn too_deep(&mut self, token: &Token, message: &str, label: &str) {
        let span = span(self.file, token.start, token.start + 1);
        let diagnostic = Diagnostic::error(code::TOO_DEEP, span, message, label);
        self.found.push(diagnostic.help("flatten it"));
    }
}

fn unclosed(token: &Token, file: FileId, found: &mut Vec<Diagnostic>) {
    let (message, help) = match token.kind {
        // One that nests too deep has been told.
        Kind::BlockComment {
            closed: false,
            depth: ..=COMMENTS,
        } => (
            "this comment is never closed",
            "close it with `*/`; a `/*` inside opens another",
        ),
        Kind::Text {
            fault: Some(Fault::Unclosed),
            ..
        } => (
            "this string is never closed",
            "close it on its line; a text of several lines stands between lines of `\"\"\"`",
        ),
        Kind::Text {
            fault: Some(Fault::NoNewline),
            ..
        } => (
            "a string of several lines starts on the next line",
            "put a line break behind the opening `\"\"\"`, or use one quote",
        ),
        Kind::Text {
            fault: Some(Fault::LastLine),
            ..
        } => (
            "a string of several lines ends on a line of its own",
            "put a line break before the closing `\"\"\"`",
        ),
        _ => return,
    };
    let span = span(file, token.start, token.start + 1);
    found.push(Diagnostic::error(code::NOT_KDL, span, message, "opens here").help(help));
}

fn adjacent(token: &Token, first: &Token, file: FileId) -> Diagnostic {
    let message = "two `/-` in a row";
    let here = span(file, token.start, token.end);
    Diagnostic::error(code::NOT_KDL, here, message, "takes away nothing")
        .and(span(file, first.start, first.end), "the first")
        .help("each takes away one thing that follows it")
}

/// A span of bytes; what does not fit is far beyond the limit of a file.
pub(crate) fn span(file: FileId, start: usize, end: usize) -> Span {
    let offset = |at| u32::try_from(at).unwrap_or(u32::MAX);
    Span::new(file, offset(start), offset(end))
}
