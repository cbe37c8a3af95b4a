//! A graph → the same as data.

use std::collections::BTreeSet;

use super::{
    BaseData, CacheData, FileData, GraphData, OnlyData, Place, RepoData, ResourcesData, StepData,
    TargetData, ViaData,
};
use crate::graph::{
    Base, Content, File, Folder, Graph, Node, NodeId, Only, Reference, Repo, RepoSource, Shell,
    Step, User,
};
use crate::source::Sources;
use crate::span::{Span, Spanned};

/// The nodes of a graph that are `needed`, and its groups of those. Nothing of the machine is in it.
pub fn data(graph: &Graph, needed: &[NodeId], sources: &Sources) -> GraphData {
    let all: BTreeSet<NodeId> = needed.iter().copied().collect();
    let is_needed = |id: &NodeId| all.contains(id);
    let name = |id: &NodeId| graph.node(*id).name.value.clone();
    let names = |ids: &[NodeId]| -> Vec<String> {
        ids.iter().filter(|id| is_needed(id)).map(name).collect()
    };
    let target = |id: &NodeId| target(graph, graph.node(*id), sources);
    GraphData {
        default: names(&graph.default),
        files: sources.files().map(str::to_owned).collect(),
        groups: graph
            .groups
            .iter()
            .filter(|(_, members)| members.iter().all(is_needed))
            .map(|(name, members)| (name.clone(), names(members)))
            .collect(),
        order: needed.iter().map(name).collect(),
        schema: "atelier.graph/1",
        targets: needed.iter().map(target).collect(),
    }
}

fn target(graph: &Graph, node: &Node, sources: &Sources) -> TargetData {
    let texts = |names: &[Spanned<String>]| names.iter().map(|name| name.value.clone()).collect();
    let resources = &node.resources;
    TargetData {
        about: node.about.clone(),
        caches: node
            .caches
            .iter()
            .map(|cache| CacheData {
                name: cache.name.clone(),
                path: cache.path.clone(),
            })
            .collect(),
        env: node.env.clone(),
        files: node.files.iter().map(|f| file(f, sources)).collect(),
        from: match &node.base {
            Base::Image(image) => BaseData::Image {
                name: image.value.to_string(),
                platform: node.places.platform.map(|_| node.platform.clone()),
            },
            Base::Parent(parent) => BaseData::Prebuild(graph.node(*parent).name.value.clone()),
        },
        kind: "prebuild",
        name: node.name.value.clone(),
        needs: Vec::new(),
        path: node.path.clone(),
        pins: None,
        repos: node.repos.iter().map(|r| repo(r, sources)).collect(),
        resources: ResourcesData {
            cpu: resources.cpu,
            disk: resources.disk,
            memory: resources.memory,
            timeout: resources.timeout.as_secs(),
        },
        secrets: texts(&node.secrets),
        span: place(node.span),
        steps: node.steps.iter().map(|s| step(s, sources)).collect(),
        via: via(node.span, sources),
    }
}

fn repo(repo: &Repo, sources: &Sources) -> RepoData {
    let (RepoSource::Url(url) | RepoSource::Disk(url)) = &repo.source.value;
    let reference = repo.reference.as_ref().map(|reference| &reference.value);
    let texts = |patterns: &[Spanned<String>]| patterns.iter().map(|p| p.value.clone()).collect();
    let only = |only: &Only| OnlyData {
        files: texts(&only.files),
        stubs: texts(&only.stubs),
    };
    let (mut branch, mut tag, mut commit) = (None, None, None);
    match reference {
        Some(Reference::Branch(name)) => branch = Some(name.clone()),
        Some(Reference::Tag(name)) => tag = Some(name.clone()),
        Some(Reference::Commit(id)) => commit = Some(id.clone()),
        None => {}
    }
    RepoData {
        auth: repo.auth.as_ref().map(|auth| auth.value.clone()),
        branch,
        commit,
        depth: repo.depth,
        lfs: repo.lfs,
        only: repo.only.as_ref().map(only),
        path: repo.path.clone(),
        span: place(repo.span),
        submodules: repo.submodules,
        tag,
        url: url.clone(),
        via: via(repo.span, sources),
    }
}

fn file(file: &File, sources: &Sources) -> FileData {
    let (from, text) = match &file.content {
        Content::Local(path) => (Some(path.to_string()), None),
        Content::Text(text) => (None, Some(text.clone())),
    };
    FileData {
        from,
        mode: file.mode.clone(),
        path: file.destination.value.clone(),
        span: place(file.span),
        text,
        via: via(file.span, sources),
    }
}

fn step(step: &Step, sources: &Sources) -> StepData {
    let (folder, repo) = match &step.folder {
        Folder::Workspace(path) => (Some(path.clone()), None),
        Folder::Repo(index) => (None, Some(*index)),
    };
    StepData {
        user: match step.user {
            User::Dev => "dev",
            User::Root => "root",
        },
        folder,
        repo,
        retry: step.retry,
        run: step.command.clone(),
        shell: match step.shell {
            Shell::Bash => "bash",
            Shell::Sh => "sh",
        },
        span: place(step.span),
        timeout: step.timeout.as_secs(),
        via: via(step.span, sources),
    }
}

fn place(span: Span) -> Place {
    (span.file.0, span.start, span.end.saturating_sub(span.start))
}

fn via(span: Span, sources: &Sources) -> Vec<ViaData> {
    let expansions = sources.trace(span);
    expansions
        .map(|expansion| ViaData {
            span: place(expansion.span),
            what: expansion.what.clone(),
        })
        .collect()
}
