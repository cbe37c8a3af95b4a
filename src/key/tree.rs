//! The sink for people: what is hashed, as a tree of named texts.

use super::{Preimage, Value, write_preimage};
use crate::node::ResolvedNode;

/// One piece of the encoding, by its name in what surrounds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    pub name: String,
    pub content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A leaf; bytes are in hexadecimal digits.
    Text(String),
    /// In the order of the encoding. No two of them share a name.
    Pieces(Vec<Tree>),
}

/// The pieces of a node, in order.
pub fn tree(node: &ResolvedNode) -> Vec<Tree> {
    let mut sink = Sink::default();
    write_preimage(node, &mut sink);
    let root = sink.done.pop().map(|root| root.content);
    match root {
        Some(Content::Pieces(pieces)) => pieces,
        Some(Content::Text(_)) | None => Vec::new(),
    }
}

impl Tree {
    /// The text of the leaf of that name in this piece.
    pub fn leaf(&self, name: &str) -> Option<&str> {
        match &self.piece(name)?.content {
            Content::Text(text) => Some(text),
            Content::Pieces(_) => None,
        }
    }

    pub fn piece(&self, name: &str) -> Option<&Self> {
        self.pieces().iter().find(|piece| piece.name == name)
    }

    /// None, for a leaf.
    pub fn pieces(&self) -> &[Self] {
        match &self.content {
            Content::Pieces(pieces) => pieces,
            Content::Text(_) => &[],
        }
    }
}

#[derive(Default)]
struct Sink {
    /// What is not closed yet, by its name, and how many pieces there were before it.
    open: Vec<(String, usize)>,
    /// What is closed, of all that is open, one after the other.
    done: Vec<Tree>,
}

impl Preimage for Sink {
    fn open(&mut self, field: &str) {
        self.open.push((field.to_owned(), self.done.len()));
    }

    fn piece(&mut self, field: &str, value: Value<'_>) {
        let text = match value {
            Value::Text(text) => text.to_owned(),
            Value::Bytes(bytes) => hex::encode(bytes),
        };
        self.done.push(Tree {
            name: field.to_owned(),
            content: Content::Text(text),
        });
    }

    fn close(&mut self) {
        if let Some((name, before)) = self.open.pop() {
            let content = Content::Pieces(self.done.split_off(before));
            self.done.push(Tree { name, content });
        }
    }
}
