//! Tokens → text: four spaces for each block, at most one empty line, one around definitions, no space around `=`.

use std::collections::BTreeSet;

use super::spelled;
use crate::lex::{Kind, Token, is_newline};

const INDENT: &str = "    ";

/// What has empty lines around it, if its block stands on several lines.
const DEFINITIONS: [&str; 4] = ["prebuild", "template", "toolchain", "compose"];

/// What stands right before the next token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// Nothing yet.
    Start,
    /// What the next token is a part of: `=`, `(`, `)` or `/-`.
    Part,
    /// `{`
    Opening,
    /// `//`, which the line ends with.
    Comment,
    /// `\`, and the line's end.
    Continued,
    Other,
}

/// What comes between two tokens.
#[derive(Clone, Copy)]
enum Gap {
    None,
    Space,
    Lines(usize),
}

struct Printer {
    out: String,
    /// Those that are open.
    blocks: Vec<Block>,
    last: Last,
    /// Line ends since then.
    newlines: usize,
    /// Whether a `/-` waits for what it takes away: line ends do not count until then.
    is_dashed: bool,
    /// Whether a definition has ended, and the next line has to be apart.
    is_apart: bool,
}

#[derive(Clone, Copy, Default)]
struct Block {
    is_tall: bool,
    is_empty: bool,
    is_definition: bool,
}

pub(super) fn print(source: &str, tokens: &[Token]) -> String {
    let (blocks, apart) = survey(source, tokens);
    let mut printer = Printer {
        out: String::with_capacity(source.len()),
        blocks: Vec::new(),
        last: Last::Start,
        newlines: 0,
        is_dashed: false,
        is_apart: false,
    };
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Space => {}
            Kind::Newline => printer.newlines += 1,
            _ => {
                let is_apart = apart.contains(&index);
                printer.token(token, source, blocks[index], is_apart);
            }
        }
    }
    if !printer.out.is_empty() && !printer.out.ends_with('\n') {
        printer.out.push('\n');
    }
    printer.out
}

impl Printer {
    /// `is_apart`: whether an empty line has to be before it, where a line starts with it.
    fn token(&mut self, token: &Token, source: &str, block: Block, is_apart: bool) {
        let closed = match token.kind {
            Kind::Close => self.blocks.pop(),
            _ => None,
        };
        let mut gap = self.gap(token.kind, closed);
        if let Gap::Lines(lines @ 1..) = gap
            && self.blocks.is_empty()
            && closed.is_none()
        {
            let is_apart = std::mem::take(&mut self.is_apart) || is_apart;
            gap = Gap::Lines(lines.max(1 + usize::from(is_apart)));
        }
        self.separate(gap);
        if token.kind == Kind::Continuation {
            self.out.push('\\');
            let comment = spelled(token, source);
            if !comment.is_empty() {
                self.out.push(' ');
            }
            self.out.push_str(&comment);
            self.out.push('\n');
        } else {
            self.out.push_str(&spelled(token, source));
        }
        self.newlines = 0;
        self.last = match token.kind {
            Kind::Equals | Kind::ParenOpen | Kind::ParenClose | Kind::Slashdash => Last::Part,
            Kind::Open => Last::Opening,
            Kind::LineComment => Last::Comment,
            Kind::Continuation => Last::Continued,
            _ => Last::Other,
        };
        match token.kind {
            Kind::Slashdash => self.is_dashed = true,
            Kind::LineComment | Kind::BlockComment { .. } | Kind::Continuation => {}
            _ => self.is_dashed = false,
        }
        if token.kind == Kind::Open {
            self.blocks.push(block);
        }
        self.is_apart |= closed.is_some_and(|block| block.is_definition && block.is_tall);
    }

    /// `closed` is the block that the token closes.
    fn gap(&self, next: Kind, closed: Option<Block>) -> Gap {
        let lines = match (self.is_dashed, self.last) {
            (true, Last::Comment) => 1,
            (true, _) => 0,
            (false, _) => self.newlines.min(2),
        };
        let is_tall = self.blocks.last().is_some_and(|block| block.is_tall);
        match (self.last, next) {
            (Last::Start, _) => Gap::None,
            (_, Kind::Close) => match closed.unwrap_or_default() {
                Block { is_empty: true, .. } => Gap::None,
                Block { is_tall: true, .. } => Gap::Lines(1),
                Block { .. } => Gap::Space,
            },
            (Last::Opening, Kind::LineComment) if lines == 0 => Gap::Space,
            (Last::Opening, _) if is_tall => Gap::Lines(1),
            (Last::Comment, _) => Gap::Lines(lines.max(1)),
            (Last::Continued, _) => Gap::Lines(lines),
            _ if lines > 0 => Gap::Lines(lines),
            (_, Kind::Equals | Kind::Semicolon | Kind::ParenClose) => Gap::None,
            (Last::Part, Kind::LineComment | Kind::BlockComment { .. } | Kind::Continuation) => {
                Gap::Space
            }
            (Last::Part, _) => Gap::None,
            (Last::Opening | Last::Other, _) => Gap::Space,
        }
    }

    fn separate(&mut self, gap: Gap) {
        let mut depth = self.blocks.len();
        match gap {
            Gap::None => return,
            Gap::Space => {
                self.out.push(' ');
                return;
            }
            // The line's end is there, and the statement goes on.
            Gap::Lines(0) => depth += 1,
            Gap::Lines(lines) => {
                self.out.extend(std::iter::repeat_n('\n', lines));
            }
        }
        self.out.push_str(&INDENT.repeat(depth));
    }
}

/// Of each token that opens a block, what the block is; and the tokens before which an empty line has to be: where a
/// definition starts, or the comment above it.
fn survey(source: &str, tokens: &[Token]) -> (Vec<Block>, BTreeSet<usize>) {
    let mut blocks = vec![Block::default(); tokens.len()];
    let mut apart = BTreeSet::new();
    let mut open: Vec<usize> = Vec::new();
    // Of the statement at the top level: where it starts, with the comment above it; and its name.
    let (mut start, mut name) = (None, None);
    let mut newlines = 0;
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Space => continue,
            Kind::Newline => {
                newlines += 1;
                if open.is_empty() && (name.is_some() || newlines > 1) {
                    (start, name) = (None, None);
                }
                continue;
            }
            Kind::Semicolon if open.is_empty() => (start, name) = (None, None),
            Kind::Word | Kind::Text { .. } if open.is_empty() && name.is_none() => {
                start = start.or(Some(index));
                name = Some(token.text(source));
            }
            Kind::Open => open.push(index),
            Kind::Close => {
                if let Some(opening) = open.pop() {
                    let inside = tokens[opening].end..token.start;
                    let inside = source.get(inside).unwrap_or("");
                    let between = &tokens[opening + 1..index];
                    let is_blank = |t: &Token| matches!(t.kind, Kind::Space | Kind::Newline);
                    let is_definition =
                        open.is_empty() && name.is_some_and(|name| DEFINITIONS.contains(&name));
                    let block = Block {
                        is_tall: inside.contains(is_newline),
                        is_empty: between.iter().all(is_blank),
                        is_definition,
                    };
                    blocks[opening] = block;
                    if is_definition && block.is_tall {
                        apart.extend(start);
                    }
                }
            }
            _ if open.is_empty() && name.is_none() => start = start.or(Some(index)),
            _ => {}
        }
        newlines = 0;
    }
    (blocks, apart)
}
