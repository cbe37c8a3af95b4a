//! Plans and results as data: the JSON that others rely on, and the table for people.

use serde::Serialize;

use super::excerpt::inline;
use crate::backend::Snapshot;
use crate::explain::Change;
use crate::node::ContentKey;
use crate::plan::Action;
use crate::realise::Ended;

/// `atelier.plan/1`: fields in alphabetical order, nodes in build order.
#[derive(Debug, Serialize)]
pub(super) struct Plan {
    pub backend: &'static str,
    pub nodes: Vec<Node>,
    pub schema: &'static str,
}

#[derive(Debug, Serialize)]
pub(super) struct Node {
    pub action: &'static str,
    /// What the snapshot adds to its parent on disk; `null` if it is not known yet.
    pub bytes: Option<u64>,
    /// How long the last bake of this target took here, for what is to be baked; `null` if that is not known.
    pub estimate: Option<f64>,
    pub key: String,
    pub name: String,
    pub parent: Option<String>,
    /// `null` for what is reused.
    pub reason: Option<Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<&'static str>,
    /// How long the bake took.
    pub seconds: Option<f64>,
    pub snapshot: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Reason {
    pub detail: Vec<Detail>,
    pub kind: &'static str,
}

#[derive(Debug, Serialize)]
pub(super) struct Detail {
    pub field: String,
    pub new: Option<String>,
    pub old: Option<String>,
}

/// `atelier.snapshots/1`: fields in alphabetical order, oldest first.
#[derive(Debug, Serialize)]
pub(super) struct Snapshots {
    pub schema: &'static str,
    pub snapshots: Vec<SnapshotRow>,
}

#[derive(Debug, Serialize)]
pub(super) struct SnapshotRow {
    bytes: u64,
    commits: std::collections::BTreeMap<String, String>,
    created: String,
    key: String,
    name: String,
    node: String,
    parent: Option<String>,
    verified: Vec<String>,
}

impl Plan {
    pub(super) fn new(backend: &'static str, nodes: Vec<Node>) -> Self {
        Self {
            backend,
            nodes,
            schema: "atelier.plan/1",
        }
    }
}

impl Node {
    pub(super) fn planned(
        name: &str,
        key: ContentKey,
        parent: Option<&str>,
        action: &Action,
        estimate: Option<f64>,
    ) -> Self {
        let known = match action {
            Action::Reuse(snapshot) => Some(snapshot),
            Action::Bake(_) => None,
        };
        Self {
            action: if known.is_some() { "reuse" } else { "bake" },
            bytes: known.map(|snapshot| snapshot.bytes),
            estimate,
            key: key.to_hex(),
            name: name.to_owned(),
            parent: parent.map(str::to_owned),
            reason: reason(action),
            result: None,
            seconds: known.map(|snapshot| snapshot.durations.total()),
            snapshot: key.snapshot_name(),
        }
    }

    /// The same, once it has ended.
    pub(super) fn ended(mut self, ended: &Ended) -> Self {
        self.result = Some(match ended {
            Ended::Reused(_) => "reused",
            Ended::Baked(_) => "baked",
            Ended::Failed(_) => "failed",
            Ended::Skipped => "skipped",
            Ended::Cancelled => "cancelled",
        });
        if let Ended::Reused(snapshot) | Ended::Baked(snapshot) = ended {
            self.bytes = Some(snapshot.bytes);
            self.seconds = Some(snapshot.durations.total());
        }
        self
    }
}

impl From<Snapshot> for SnapshotRow {
    fn from(snapshot: Snapshot) -> Self {
        Self {
            bytes: snapshot.bytes,
            commits: snapshot.commits,
            created: snapshot.created,
            key: snapshot.key.to_hex(),
            name: snapshot.key.snapshot_name(),
            node: snapshot.node,
            parent: snapshot.parent.map(ContentKey::to_hex),
            verified: snapshot.verified,
        }
    }
}

fn reason(action: &Action) -> Option<Reason> {
    let Action::Bake(reason) = action else {
        return None;
    };
    let detail = |change: &Change| Detail {
        field: change.field.to_string(),
        new: change.new.clone(),
        old: change.old.clone(),
    };
    Some(Reason {
        detail: reason.changes().iter().map(detail).collect(),
        kind: reason.kind(),
    })
}

/// Columns as wide as their widest cell; the last one is as long as it is.
pub(super) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// So much of each side of a change is in one line, in characters.
const SHOWN: usize = 40;

/// One line that says why a node is baked.
pub(super) fn reason_line(action: &Action) -> String {
    let Some(Reason { detail, kind }) = reason(action) else {
        return String::new();
    };
    if let Action::Bake(crate::plan::Reason::SnapshotLost(cause)) = action {
        return format!("{kind}: {cause}");
    }
    let Some(first) = detail.first() else {
        return kind.to_owned();
    };
    let more = match detail.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let (old, new) = inline(first.old.as_deref(), first.new.as_deref(), SHOWN);
    format!("{kind}: {} {old} → {new}{more}", first.field)
}

/// How long something took, in words.
pub(super) fn duration(seconds: f64) -> String {
    let whole = std::time::Duration::try_from_secs_f64(seconds.max(1.0).round());
    let whole = whole.map_or(u64::MAX, |duration| duration.as_secs());
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

pub(super) fn size(bytes: u64) -> String {
    indicatif::BinaryBytes(bytes).to_string()
}
