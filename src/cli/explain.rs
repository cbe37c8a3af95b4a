//! `explain`: a target and what it stands on, cached or not; and what of the file made the difference.

use std::path::Path;

use atelier_lang::graph::NodeId;

use super::args::ExplainArgs;
use super::build::{Planned, interruptible, prepare};
use super::failure::Failure;
use super::interrupt::Interrupts;
use super::log::key_prefix;
use super::pinning::{LockFile, Pinning, read_lock};
use super::place::Words;
use super::project::Project;
use super::{stored, ui};
use crate::backend::{Backend, Cancel, Snapshot};
use crate::explain::{Change, changes, nearest, pair};
use crate::key;
use crate::node::{ContentKey, ResolvedNode};
use crate::pin::PinnedNode;
use crate::plan::{Action, Reason};

mod report;

use report::{Node, Report};

/// What the nodes are compared with.
enum Against {
    /// Each with its own last bake, or with what resembles it most.
    Last,
    /// A snapshot, by the beginning of its key.
    Key(String),
    /// What they would be with the inputs of another lock.
    Lock(LockFile),
}

/// What one node was compared with, and what came of it.
struct Comparison {
    base: Base,
    changes: Vec<Change>,
}

/// The other side of a comparison.
enum Base {
    LastBake(ContentKey),
    Nearest {
        key: ContentKey,
        node: String,
    },
    /// What `--against` names, or an ancestor of it.
    Given {
        key: ContentKey,
        node: String,
    },
    /// The same node, with the inputs of another lock.
    Lock(ContentKey),
}

pub(super) async fn explain(args: ExplainArgs) -> Result<u8, Failure> {
    let mut interrupts = Interrupts::watch()?;
    let words = Words::read(&args.words)?;
    let against = Against::read(&args.against)?;
    let pinning = Pinning::read(&args.resolve)?;
    let project = Project::load(words.file, &args.resolve.file, &args.store)?;
    let needed = project.select(&words.targets)?;
    let planned = prepare(&project, &needed, &[], &pinning, &mut interrupts).await?;
    let compared = match against {
        Against::Last => with_last(&planned).await?,
        Against::Key(key) => with_snapshot(&planned, &key).await?,
        Against::Lock(lock) => {
            let cancel = Cancel::new();
            let resolved = async {
                tokio::select! {
                    resolved = with_lock(&project, &planned, &needed, &pinning, lock) => resolved,
                    () = cancel.cancelled() => Err(Failure::interrupted()),
                }
            };
            interruptible(&cancel, &mut interrupts, resolved).await?
        }
    };
    let rows = planned.nodes.iter().zip(&planned.actions).zip(&compared);
    let rows: Vec<Node> = rows
        .map(|((node, action), compared)| {
            let parent = node.parent.map(|parent| &planned.nodes[parent]);
            Node::of(&project, node, parent, action, compared.as_ref())
        })
        .collect();
    match args.json {
        true => ui::print_json(&Report {
            nodes: rows,
            schema: "atelier.explain/1",
        }),
        false => {
            let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
            ui::print(&rows.iter().map(|row| row.text(width)).collect::<String>());
        }
    }
    Ok(0)
}

impl Against {
    fn read(word: &str) -> Result<Self, Failure> {
        match (word, key_prefix(word)) {
            ("last", _) => Ok(Self::Last),
            (_, Some(_)) => Ok(Self::Key(word.to_owned())),
            _ if Path::new(word).exists() => Ok(Self::Lock(read_lock(Path::new(word))?)),
            _ => Err(Failure::usage(
                format!("`--against {word}` is neither a key, a lock nor `last`"),
                "give 6 or more hexadecimal digits of a key, or snap-… (see `atelier snapshots`), or the path of a lock",
            )),
        }
    }
}

/// What is to be baked, beside the last bake of that target; without one, beside the nearest snapshot.
async fn with_last(planned: &Planned<'_>) -> Result<Vec<Option<Comparison>>, Failure> {
    let mut snapshots: Option<Vec<(Snapshot, ResolvedNode)>> = None;
    let mut compared = Vec::new();
    for (node, action) in planned.nodes.iter().zip(&planned.actions) {
        let Action::Bake(reason) = action else {
            compared.push(None);
            continue;
        };
        let name = &node.node.name.value;
        if *reason == Reason::New {
            let snapshots = match &mut snapshots {
                Some(snapshots) => snapshots,
                none => none.insert(stored::readable(planned.backend.list().await?)),
            };
            compared.push(
                nearest(&node.resolved, name, snapshots).map(|near| Comparison {
                    base: Base::Nearest {
                        key: near.snapshot.key,
                        node: near.snapshot.node.clone(),
                    },
                    changes: near.changes,
                }),
            );
            continue;
        }
        let last = planned.history.recall(name).preimage;
        compared.push((!last.is_empty()).then(|| Comparison {
            base: Base::LastBake(key::key_of_preimage(&last)),
            changes: reason.changes().to_vec(),
        }));
    }
    Ok(compared)
}

/// The one target beside a snapshot, and its ancestors beside the snapshot's.
async fn with_snapshot(
    planned: &Planned<'_>,
    key: &str,
) -> Result<Vec<Option<Comparison>>, Failure> {
    let chain = the_one(planned)?;
    let snapshots = planned.backend.list().await?;
    let others = stored::chain(&snapshots, stored::find(&snapshots, key)?);
    let others = stored::whole(&planned.backend, &others).await?;
    let name = |&index: &usize| planned.nodes[index].node.name.value.as_str();
    let names: Vec<&str> = chain.iter().map(name).collect();
    let other_names: Vec<&str> = others.iter().map(|other| other.node.as_str()).collect();
    let mut compared: Vec<Option<Comparison>> = planned.nodes.iter().map(|_| None).collect();
    for (index, other) in chain.into_iter().zip(pair(&names, &other_names)) {
        let Some(other) = other.map(|other| &others[other]) else {
            continue;
        };
        let old = stored::node(other)?;
        compared[index] = Some(Comparison {
            base: Base::Given {
                key: other.key,
                node: other.node.clone(),
            },
            changes: changes(&old, &planned.nodes[index].resolved),
        });
    }
    Ok(compared)
}

/// Each beside what it would be by another lock.
async fn with_lock(
    project: &Project,
    planned: &Planned<'_>,
    needed: &[NodeId],
    pinning: &Pinning,
    lock: LockFile,
) -> Result<Vec<Option<Comparison>>, Failure> {
    let pinned = project
        .resolve_by(needed, pinning, lock, &planned.live)
        .await?;
    let others = project.pin(needed, &pinned)?;
    let compare = |(node, other): (&PinnedNode<'_>, &PinnedNode<'_>)| {
        Some(Comparison {
            base: Base::Lock(other.key),
            changes: changes(&other.resolved, &node.resolved),
        })
    };
    Ok(planned.nodes.iter().zip(&others).map(compare).collect())
}

/// The only target that is asked about, and its ancestors, by their places.
fn the_one(planned: &Planned<'_>) -> Result<Vec<usize>, Failure> {
    let parent = |&index: &usize| planned.nodes[index].parent;
    let last = planned.nodes.len().checked_sub(1);
    let chain: Vec<usize> = std::iter::successors(last, parent).collect();
    match chain.len() == planned.nodes.len() {
        true => Ok(chain),
        false => Err(Failure::usage(
            "a snapshot is compared with one target",
            "name the target too",
        )),
    }
}
