//! Leaves that differ, for people and as data: each with the line of the file that it comes from.

use atelier_lang::source::Sources;
use atelier_lang::span::Span;
use serde::Serialize;

use super::excerpt::{Sides, sides};
use crate::explain::{self, Change, Name};
use crate::node::ContentKey;
use crate::pin::PinnedNode;

/// So many leaves of a node are shown to people, and the rest is counted.
const SHOWN: usize = 10;

/// So long may either side be for both to stand on one line.
const INLINE: usize = 44;

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Line {
    pub file: String,
    #[serde(rename = "line")]
    pub number: usize,
    /// Without the white space around it.
    pub text: String,
    /// The lines whose expansion has brought it, innermost first: uses of templates, cells.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<Line>,
}

/// One leaf that differs. Fields in alphabetical order.
#[derive(Debug, Serialize)]
pub(super) struct Leaf {
    pub field: String,
    /// Where the file has it; `null` where there is no file.
    pub line: Option<Line>,
    pub new: Option<String>,
    pub old: Option<String>,
}

impl Line {
    pub(super) fn of(sources: &Sources, span: Span) -> Self {
        let expansions = sources.trace(span);
        let via = expansions.map(|expansion| Self::alone(sources, expansion.span));
        Self {
            via: via.collect(),
            ..Self::alone(sources, span)
        }
    }

    fn alone(sources: &Sources, span: Span) -> Self {
        let number = sources.line(span);
        let text = sources.text(span.file).split('\n').nth(number - 1);
        Self {
            file: sources.name(span.file).to_owned(),
            number,
            text: text.unwrap_or_default().trim().to_owned(),
            via: Vec::new(),
        }
    }

    /// Such as `prebuild.kdl:12`.
    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.file, self.number)
    }
}

/// A node, and the texts that it was evaluated from.
#[derive(Clone, Copy)]
pub(super) struct Written<'a> {
    pub node: &'a PinnedNode<'a>,
    pub sources: &'a Sources,
}

impl Written<'_> {
    fn line(&self, field: &Name, is_there: bool) -> Line {
        Line::of(self.sources, explain::place(self.node, field, is_there))
    }
}

/// The changes of a node, each with its line: of the new file, where it has what is new, else of the old one.
pub(super) fn leaves(
    changes: &[Change],
    old: Option<Written<'_>>,
    new: Option<Written<'_>>,
) -> Vec<Leaf> {
    let line = |change: &Change| {
        let is_there = change.new.is_some();
        match (old, new) {
            (_, Some(new)) if is_there => Some(new.line(&change.field, true)),
            // Where numbers count in another file, they say nothing of this one.
            (Some(old), _) => Some(old.line(&change.field, !is_there)),
            (None, Some(new)) => Some(new.line(&change.field, false)),
            (None, None) => None,
        }
    };
    let leaf = |change: &Change| Leaf {
        field: change.field.to_string(),
        line: line(change),
        new: change.new.clone(),
        old: change.old.clone(),
    };
    changes.iter().map(leaf).collect()
}

impl Leaf {
    /// A key of a snapshot is shown as it is called.
    fn sides(&self) -> Sides {
        let is_key = self.field == "from / parent key" || self.field.starts_with("needs / ");
        let name = |text: &Option<String>| {
            let key = text.as_ref().filter(|_| is_key);
            let key = key.and_then(|key| key.parse::<ContentKey>().ok());
            key.map(ContentKey::snapshot_name).or_else(|| text.clone())
        };
        sides(
            name(&self.old).as_deref(),
            name(&self.new).as_deref(),
            INLINE,
        )
    }
}

/// Each line of the file once, and below it the leaves that it has made.
pub(super) fn text(leaves: &[Leaf]) -> String {
    let shown = &leaves[..leaves.len().min(SHOWN)];
    let places = shown.iter().filter_map(|leaf| leaf.line.as_ref());
    let width = places.map(|line| line.place().chars().count()).max();
    let width = width.unwrap_or(0);
    let mut lines = Vec::new();
    let mut above: Option<&Line> = None;
    for leaf in shown {
        if let Some(line) = leaf.line.as_ref().filter(|line| above != Some(*line)) {
            lines.push(format!("  {:width$}  {}", line.place(), line.text));
            let via = line.via.iter();
            lines.extend(via.map(|line| format!("    by {}  {}", line.place(), line.text)));
            above = Some(line);
        }
        match leaf.sides() {
            Sides::Inline(old, new) => lines.push(format!("      {}: {old} → {new}", leaf.field)),
            Sides::Lines(old, new) => {
                lines.push(format!("      {}:", leaf.field));
                lines.extend(old.iter().map(|line| format!("        - {line}")));
                lines.extend(new.iter().map(|line| format!("        + {line}")));
            }
        }
    }
    match leaves.len() - shown.len() {
        0 => {}
        more => lines.push(format!("      and {more} more")),
    }
    lines.iter().map(|line| line.clone() + "\n").collect()
}
