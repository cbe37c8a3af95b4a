//! What evaluation yields: prebuilds as nodes of a forest, every default filled in, nothing resolved.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::source::VirtualPath;
use crate::span::{Span, Spanned};

/// The index of a node in [`Graph::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub usize);

/// All prebuilds of a file. Parents stand before their children; independent nodes are in order of level, then name.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub nodes: Vec<Node>,
    /// Groups, flattened to nodes in graph order.
    pub groups: BTreeMap<String, Vec<NodeId>>,
    /// What a bare `build` builds: `group default`, else every node that nothing depends on.
    pub default: Vec<NodeId>,
}

/// One snapshot to be: inherited values are already merged in.
#[derive(Clone, Debug)]
pub struct Node {
    pub name: Spanned<String>,
    pub base: Base,
    pub platform: String,
    pub repos: Vec<Repo>,
    pub files: Vec<File>,
    pub steps: Vec<Step>,
    /// The effective variables, the parent's among them.
    pub env: BTreeMap<String, String>,
    /// The effective folders that go before PATH, in order; the parent's come last. Relative to /home/dev, or absolute.
    pub path: Vec<String>,
    /// Names of secrets that this node's steps see; never inherited.
    pub secrets: Vec<Spanned<String>>,
    /// Folders kept between bakes; never inherited.
    pub caches: Vec<Cache>,
    pub resources: Resources,
    pub about: Option<String>,
    pub places: Places,
    pub span: Span,
}

/// Where that of a node stands which holds no place itself: in the node or, if it is inherited, in an ancestor.
#[derive(Clone, Debug)]
pub struct Places {
    /// What says where it starts.
    pub base: Span,
    /// By the variable.
    pub env: BTreeMap<String, Span>,
    /// As [`Node::path`].
    pub path: Vec<Span>,
    /// `None`: the file does not say, and the machine's counts.
    pub platform: Option<Span>,
}

#[derive(Clone, Debug)]
pub enum Base {
    Image(Spanned<ImageRef>),
    Parent(NodeId),
}

/// An image as the file names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ImageRef {
    /// The machine's own system folders.
    Host,
    /// `oci:DIR`, as written: relative to the file that names it, or absolute.
    Layout(String),
    /// `oci-archive:FILE`, likewise.
    Archive(String),
    /// A name for the configuration to resolve, such as `dev-base`.
    Alias(String),
    /// A reference to a registry.
    Registry(String),
}

impl fmt::Display for ImageRef {
    /// As a file names it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("host"),
            Self::Layout(path) => write!(f, "oci:{path}"),
            Self::Archive(path) => write!(f, "oci-archive:{path}"),
            Self::Alias(name) | Self::Registry(name) => f.write_str(name),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Repo {
    pub source: Spanned<RepoSource>,
    pub reference: Option<Spanned<Reference>>,
    /// Where it lands in the workspace. `None` only for a repository on disk whose origin decides.
    pub path: Option<String>,
    pub auth: Option<Spanned<String>>,
    /// Commits of history; 0 means all of it.
    pub depth: u32,
    pub submodules: bool,
    pub lfs: bool,
    /// Which of its files are taken, without a `.git`; `None`: all of them, with it.
    pub only: Option<Only>,
    /// Where each of its properties is stated, by name.
    pub properties: BTreeMap<String, Span>,
    pub span: Span,
}

/// Files of a repository by patterns, each list in its order; see [`crate::glob`]. A path that both lists name is a stub.
#[derive(Clone, Debug, Default)]
pub struct Only {
    pub files: Vec<Spanned<String>>,
    /// Those that are taken as empty files.
    pub stubs: Vec<Spanned<String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RepoSource {
    /// A normalised URL: https, or http on loopback.
    Url(String),
    /// The repository on disk that holds this path, relative to the file that names it.
    Disk(String),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reference {
    Branch(String),
    Tag(String),
    /// 40 or 64 lower-case hex digits.
    Commit(String),
}

#[derive(Clone, Debug)]
pub struct File {
    pub destination: Spanned<String>,
    /// Four octal digits, such as `0644`.
    pub mode: String,
    pub content: Content,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Text(String),
    /// A file of the project.
    Local(VirtualPath),
}

#[derive(Clone, Debug)]
pub struct Step {
    pub command: String,
    pub folder: Folder,
    pub user: User,
    pub shell: Shell,
    pub timeout: Duration,
    /// How often a failed try is repeated.
    pub retry: u32,
    pub span: Span,
}

/// Where a step starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Folder {
    /// Relative to /home/dev; empty for that folder itself.
    Workspace(String),
    /// Where the node's repository with this index in [`Node::repos`] lands.
    Repo(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum User {
    Dev,
    Root,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    Bash,
    Sh,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    pub name: String,
    /// Relative to /home/dev, or absolute.
    pub path: String,
}

/// Limits of a bake; none is in the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resources {
    pub cpu: u32,
    /// Bytes.
    pub memory: u64,
    /// Bytes.
    pub disk: u64,
    /// For the whole bake.
    pub timeout: Duration,
}

impl Graph {
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0]
    }

    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.nodes
            .iter()
            .position(|node| node.name.value == name)
            .map(NodeId)
    }

    /// The nodes that `targets` (names of nodes or groups) need, parents first; an unknown name is the error.
    pub fn closure<'a>(&self, targets: &'a [String]) -> Result<Vec<NodeId>, &'a str> {
        let mut wanted = Vec::new();
        for target in targets {
            match (self.find(target), self.groups.get(target)) {
                (Some(id), _) => wanted.push(id),
                (None, Some(members)) => wanted.extend(members),
                (None, None) => return Err(target),
            }
        }
        if targets.is_empty() {
            wanted.extend(&self.default);
        }
        let mut needed = vec![false; self.nodes.len()];
        for mut id in wanted {
            needed[id.0] = true;
            while let Base::Parent(parent) = self.node(id).base {
                needed[parent.0] = true;
                id = parent;
            }
        }
        Ok((0..self.nodes.len())
            .filter(|&index| needed[index])
            .map(NodeId)
            .collect())
    }
}
