//! What `diff` says, for people and as data.

use serde::Serialize;

use super::pairs::{Entry, Pair};
use crate::cli::leaves::{self, Leaf};
use crate::explain::changes;
use crate::node::ContentKey;

/// `atelier.diff/1`: fields in alphabetical order.
#[derive(Serialize)]
pub(super) struct Report {
    pub a: String,
    pub b: String,
    pub equal: bool,
    pub nodes: Vec<Node>,
    pub schema: &'static str,
}

/// A node of either side, or of both.
#[derive(Serialize)]
pub(super) struct Node {
    /// Its key on that side; `null` if it is not there.
    a: Option<String>,
    b: Option<String>,
    changes: Vec<Leaf>,
    name: String,
    pub result: Difference,
    /// What it was called on the first side, if that is something else.
    was: Option<String>,
}

/// What has become of a node from the first side to the second.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Difference {
    Same,
    Changed,
    New,
    Gone,
}

impl Difference {
    fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Changed => "changed",
            Self::New => "new",
            Self::Gone => "gone",
        }
    }
}

pub(super) fn rows(a: &[Entry<'_>], b: &[Entry<'_>], pairs: &[Pair]) -> Vec<Node> {
    let row = |(of_a, of_b): &Pair| {
        let (old, new) = (of_a.map(|of_a| &a[of_a]), of_b.map(|of_b| &b[of_b]));
        Node::of(old, new)
    };
    pairs.iter().map(row).collect()
}

impl Node {
    fn of(old: Option<&Entry<'_>>, new: Option<&Entry<'_>>) -> Self {
        let changes = match (old, new) {
            (Some(old), Some(new)) => {
                let changes = changes(&old.resolved, &new.resolved);
                leaves::leaves(&changes, old.written, new.written)
            }
            _ => Vec::new(),
        };
        let key = |entry: Option<&Entry<'_>>| entry.map(|entry| entry.key.to_hex());
        let name = |entry: Option<&Entry<'_>>| entry.map(|entry| entry.name.to_owned());
        let called = name(new.or(old)).unwrap_or_default();
        Self {
            a: key(old),
            b: key(new),
            changes,
            result: match (old, new) {
                (Some(old), Some(new)) if old.key == new.key => Difference::Same,
                (Some(_), Some(_)) => Difference::Changed,
                (None, _) => Difference::New,
                (Some(_), None) => Difference::Gone,
            },
            was: name(old).filter(|old| *old != called),
            name: called,
        }
    }

    fn snapshots(&self) -> String {
        let snapshot = |key: &Option<String>| {
            let key: Option<ContentKey> = key.as_deref().and_then(|key| key.parse().ok());
            key.map(ContentKey::snapshot_name)
        };
        match (snapshot(&self.a), snapshot(&self.b)) {
            (Some(old), Some(new)) if old != new => format!("{old} → {new}"),
            (old, new) => new.or(old).unwrap_or_default(),
        }
    }
}

pub(super) fn text(nodes: &[Node]) -> String {
    let width = nodes.iter().map(|node| node.name.len()).max().unwrap_or(0);
    let line = |node: &Node| {
        let (name, result) = (&node.name, node.result.word());
        let was = match &node.was {
            Some(was) => format!(" (was {was})"),
            None => String::new(),
        };
        let head = format!("{name:width$}  {result:7}  {}{was}\n", node.snapshots());
        head + &leaves::text(&node.changes)
    };
    nodes.iter().map(line).collect()
}
