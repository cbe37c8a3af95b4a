//! `eval`: what a file means, as data or as a file without reuse; with keys if the inputs are to be pinned.

use atelier_lang::expansion;
use atelier_lang::graph::NodeId;
use atelier_lang::schema::{self, PinnedRepoData, PinsData};

use super::args::EvalArgs;
use super::build::interruptible;
use super::failure::Failure;
use super::interrupt::Interrupts;
use super::pinning::{Pinning, Resolved};
use super::place::Words;
use super::project::Project;
use super::ui;
use crate::backend::Cancel;
use crate::node::{ObjectId, ResolvedRepo, Source, TreeEntry};
use crate::pin::PinnedNode;

pub(super) async fn eval(args: EvalArgs) -> Result<u8, Failure> {
    let words = Words::read(&args.words)?;
    let project = Project::load(words.file, &args.resolve.file, &args.store)?;
    let needed = project.select(&words.targets)?;
    let pins = match args.resolved {
        true => resolve(&project, &needed, &args).await?,
        false => Vec::new(),
    };
    let mut graph = schema::data(&project.graph, &needed, &project.sources);
    for (target, pins) in graph.targets.iter_mut().zip(pins) {
        target.pins = Some(pins);
    }
    if args.json {
        ui::print_json(&graph);
    } else {
        ui::print(&expansion::text(&graph));
    }
    Ok(0)
}

/// What the inputs of the nodes are pinned to.
async fn resolve(
    project: &Project,
    needed: &[NodeId],
    args: &EvalArgs,
) -> Result<Vec<PinsData>, Failure> {
    let mut interrupts = Interrupts::watch()?;
    let pinning = Pinning::read(&args.resolve)?;
    let live = project.world(needed, &pinning.secrets)?;
    let cancel = Cancel::new();
    let work = async {
        tokio::select! {
            resolved = project.resolve(needed, &pinning, &live) => resolved,
            () = cancel.cancelled() => Err(Failure::interrupted()),
        }
    };
    let resolved = interruptible(&cancel, &mut interrupts, work).await?;
    let Resolved { pinned, .. } = resolved;
    let nodes = project.pin(needed, &pinned)?;
    Ok(nodes.iter().map(pins).collect())
}

fn pins(node: &PinnedNode<'_>) -> PinsData {
    let resolved = &node.resolved;
    let files = resolved.files.iter();
    let repos = resolved.repos.iter();
    let (image, parent) = match &resolved.source {
        Source::Image { digest, .. } => (Some(digest.to_string()), None),
        Source::Parent(key) => (None, Some(key.to_hex())),
    };
    PinsData {
        files: files
            .map(|(path, file)| (path.clone(), hex::encode(file.content)))
            .collect(),
        image,
        key: node.key.to_hex(),
        parent,
        platform: node.node.platform.clone(),
        repos: repos
            .map(|(path, found)| (path.clone(), repo(found)))
            .collect(),
        snapshot: node.key.snapshot_name(),
    }
}

fn repo(repo: &ResolvedRepo) -> PinnedRepoData {
    let entry = |entry: &TreeEntry| {
        let object = entry.object.as_ref().map(ObjectId::to_string);
        (entry.path.clone(), (entry.mode.clone(), object))
    };
    match repo {
        ResolvedRepo::Commit {
            url,
            reference,
            commit,
            ..
        } => PinnedRepoData {
            commit: Some(commit.to_string()),
            only: None,
            reference: Some(reference.clone()),
            url: Some(url.clone()),
        },
        ResolvedRepo::Only { entries, .. } => PinnedRepoData {
            commit: None,
            only: Some(entries.iter().map(entry).collect()),
            reference: None,
            url: None,
        },
    }
}
