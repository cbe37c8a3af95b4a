//! From a file's text to the keys of its targets, with a world of inputs that the test decides.

use std::collections::BTreeMap;
use std::path::PathBuf;

use atelier::git::Listed;
use atelier::node::{ContentKey, ImageDigest};
use atelier::pin::{self, PinnedNode};
use atelier::resolve::{
    ImageLocation, OnlyInput, PinError, Pinned, PinnedFile, PinnedImage, PinnedRepo, PinnedTree,
    Pins, RepoInput, RepoLocation, only, resolve_all,
};
use atelier_lang::graph::{Graph, ImageRef, NodeId, Reference, RepoSource};
use atelier_lang::source::{ReadError, Sources, VirtualPath, World};
use atelier_lang::{Inputs, evaluate};

/// Everything outside of the file that a key depends on.
#[derive(Clone)]
pub(crate) struct Outside {
    /// By alias.
    pub(crate) images: BTreeMap<&'static str, u8>,
    /// One hex digit for the commit of each branch.
    pub(crate) branches: BTreeMap<&'static str, char>,
    pub(crate) default_branch: &'static str,
    /// Where repositories on disk happen to be.
    pub(crate) checkout: &'static str,
    pub(crate) files: BTreeMap<&'static str, &'static str>,
    pub(crate) platform: &'static str,
    /// Path, mode and one hex digit for the object, at every commit.
    pub(crate) tree: Vec<(&'static str, &'static str, char)>,
}

impl Default for Outside {
    fn default() -> Self {
        Self {
            images: BTreeMap::from([("base", 1), ("base-again", 1), ("other", 2)]),
            branches: BTreeMap::from([("main", 'a'), ("twin", 'a'), ("next", 'b')]),
            default_branch: "main",
            checkout: "/home/ann/wallet",
            files: BTreeMap::new(),
            platform: "linux/amd64",
            tree: Vec::new(),
        }
    }
}

struct Text<'a>(&'a str);

impl World for Text<'_> {
    fn read(&self, _path: &VirtualPath, _limit: u64) -> Result<Vec<u8>, ReadError> {
        Ok(self.0.as_bytes().to_vec())
    }
}

impl Pins for Outside {
    async fn image(&self, image: &ImageRef, _platform: &str) -> Result<PinnedImage, PinError> {
        let ImageRef::Alias(name) = image else {
            return Err(unknown(&format!("{image:?}")));
        };
        let digest = self
            .images
            .get(name.as_str())
            .ok_or_else(|| unknown(name))?;
        let location = ImageLocation::Host {
            hidden: Vec::new(),
            extra: Vec::new(),
            path: Vec::new(),
        };
        Ok(PinnedImage {
            digest: ImageDigest([*digest; 32]),
            location,
        })
    }

    async fn repo(&self, repo: &RepoInput) -> Result<PinnedRepo, PinError> {
        let (branch, reference) = match &repo.reference {
            Some(Reference::Branch(name)) => (name.as_str(), format!("refs/heads/{name}")),
            Some(other) => return Err(unknown(&format!("{other:?}"))),
            None => (
                self.default_branch,
                format!("refs/heads/{}", self.default_branch),
            ),
        };
        let digit = self.branches.get(branch).ok_or_else(|| unknown(branch))?;
        let (url, reference, location) = match &repo.source {
            RepoSource::Url(url) => (url.clone(), reference, RepoLocation::Url(url.clone())),
            RepoSource::Disk(path) => {
                let there = RepoLocation::Disk(PathBuf::from(self.checkout).join(path));
                (
                    "https://github.com/frak-id/wallet".to_owned(),
                    String::new(),
                    there,
                )
            }
        };
        Ok(PinnedRepo {
            default_path: url.rsplit('/').next().map(str::to_owned),
            url,
            reference,
            commit: digit.to_string().repeat(40).parse().unwrap(),
            location,
            notice: None,
        })
    }

    async fn tree(&self, only: &OnlyInput, _repo: &PinnedRepo) -> Result<PinnedTree, PinError> {
        let listed = self.tree.iter().map(|(path, mode, digit)| Listed {
            path: path.as_bytes().to_vec(),
            mode: (*mode).to_owned(),
            object: digit.to_string().repeat(40).parse().unwrap(),
        });
        only::select(&listed.collect::<Vec<_>>(), only)
    }

    async fn file(&self, path: &VirtualPath) -> Result<PinnedFile, PinError> {
        let content = self
            .files
            .get(path.as_str())
            .ok_or_else(|| unknown(path.as_str()))?;
        let content = content.as_bytes().to_vec();
        Ok(PinnedFile {
            hash: *blake3::hash(&content).as_bytes(),
            content,
        })
    }
}

fn unknown(input: &str) -> PinError {
    PinError {
        input: input.to_owned(),
        cause: "unknown".to_owned(),
        help: String::new(),
    }
}

impl Outside {
    /// The keys of all targets of `file`, by name.
    pub(crate) fn keys(&self, file: &str) -> BTreeMap<String, ContentKey> {
        self.with(file, |nodes| {
            nodes
                .iter()
                .map(|node| (node.node.name.value.clone(), node.key))
                .collect()
        })
    }

    /// The key of the one target of `file`.
    pub(crate) fn key(&self, file: &str) -> ContentKey {
        let keys = self.keys(file);
        assert_eq!(keys.len(), 1, "one target: {keys:?}");
        *keys.values().next().unwrap()
    }

    /// Hands the pinned nodes of `file` to `look`.
    pub(crate) fn with<T>(&self, file: &str, look: impl FnOnce(&[PinnedNode<'_>]) -> T) -> T {
        let graph = self.graph(file);
        let needed: Vec<NodeId> = (0..graph.nodes.len()).map(NodeId).collect();
        let pinned = self.pinned(&graph, &needed);
        look(&pin::pin(&graph, &needed, &pinned).unwrap())
    }

    fn graph(&self, file: &str) -> Graph {
        self.evaluate(file).1
    }

    pub(crate) fn evaluate(&self, file: &str) -> (Sources, Graph) {
        let path = VirtualPath::new("prebuild.kdl").unwrap();
        let inputs = Inputs::new(path, self.platform);
        let (sources, outcome) = evaluate(&Text(file), &inputs);
        let found = format!("{:?}", outcome.diagnostics);
        (sources, outcome.value.expect(&found))
    }

    fn pinned(&self, graph: &Graph, needed: &[NodeId]) -> Pinned {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(resolve_all(graph, needed, self)).unwrap()
    }
}
