//! What differs between two nodes: the leaves of their preimages, old and new, and where the file has them. Pure.

use std::collections::BTreeMap;
use std::fmt;

use crate::key::tree::{Content, Tree, tree};
use crate::node::ResolvedNode;

mod align;
mod nearest;
mod pair;
mod place;
mod text;

pub use nearest::{Near, nearest};
pub use pair::pair;
pub use place::place;

/// The name of a leaf, or of an item with all its leaves: what it is in, from the outside, and its own name last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(Vec<String>);

/// One leaf that differs, or one item that is there on one side alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub field: Name,
    /// `None` if it was not there.
    pub old: Option<String>,
    /// `None` if it is not there any more.
    pub new: Option<String>,
}

/// What is in the order of the file. Its items are told by their numbers, which say nothing of what they are.
const NUMBERED: [&str; 2] = ["path", "step"];

/// The differences, in the order of the encoding: none exactly if the nodes have one key. A changed leaf is one, and so
/// is an item that came or went: a variable, a file, a step. Numbers of what has gone count on the old side, all others
/// on the new one.
pub fn changes(old: &ResolvedNode, new: &ResolvedNode) -> Vec<Change> {
    let mut found = Vec::new();
    differ(&Name(Vec::new()), &tree(old), &tree(new), &mut found);
    found
}

/// Compares what two pieces called `name` hold.
fn differ(name: &Name, old: &[Tree], new: &[Tree], found: &mut Vec<Change>) {
    if name.0.len() == 1 && NUMBERED.contains(&name.0[0].as_str()) {
        for (old, new) in align::align(old, new) {
            differ_piece(name, old, new, found);
        }
        return;
    }
    let (before, after) = (by_name(old), by_name(new));
    for piece in new {
        let name_of_piece = piece.name.as_str();
        // Which hash made a commit's id is told by the id.
        let is_told = name_of_piece == "hash" && after.contains_key("commit");
        if !is_told {
            let before = before.get(name_of_piece).copied();
            differ_piece(name, before, Some(piece), found);
        }
    }
    for gone in old
        .iter()
        .filter(|piece| !after.contains_key(piece.name.as_str()))
    {
        differ_piece(name, Some(gone), None, found);
    }
}

fn by_name(pieces: &[Tree]) -> BTreeMap<&str, &Tree> {
    pieces
        .iter()
        .map(|piece| (piece.name.as_str(), piece))
        .collect()
}

fn differ_piece(within: &Name, old: Option<&Tree>, new: Option<&Tree>, found: &mut Vec<Change>) {
    let Some(named) = new.or(old) else {
        return;
    };
    let name = within.with(&named.name);
    if let (Some(old), Some(new)) = (old, new) {
        if old.content == new.content {
            return;
        }
        if let (Content::Pieces(before), Content::Pieces(after)) = (&old.content, &new.content)
            && old.leaf("kind") == new.leaf("kind")
        {
            return differ(&name, before, after, found);
        }
    }
    let text = |piece: &Tree| text::of(within, piece);
    found.push(Change {
        old: old.map(text),
        new: new.map(text),
        field: name,
    });
}

impl Name {
    fn with(&self, last: &str) -> Self {
        Self(
            self.0
                .iter()
                .map(String::as_str)
                .chain([last])
                .map(str::to_owned)
                .collect(),
        )
    }

    /// From the outside.
    pub fn parts(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(" / ")?;
            }
            // A path or a variable may look like several names, or like a line's end; quoted, it stays one.
            let looks_odd = part.starts_with('"') || part.contains(char::is_control);
            if looks_odd || part.contains(" / ") {
                write!(f, "{part:?}")?;
            } else {
                f.write_str(part)?;
            }
        }
        Ok(())
    }
}

impl Change {
    /// Whether it is the parent's key, which says that an ancestor has changed, and not what.
    pub fn is_of_parent(&self) -> bool {
        self.field.parts() == ["from", "parent key"]
    }
}
