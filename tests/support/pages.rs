//! Pages of the book: what stands in their fences, and transcripts free of what differs from run to run.

use std::fmt::Write as _;
use std::path::PathBuf;

/// A block between two fences, with what the comment above it says to the tests.
pub(crate) struct Block {
    /// What follows the opening fence.
    pub(crate) kind: String,
    /// `file NAME` or `fails CODE`, if there is a comment.
    pub(crate) note: Option<String>,
    pub(crate) text: String,
}

/// Where a page lies.
pub(crate) fn path(page: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("book/src")
        .join(page)
}

/// Whether what the program says now is to be put into the pages: `just bless`.
pub(crate) fn is_update() -> bool {
    std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always")
}

/// All blocks of a page, in order.
pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let (mut note, mut open): (Option<String>, Option<Block>) = (None, None);
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => {
                block.text += line;
                block.text.push('\n');
            }
            (None, Some(kind)) => {
                open = Some(Block {
                    kind: kind.to_owned(),
                    note: note.take(),
                    text: String::new(),
                });
            }
            (None, None) if line.is_empty() => {}
            (None, None) => {
                let comment = line.strip_prefix("<!-- ");
                let comment = comment.and_then(|rest| rest.strip_suffix(" -->"));
                note = comment.map(str::to_owned);
            }
        }
    }
    assert!(open.is_none(), "a block without an end");
    blocks
}

/// Digests are called by the order in which they appear: the machine decides what they are.
pub(crate) fn unnamed(text: &str) -> String {
    let mut names: Vec<String> = Vec::new();
    let mut whole = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_hexdigit()) {
        let (before, from) = rest.split_at(start);
        let end = from
            .find(|c: char| !c.is_ascii_hexdigit())
            .unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        whole += before;
        if word.len() < 12 {
            whole += word;
        } else {
            let name = word[..12].to_owned();
            let known = names.iter().position(|known| *known == name);
            let index = known.unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            });
            write!(whole, "<{index}>").unwrap();
        }
        rest = after;
    }
    whole + rest
}
