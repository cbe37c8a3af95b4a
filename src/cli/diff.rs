//! `diff`: two snapshots, locks, or states of a file, node by node.

use std::collections::BTreeSet;

use atelier_lang::graph::{Graph, NodeId};

use super::args::DiffArgs;
use super::build::interruptible;
use super::failure::Failure;
use super::interrupt::Interrupts;
use super::log::key_prefix;
use super::pinning::Pinning;
use super::place::Words;
use super::project::{self, Project};
use super::{exit, ui};
use crate::backend::local::Local;
use crate::backend::{Backend, Cancel, Snapshot};

mod pairs;
mod report;
mod side;

use pairs::Entry;
use report::{Difference, Node, Report, rows, text};
use side::{Around, File, Side};

pub(super) async fn diff(args: DiffArgs) -> Result<u8, Failure> {
    let mut interrupts = Interrupts::watch()?;
    let pinning = Pinning::read(&args.resolve)?;
    let words = Words::read(&args.words)?;
    let cancel = Cancel::new();
    let work = async {
        tokio::select! {
            rows = compare(&args, words, &pinning) => rows,
            () = cancel.cancelled() => Err(Failure::interrupted()),
        }
    };
    let nodes = interruptible(&cancel, &mut interrupts, work).await?;
    let equal = nodes.iter().all(|node| node.result == Difference::Same);
    match args.json {
        true => ui::print_json(&Report {
            a: args.a,
            b: args.b,
            equal,
            nodes,
            schema: "atelier.diff/1",
        }),
        false => ui::print(&text(&nodes)),
    }
    Ok(if equal { 0 } else { exit::MISSES })
}

async fn compare(args: &DiffArgs, words: Words, pinning: &Pinning) -> Result<Vec<Node>, Failure> {
    let Words { file, targets } = words;
    // What is a file is what the other side is about too.
    let file = file
        .or_else(|| side::file(&args.a))
        .or_else(|| side::file(&args.b));
    let snapshots = match [&args.a, &args.b]
        .iter()
        .any(|word| key_prefix(word).is_some())
    {
        true => {
            let store = side::store(file.clone(), &args.store)?;
            Local::open(&store, project::isolation(&args.store))?
                .list()
                .await?
        }
        false => Vec::new(),
    };
    let around = Around {
        given: &args.resolve.file,
        args: &args.store,
        file,
        snapshots: &snapshots,
    };
    let (a, b) = (around.side(&args.a).await?, around.side(&args.b).await?);
    match (&a, &b) {
        (Side::Chain(_), Side::Chain(_)) if !targets.is_empty() => {
            let text = "a snapshot has no targets";
            Err(Failure::usage(text, "name the two snapshots alone"))
        }
        (Side::Chain(a), Side::Chain(b)) => {
            let (a, b) = (pairs::of_chain(a)?, pairs::of_chain(b)?);
            let heads = (a.len() - 1, b.len() - 1);
            Ok(rows(&a, &b, &pairs::by_chain(&a, &b, heads)))
        }
        (Side::Chain(a), Side::File(b)) => {
            with_chain(a, b, &targets, pinning, |a, b, (of_a, of_b)| {
                rows(a, b, &pairs::by_chain(a, b, (of_a, of_b)))
            })
            .await
        }
        (Side::File(a), Side::Chain(b)) => {
            with_chain(b, a, &targets, pinning, |b, a, (of_b, of_a)| {
                rows(a, b, &pairs::by_chain(a, b, (of_a, of_b)))
            })
            .await
        }
        (Side::File(a), Side::File(b)) => Box::pin(of_files(a, b, &targets, pinning)).await,
    }
}

/// A snapshot beside a target: the one that is named, else the one that it was baked for, else the only one. `rows` gets
/// the nodes of both, and where those that are compared are.
async fn with_chain(
    chain: &[Snapshot],
    file: &File,
    targets: &[String],
    pinning: &Pinning,
    rows: impl FnOnce(&[Entry<'_>], &[Entry<'_>], (usize, usize)) -> Vec<Node>,
) -> Result<Vec<Node>, Failure> {
    let File { project, .. } = file;
    let graph = &project.graph;
    let called = chain.first().and_then(|first| graph.find(&first.node));
    let only = match graph.default.as_slice() {
        [id] => Some(*id),
        _ => None,
    };
    let target = match (targets, called.or(only)) {
        ([target], _) => target.clone(),
        ([], Some(id)) => graph.node(id).name.value.clone(),
        _ => {
            let text = "a snapshot is compared with one target";
            return Err(Failure::usage(text, "name the target after the two sides"));
        }
    };
    let needed = project.select(&[target])?;
    let live = project.world(&needed, &pinning.secrets)?;
    let pinned = file.resolve(&needed, pinning, &live).await?;
    side::say(&pinned);
    let nodes = project.pin(&needed, &pinned)?;
    let stored = pairs::of_chain(chain)?;
    let entries = pairs::of_file(&nodes, &project.sources);
    Ok(rows(
        &stored,
        &entries,
        (stored.len() - 1, entries.len() - 1),
    ))
}

async fn of_files(
    a: &File,
    b: &File,
    targets: &[String],
    pinning: &Pinning,
) -> Result<Vec<Node>, Failure> {
    let names = names(&a.project.graph, &b.project, targets)?;
    let (of_a, of_b) = both(&a.project, &b.project, names)?;
    let secrets = &pinning.secrets;
    let live = b.project.world(&of_b, secrets)?;
    // What lies beside one file is not beside another.
    let (live, other) = match a.project.file == b.project.file {
        true => (a.project.join_world(live, &of_a, secrets)?, None),
        false => (live, Some(a.project.world(&of_a, secrets)?)),
    };
    let (of_a_pinned, of_b_pinned) = tokio::join!(
        a.resolve(&of_a, pinning, other.as_ref().unwrap_or(&live)),
        b.resolve(&of_b, pinning, &live)
    );
    let (of_a_pinned, of_b_pinned) = (of_a_pinned?, of_b_pinned?);
    side::say(&of_b_pinned);
    let a_nodes = a.project.pin(&of_a, &of_a_pinned)?;
    let b_nodes = b.project.pin(&of_b, &of_b_pinned)?;
    let a = pairs::of_file(&a_nodes, &a.project.sources);
    let b = pairs::of_file(&b_nodes, &b.project.sources);
    Ok(rows(&a, &b, &pairs::by_name(&a, &b)))
}

/// The targets that both sides are asked for: those that are named, of which either side has each; else what a build of
/// either would build.
fn names(a: &Graph, b: &Project, targets: &[String]) -> Result<Vec<String>, Failure> {
    if let Some(unknown) = targets
        .iter()
        .find(|name| !knows(a, name) && !knows(&b.graph, name))
    {
        return Err(b.no_target(unknown));
    }
    if !targets.is_empty() {
        return Ok(targets.to_vec());
    }
    let of = |graph: &Graph| -> Vec<String> {
        let default = graph.default.iter();
        default
            .map(|&id| graph.node(id).name.value.clone())
            .collect()
    };
    Ok([of(a), of(&b.graph)].concat())
}

fn knows(graph: &Graph, name: &str) -> bool {
    graph.find(name).is_some() || graph.groups.contains_key(name)
}

/// What the names need on each side; and what a node stands on there, also where it does not on the other side.
fn both(
    a: &Project,
    b: &Project,
    mut names: Vec<String>,
) -> Result<(Vec<NodeId>, Vec<NodeId>), Failure> {
    loop {
        let (of_a, of_b) = (known(a, &names)?, known(b, &names)?);
        let a_names = of_a.iter().map(|&id| &a.graph.node(id).name.value);
        let b_names = of_b.iter().map(|&id| &b.graph.node(id).name.value);
        let more: BTreeSet<&String> = a_names.chain(b_names).collect();
        let more: Vec<String> = more
            .into_iter()
            .filter(|name| !names.contains(name))
            .cloned()
            .collect();
        if more.is_empty() {
            return Ok((of_a, of_b));
        }
        names.extend(more);
    }
}

/// What those of the names need that the file has.
fn known(project: &Project, names: &[String]) -> Result<Vec<NodeId>, Failure> {
    let known = names.iter().filter(|name| knows(&project.graph, name));
    let known: Vec<String> = known.cloned().collect();
    match known.is_empty() {
        true => Ok(Vec::new()),
        false => project.select(&known),
    }
}
