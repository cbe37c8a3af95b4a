//! Pins inputs: images to digests, refs to commits, files to hashes. All at once, each only once.
//!
//! An input that cannot be resolved is an error that names it, its cause and the way out; never an omission.
//! Knows nothing of keys, stores or backends.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use atelier_lang::graph::{Base, Content, Graph, ImageRef, NodeId, Reference, Repo, RepoSource};
use atelier_lang::source::VirtualPath;
use atelier_lang::span::{Span, Spanned};
use futures_util::future::join_all;

pub(crate) use git::{is_floating, pin_at};

pub use crate::git::RepoLocation;
use crate::node::{ImageDigest, ObjectId, TreeEntry};
use crate::registry::Reference as ImageReference;
use host::HostPath;

pub mod files;
mod git;
pub mod host;
pub mod image;
pub mod live;
pub mod only;

/// Resolves one input, or says why not.
pub trait Pins {
    async fn image(&self, image: &ImageRef, platform: &str) -> Result<PinnedImage, PinError>;
    async fn repo(&self, repo: &RepoInput) -> Result<PinnedRepo, PinError>;
    /// Picks the files of a repository whose commit is known.
    async fn tree(&self, only: &OnlyInput, repo: &PinnedRepo) -> Result<PinnedTree, PinError>;
    async fn file(&self, path: &VirtualPath) -> Result<PinnedFile, PinError>;
}

/// What identifies a repository's state: nodes that agree in it share one request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoInput {
    pub source: RepoSource,
    pub reference: Option<Reference>,
}

/// Files of a repository, by patterns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OnlyInput {
    pub repo: RepoInput,
    pub files: Vec<String>,
    pub stubs: Vec<String>,
}

/// The files that patterns name at a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PinnedTree {
    pub entries: BTreeSet<TreeEntry>,
    /// Which of the patterns name nothing: their places in the list of files, then in that of stubs.
    pub unmatched: [Vec<usize>; 2],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedImage {
    pub digest: ImageDigest,
    pub location: ImageLocation,
}

/// Where a backend finds the bytes of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageLocation {
    /// The machine's own system folders, without what not everybody may read.
    Host {
        /// Absolute paths below /etc.
        hidden: Vec<PathBuf>,
        /// What the configuration shows beside them.
        extra: Vec<HostPath>,
        /// Which folders of `extra` hold programs.
        path: Vec<String>,
    },
    /// An OCI layout: a folder.
    Layout(PathBuf),
    /// An OCI layout in a tar file.
    Archive(PathBuf),
    /// A repository that has it, whatever is asked of it there: the digest says which image.
    Registry(ImageReference),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedRepo {
    /// Normalised; empty for a repository on disk whose origin has no HTTPS form.
    pub url: String,
    /// Full (`refs/heads/main`), or empty: see [`crate::node::ResolvedRepo`].
    pub reference: String,
    pub commit: ObjectId,
    /// Where it lands unless the file says otherwise; `None` if the file must.
    pub default_path: Option<String>,
    pub location: RepoLocation,
    /// Something the user should know, such as uncommitted changes that are not baked.
    pub notice: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedFile {
    /// BLAKE3 of `content`.
    pub hash: [u8; 32],
    pub content: Vec<u8>,
}

/// An input that could not be resolved. Never carries a credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot resolve {input}: {cause}")]
pub struct PinError {
    /// As the user wrote it.
    pub input: String,
    pub cause: String,
    /// The way out.
    pub help: String,
}

/// The inputs of some nodes, all pinned.
#[derive(Clone, Debug, Default)]
pub struct Pinned {
    images: BTreeMap<(ImageRef, String), PinnedImage>,
    repos: BTreeMap<RepoInput, PinnedRepo>,
    trees: BTreeMap<OnlyInput, PinnedTree>,
    files: BTreeMap<VirtualPath, PinnedFile>,
}

impl Pinned {
    pub fn image(&self, image: &ImageRef, platform: &str) -> Option<&PinnedImage> {
        self.images.get(&(image.clone(), platform.to_owned()))
    }

    pub fn repo(&self, repo: &RepoInput) -> Option<&PinnedRepo> {
        self.repos.get(repo)
    }

    pub fn tree(&self, only: &OnlyInput) -> Option<&PinnedTree> {
        self.trees.get(only)
    }

    pub fn file(&self, path: &VirtualPath) -> Option<&PinnedFile> {
        self.files.get(path)
    }

    /// What the user should know of the repositories, in order.
    pub fn notices(&self) -> impl Iterator<Item = &str> {
        self.repos
            .values()
            .filter_map(|repo| repo.notice.as_deref())
    }
}

impl RepoInput {
    pub fn of(repo: &Repo) -> Self {
        let reference = repo
            .reference
            .as_ref()
            .map(|reference| reference.value.clone());
        Self {
            source: repo.source.value.clone(),
            reference,
        }
    }
}

impl OnlyInput {
    /// `None` if the repository is taken as a whole.
    pub fn of(repo: &Repo) -> Option<Self> {
        let only = repo.only.as_ref()?;
        let texts = |patterns: &[Spanned<String>]| {
            let patterns = patterns.iter().map(|pattern| pattern.value.clone());
            patterns.collect()
        };
        Some(Self {
            repo: RepoInput::of(repo),
            files: texts(&only.files),
            stubs: texts(&only.stubs),
        })
    }
}

/// As the file names it, for people.
impl fmt::Display for RepoInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (RepoSource::Url(name) | RepoSource::Disk(name)) = &self.source;
        match &self.reference {
            None => f.write_str(name),
            Some(Reference::Branch(branch)) => write!(f, "{name} (branch {branch})"),
            Some(Reference::Tag(tag)) => write!(f, "{name} (tag {tag})"),
            Some(Reference::Commit(commit)) => write!(f, "{name} (commit {commit})"),
        }
    }
}

/// Pins everything that the nodes `needed` take in, all at once. If anything fails, all that failed is reported, each
/// input once, where the file names it first.
pub async fn resolve_all(
    graph: &Graph,
    needed: &[NodeId],
    pins: &impl Pins,
) -> Result<Pinned, Vec<(Span, PinError)>> {
    let wanted = Wanted::of(graph, needed);
    let images = join_all(wanted.images.iter().map(async |((image, platform), span)| {
        (
            span,
            (image.clone(), platform.clone()),
            pins.image(image, platform).await,
        )
    }));
    let repos = join_all(
        wanted
            .repos
            .iter()
            .map(async |(repo, span)| (span, repo.clone(), pins.repo(repo).await)),
    );
    let files = join_all(
        wanted
            .files
            .iter()
            .map(async |(path, span)| (span, path.clone(), pins.file(path).await)),
    );
    let trees = join_all(wanted.trees.iter().map(async |(only, span)| {
        // Where the repository cannot be pinned, that is told of the repository.
        let repo = pins.repo(&only.repo).await.ok()?;
        Some((span, only.clone(), pins.tree(only, &repo).await))
    }));
    let (images, repos, trees, files) =
        Box::pin(async { tokio::join!(images, repos, trees, files) }).await;
    let mut errors = Vec::new();
    let pinned = Pinned {
        images: sort(images, &mut errors),
        repos: sort(repos, &mut errors),
        trees: sort(trees.into_iter().flatten().collect(), &mut errors),
        files: sort(files, &mut errors),
    };
    errors.sort_by_key(|(span, _)| (span.file, span.start));
    if errors.is_empty() {
        Ok(pinned)
    } else {
        Err(errors)
    }
}

/// Each input with the place that names it first.
#[derive(Default)]
pub(crate) struct Wanted {
    pub(crate) images: BTreeMap<(ImageRef, String), Span>,
    pub(crate) repos: BTreeMap<RepoInput, Span>,
    pub(crate) trees: BTreeMap<OnlyInput, Span>,
    pub(crate) files: BTreeMap<VirtualPath, Span>,
}

impl Wanted {
    pub(crate) fn of(graph: &Graph, needed: &[NodeId]) -> Self {
        let mut wanted = Self::default();
        for node in needed.iter().map(|&id| graph.node(id)) {
            if let Base::Image(image) = &node.base {
                let key = (image.value.clone(), node.platform.clone());
                wanted.images.entry(key).or_insert(image.span);
            }
            for repo in &node.repos {
                wanted
                    .repos
                    .entry(RepoInput::of(repo))
                    .or_insert(repo.source.span);
                if let Some(only) = OnlyInput::of(repo) {
                    wanted.trees.entry(only).or_insert(repo.source.span);
                }
            }
            for file in &node.files {
                if let Content::Local(path) = &file.content {
                    wanted.files.entry(path.clone()).or_insert(file.span);
                }
            }
        }
        wanted
    }
}

fn sort<K: Ord, V>(
    results: Vec<(&Span, K, Result<V, PinError>)>,
    errors: &mut Vec<(Span, PinError)>,
) -> BTreeMap<K, V> {
    let mut pinned = BTreeMap::new();
    for (span, key, result) in results {
        match result {
            Ok(value) => drop(pinned.insert(key, value)),
            Err(error) => errors.push((*span, error)),
        }
    }
    pinned
}
