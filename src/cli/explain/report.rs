//! What `explain` says, for people and as data.

use serde::Serialize;

use super::{Base, Comparison};
use crate::cli::leaves::{self, Leaf, Written};
use crate::cli::project::Project;
use crate::pin::PinnedNode;
use crate::plan::{Action, Reason};

/// `atelier.explain/1`: fields in alphabetical order, nodes in build order.
#[derive(Serialize)]
pub(super) struct Report {
    pub nodes: Vec<Node>,
    pub schema: &'static str,
}

#[derive(Serialize)]
pub(super) struct Node {
    action: &'static str,
    /// `null` where there is nothing to compare with, or no need.
    against: Option<Other>,
    /// Of a lost snapshot.
    #[serde(skip)]
    cause: Option<String>,
    changes: Vec<Leaf>,
    key: String,
    pub name: String,
    parent: Option<String>,
    /// `null` for what is reused.
    reason: Option<&'static str>,
    snapshot: String,
}

/// What a node was compared with.
#[derive(Serialize)]
struct Other {
    key: String,
    /// `last`, `nearest`, `key` or `lock`.
    kind: &'static str,
    /// What it was baked for.
    node: String,
    snapshot: String,
}

impl Node {
    pub(super) fn of(
        project: &Project,
        node: &PinnedNode<'_>,
        parent: Option<&PinnedNode<'_>>,
        action: &Action,
        compared: Option<&Comparison>,
    ) -> Self {
        let name = |node: &PinnedNode<'_>| node.node.name.value.clone();
        let (reason, cause) = match action {
            Action::Reuse(_) => (None, None),
            Action::Bake(Reason::SnapshotLost(cause)) => {
                (Some("snapshot-lost"), Some(cause.clone()))
            }
            Action::Bake(reason) => (Some(reason.kind()), None),
        };
        Self {
            action: match action {
                Action::Reuse(_) => "reuse",
                Action::Bake(_) => "bake",
            },
            against: compared.map(|compared| Other::of(&compared.base, name(node))),
            cause,
            changes: compared.map_or(Vec::new(), |compared| {
                let sources = &project.sources;
                leaves::leaves(&compared.changes, None, Some(Written { node, sources }))
            }),
            key: node.key.to_hex(),
            name: name(node),
            parent: parent.map(name),
            reason,
            snapshot: node.key.snapshot_name(),
        }
    }

    pub(super) fn text(&self, width: usize) -> String {
        let status = match self.reason {
            None => "hit".to_owned(),
            Some(reason) => format!("miss: {}", self.said(reason)),
        };
        let against = match &self.against {
            Some(other) if matches!(other.kind, "key" | "lock") => {
                other.said(&self.name, self.changes.len())
            }
            _ => String::new(),
        };
        let (name, snapshot) = (&self.name, &self.snapshot);
        let head = format!("{name:width$}  {snapshot}  {status}{against}\n");
        head + &leaves::text(&self.changes)
    }

    /// The reason in words.
    fn said(&self, reason: &str) -> String {
        let since = match &self.against {
            Some(other) if other.kind == "last" => format!("its last bake, {}", other.snapshot),
            _ => "its last bake".to_owned(),
        };
        let near = self
            .against
            .as_ref()
            .filter(|other| other.kind == "nearest");
        match (reason, near) {
            ("new", Some(near)) => {
                let near = near.said(&self.name, self.changes.len());
                format!("new: it was never baked here{near}")
            }
            ("new", None) => "new: it was never baked here".to_owned(),
            ("changed", _) => format!("changed since {since}"),
            ("parent-changed", _) => {
                format!("parent-changed, and nothing of its own since {since}")
            }
            ("evicted", _) => "evicted: it was here, and is gone".to_owned(),
            ("snapshot-lost", _) => {
                let cause = self.cause.as_deref().unwrap_or_default();
                format!("snapshot-lost: {cause}")
            }
            (kind, _) => format!("{kind}: {since} was keyed in another way"),
        }
    }
}

impl Other {
    fn of(base: &Base, name: String) -> Self {
        let (kind, key, node) = match base {
            Base::LastBake(key) => ("last", *key, name),
            Base::Nearest { key, node } => ("nearest", *key, node.clone()),
            Base::Given { key, node } => ("key", *key, node.clone()),
            Base::Lock(key) => ("lock", *key, name),
        };
        Self {
            key: key.to_hex(),
            kind,
            node,
            snapshot: key.snapshot_name(),
        }
    }

    /// Says what a node called `name` is beside it.
    fn said(&self, name: &str, leaves: usize) -> String {
        let whose = match self.node == name {
            true => String::new(),
            false => format!(" ({})", self.node),
        };
        let by = if self.kind == "lock" {
            " of that lock"
        } else {
            ""
        };
        let snapshot = format!("{}{whose}{by}", self.snapshot);
        let leaves = match leaves {
            1 => "1 leaf".to_owned(),
            count => format!("{count} leaves"),
        };
        match (self.kind, leaves.as_str()) {
            ("nearest", _) => format!("; the nearest snapshot, {snapshot}, differs in {leaves}"),
            (_, "0 leaves") => format!("; the same as {snapshot}"),
            _ => format!("; differs from {snapshot} in {leaves}"),
        }
    }
}
