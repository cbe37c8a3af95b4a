//! From a graph and its pinned inputs to resolved nodes with their keys, and to requests for a backend. Pure.

use std::collections::{BTreeMap, BTreeSet};

use atelier_lang::graph::{Base, Content, Folder, Graph, Node, NodeId, Repo};
use atelier_lang::span::{Span, Spanned};
use secrecy::{ExposeSecret, SecretString};

use crate::backend::{
    BakeRequest, Checkout, Environment, Network, SandboxRequest, Step, WorkspaceFile,
};
use crate::git::Credential;
use crate::key;
use crate::node::{
    ContentKey, Kind, ResolvedFile, ResolvedNode, ResolvedRepo, ResolvedStep, Source,
};
use crate::resolve::{OnlyInput, PinError, Pinned, PinnedImage, PinnedRepo, RepoInput};

/// One node with everything known about it.
#[derive(Debug)]
pub struct PinnedNode<'g> {
    pub node: &'g Node,
    pub resolved: ResolvedNode,
    pub key: ContentKey,
    pub preimage: Vec<u8>,
    /// Its index among the pinned nodes.
    pub parent: Option<usize>,
    /// The root file system: its own image, or its first ancestor's.
    pub image: PinnedImage,
    /// The files that it and its ancestors took of repositories that none of them completed, by where those land.
    taken: BTreeMap<String, BTreeSet<String>>,
    checkouts: Vec<Checkout>,
    files: Vec<WorkspaceFile>,
}

/// Values of secrets, by name.
pub type Secrets = BTreeMap<String, SecretString>;

/// What opens a repository, if the file names a secret for it and its value was given.
pub fn credential(repo: &Repo, secrets: &Secrets) -> Option<Credential> {
    let value = secrets.get(&repo.auth.as_ref()?.value)?;
    Credential::parse(value.expose_secret())
}

/// A fault that only shows when inputs are pinned, and where the file has it.
#[derive(Debug)]
pub struct PinFault {
    pub span: Span,
    pub error: PinError,
}

/// Pins the nodes `needed` (parents first, closed under parents).
pub fn pin<'g>(
    graph: &'g Graph,
    needed: &[NodeId],
    pinned: &Pinned,
) -> Result<Vec<PinnedNode<'g>>, Vec<PinFault>> {
    let mut nodes: Vec<PinnedNode<'g>> = Vec::new();
    let mut index_of: BTreeMap<NodeId, usize> = BTreeMap::new();
    let mut faults = Vec::new();
    for &id in needed {
        let node = graph.node(id);
        let parent = match node.base {
            Base::Parent(parent) => index_of.get(&parent).copied(),
            Base::Image(_) => None,
        };
        match pin_node(node, parent.map(|index| &nodes[index]), parent, pinned) {
            Ok(node) => {
                index_of.insert(id, nodes.len());
                nodes.push(node);
            }
            Err(fault) => faults.extend(fault),
        }
    }
    if faults.is_empty() {
        Ok(nodes)
    } else {
        Err(faults)
    }
}

/// `None` as an error: the parent has a fault, which is reported already.
fn pin_node<'g>(
    node: &'g Node,
    parent: Option<&PinnedNode<'g>>,
    parent_index: Option<usize>,
    pinned: &Pinned,
) -> Result<PinnedNode<'g>, Option<PinFault>> {
    let image = match (&node.base, parent) {
        (Base::Image(image), _) => pinned.image(&image.value, &node.platform).cloned(),
        (Base::Parent(_), parent) => parent.map(|parent| parent.image.clone()),
    };
    let image = image.ok_or(None)?;
    let source = match parent {
        None => Source::Image {
            digest: image.digest,
            platform: node.platform.clone(),
        },
        Some(parent) => Source::Parent(parent.key),
    };
    let above = parent.map(|parent| parent.taken.clone());
    let mut taken = above.unwrap_or_default();
    let checkouts = checkouts(node, pinned, &taken)?;
    take(&mut taken, &checkouts);
    let files = files(node, pinned)?;
    clash(node, &checkouts)?;
    let resolved = ResolvedNode {
        kind: Kind::Prebuild,
        source,
        repos: checkouts.iter().map(resolved_repo).collect(),
        files: files
            .iter()
            .map(|(_, path, file)| (path.clone(), file.clone()))
            .collect(),
        env: node.env.clone(),
        path: node.path.clone(),
        steps: steps(node, &checkouts),
        needs: BTreeMap::new(),
        provides: String::new(),
    };
    let preimage = key::preimage(&resolved);
    Ok(PinnedNode {
        node,
        key: key::key_of_preimage(&preimage),
        preimage,
        resolved,
        parent: parent_index,
        image,
        taken,
        checkouts,
        files: files.into_iter().map(|(file, _, _)| file).collect(),
    })
}

fn resolved_repo(checkout: &Checkout) -> (String, ResolvedRepo) {
    let (submodules, lfs) = (checkout.submodules, checkout.lfs);
    let repo = match &checkout.only {
        Some(entries) => ResolvedRepo::Only {
            format: checkout.commit.format(),
            entries: entries.clone(),
            submodules,
            lfs,
        },
        None => ResolvedRepo::Commit {
            url: checkout.url.clone(),
            reference: checkout.reference.clone(),
            commit: checkout.commit,
            depth: checkout.depth,
            submodules,
            lfs,
        },
    };
    (checkout.path.clone(), repo)
}

/// Adds what a node takes; where it takes all, its `.git` knows from there on.
fn take(taken: &mut BTreeMap<String, BTreeSet<String>>, checkouts: &[Checkout]) {
    for checkout in checkouts {
        let Some(entries) = &checkout.only else {
            taken.remove(&checkout.path);
            continue;
        };
        let paths = entries.iter().map(|entry| entry.path.clone());
        taken
            .entry(checkout.path.clone())
            .or_default()
            .extend(paths);
    }
}

/// A file cannot lie where a repository does, and no cache over one. The language saw the paths that are written;
/// origins give others.
fn clash(node: &Node, checkouts: &[Checkout]) -> Result<(), Option<PinFault>> {
    let clashing = |file: &&atelier_lang::graph::File| {
        checkouts
            .iter()
            .any(|checkout| checkout.path == file.destination.value)
    };
    for (repo, checkout) in node.repos.iter().zip(checkouts) {
        let hides = |cache: &&atelier_lang::graph::Cache| is_or_below(&checkout.path, &cache.path);
        if let Some(cache) = node.caches.iter().find(hides) {
            return Err(Some(PinFault {
                span: repo.source.span,
                error: PinError {
                    input: checkout.path.clone(),
                    cause: format!("the cache `{}` would hide it", cache.name),
                    help: "give the cache another path, or the repository another `path=`"
                        .to_owned(),
                },
            }));
        }
    }
    match node.files.iter().find(clashing) {
        None => Ok(()),
        Some(file) => Err(Some(PinFault {
            span: file.destination.span,
            error: PinError {
                input: file.destination.value.clone(),
                cause: "a repository lands at this path".to_owned(),
                help: "give the file another path, or the repository another `path=`".to_owned(),
            },
        })),
    }
}

/// In the order of the file, which the folders of steps refer to.
fn checkouts(
    node: &Node,
    pinned: &Pinned,
    taken: &BTreeMap<String, BTreeSet<String>>,
) -> Result<Vec<Checkout>, Option<PinFault>> {
    let mut checkouts: Vec<Checkout> = Vec::new();
    for repo in &node.repos {
        let found: &PinnedRepo = pinned.repo(&RepoInput::of(repo)).ok_or(None)?;
        let fault = |cause: String, help: &str| {
            let input = repo_name(found);
            let error = PinError {
                input,
                cause,
                help: help.to_owned(),
            };
            Some(PinFault {
                span: repo.source.span,
                error,
            })
        };
        let path = repo
            .path
            .clone()
            .or_else(|| found.default_path.clone())
            .ok_or_else(|| {
                fault(
                    "it has no origin to name its folder after".to_owned(),
                    "say where it goes with `path=`",
                )
            })?;
        // The language compares the paths that are written; this one may come from an origin.
        if let Some(other) = checkouts.iter().find(|other| overlap(&other.path, &path)) {
            let cause = format!("it would land at `{path}`, in the way of `{}`", other.path);
            return Err(fault(cause, "say where it goes with `path=`"));
        }
        let only = match OnlyInput::of(repo) {
            Some(only) => Some(pinned.tree(&only).ok_or(None)?.entries.clone()),
            None => None,
        };
        let taken = taken.get(&path).filter(|_| only.is_none());
        checkouts.push(Checkout {
            taken: taken.cloned().unwrap_or_default(),
            only,
            path,
            location: found.location.clone(),
            url: found.url.clone(),
            reference: found.reference.clone(),
            commit: found.commit,
            depth: repo.depth,
            submodules: repo.submodules,
            lfs: repo.lfs,
            credential: None,
        });
    }
    Ok(checkouts)
}

fn repo_name(repo: &PinnedRepo) -> String {
    match &repo.location {
        crate::resolve::RepoLocation::Url(url) => url.clone(),
        crate::resolve::RepoLocation::Disk(path) => path.display().to_string(),
    }
}

/// Whether one path is, or lies below, the other.
fn overlap(a: &str, b: &str) -> bool {
    is_or_below(a, b) || is_or_below(b, a)
}

fn is_or_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

type PlacedFile = (WorkspaceFile, String, ResolvedFile);

fn files(node: &Node, pinned: &Pinned) -> Result<Vec<PlacedFile>, Option<PinFault>> {
    let place = |file: &atelier_lang::graph::File| {
        let (hash, content) = match &file.content {
            Content::Text(text) => (
                *blake3::hash(text.as_bytes()).as_bytes(),
                text.clone().into_bytes(),
            ),
            Content::Local(path) => {
                let file = pinned.file(path).ok_or(None)?;
                (file.hash, file.content.clone())
            }
        };
        let path = file.destination.value.clone();
        let mode = u32::from_str_radix(&file.mode, 8).map_err(|_| None)?;
        let resolved = ResolvedFile {
            mode: file.mode.clone(),
            content: hash,
        };
        Ok((
            WorkspaceFile {
                path: path.clone(),
                mode,
                content,
            },
            path,
            resolved,
        ))
    };
    node.files.iter().map(place).collect()
}

fn steps(node: &Node, checkouts: &[Checkout]) -> Vec<ResolvedStep> {
    let step = |step: &atelier_lang::graph::Step| ResolvedStep {
        user: step.user,
        folder: match &step.folder {
            Folder::Workspace(path) => path.clone(),
            Folder::Repo(index) => checkouts[*index].path.clone(),
        },
        shell: step.shell,
        command: step.command.clone(),
    };
    node.steps.iter().map(step).collect()
}

impl PinnedNode<'_> {
    /// The repository that lands at a path.
    pub fn repo(&self, path: &str) -> Option<&Repo> {
        let mut checkouts = self.checkouts.iter().zip(&self.node.repos);
        let found = checkouts.find(|(checkout, _)| checkout.path == path);
        found.map(|(_, repo)| repo)
    }

    /// Names of secrets that its steps see and that `given` lacks.
    pub fn missing_secrets(&self, given: &Secrets) -> Vec<&str> {
        let names = self.node.secrets.iter().map(|name| name.value.as_str());
        names.filter(|name| !given.contains_key(*name)).collect()
    }

    pub fn bake_request(
        &self,
        parent: Option<ContentKey>,
        secrets: &Secrets,
        extra: &BTreeMap<String, String>,
        force: bool,
    ) -> BakeRequest {
        let steps = self.resolved.steps.iter().zip(&self.node.steps);
        let step = |(resolved, written): (&ResolvedStep, &atelier_lang::graph::Step)| Step {
            user: resolved.user,
            folder: resolved.folder.clone(),
            shell: resolved.shell,
            command: resolved.command.clone(),
            timeout: written.timeout,
            retry: written.retry,
        };
        BakeRequest {
            key: self.key,
            preimage: self.preimage.clone(),
            node: self.node.name.value.clone(),
            image: self.image.clone(),
            parent,
            checkouts: self.checkouts_with(secrets),
            files: self.files.clone(),
            steps: steps.map(step).collect(),
            environment: self.environment(secrets, extra),
            caches: self.node.caches.clone(),
            resources: self.node.resources.clone(),
            strict_outside: false,
            force,
        }
    }

    pub fn sandbox_request(
        &self,
        secrets: &Secrets,
        extra: &BTreeMap<String, String>,
    ) -> SandboxRequest {
        SandboxRequest {
            key: self.key,
            image: self.image.clone(),
            environment: self.environment(secrets, extra),
            resources: self.node.resources.clone(),
            network: Network::Host,
            keep: None,
        }
    }

    fn checkouts_with(&self, secrets: &Secrets) -> Vec<Checkout> {
        let checkouts = self.checkouts.iter().zip(&self.node.repos);
        checkouts
            .map(|(checkout, repo)| Checkout {
                credential: credential(repo, secrets),
                ..checkout.clone()
            })
            .collect()
    }

    /// Of the secrets only those that the node names: what opens a repository is not for its steps.
    fn environment(&self, secrets: &Secrets, extra: &BTreeMap<String, String>) -> Environment {
        let mut variables = self.node.env.clone();
        variables.extend(extra.clone());
        let named = |name: &Spanned<String>| {
            let value = secrets.get(&name.value)?;
            Some((name.value.clone(), value.clone()))
        };
        Environment {
            variables,
            path: self.node.path.clone(),
            secrets: self.node.secrets.iter().filter_map(named).collect(),
        }
    }
}
