//! A project's files as of a commit: what its file said then, and what it read.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use atelier_lang::diag::Outcome;
use atelier_lang::graph::{Graph, ImageRef};
use atelier_lang::source::{ReadError, Sources, VirtualPath, World};
use atelier_lang::{Inputs, evaluate};

use crate::git::{AtCommit, Git, GitError};
use crate::node::ObjectId;
use crate::resolve::{
    OnlyInput, PinError, PinnedFile, PinnedImage, PinnedRepo, PinnedTree, Pins, RepoInput, files,
};

/// So many links lead from one to the next.
const LINKS: usize = 8;

/// A commit of the repository that a project is.
#[derive(Debug)]
pub struct Revision {
    git: Git,
    root: PathBuf,
    /// As people name it.
    name: String,
    commit: ObjectId,
}

/// Pins as they are now, but for local files, which are those of a revision.
#[derive(Debug)]
pub struct Revised<'a, P> {
    pub revision: &'a Revision,
    pub now: &'a P,
}

impl Revision {
    /// The commit called `name` of the repository at `root`; `None` if there is none.
    pub async fn open(git: Git, root: PathBuf, name: &str) -> Result<Option<Self>, GitError> {
        let commit = git.find_commit(&root, name).await?;
        Ok(commit.map(|commit| Self {
            git,
            root,
            name: name.to_owned(),
            commit,
        }))
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads a regular file of at most `limit` bytes, at the end of links if need be, which may not leave the project.
    pub async fn read(&self, path: &VirtualPath, limit: u64) -> Result<Vec<u8>, ReadError> {
        let mut at = path.clone();
        for _ in 0..LINKS {
            let (git, root) = (&self.git, &self.root);
            let read = git.read_at(root, self.commit, at.as_str(), limit).await;
            let (link, to) = match read.map_err(|error| ReadError::Failed(told(&error)))? {
                AtCommit::File(content) => return Ok(content),
                AtCommit::Link { at, to } => (at, to),
                AtCommit::Nothing => {
                    let text = format!("{path} is not in {}", self.name);
                    return Err(ReadError::Failed(text));
                }
                AtCommit::TooLarge(size) => return Err(ReadError::TooLarge { size }),
                AtCommit::Other => {
                    let text = format!("{path} is not a regular file in {}", self.name);
                    return Err(ReadError::Refused(text));
                }
            };
            let inside = follow(&at, &link, &String::from_utf8_lossy(&to));
            at = inside
                .ok_or_else(|| ReadError::Refused(format!("{path} leads out of the project")))?;
        }
        Err(ReadError::Refused(format!("{path} is a loop of symlinks")))
    }

    /// Whether the commit has a file at `path`.
    pub async fn has(&self, path: &VirtualPath) -> Result<bool, GitError> {
        let read = self.git.read_at(&self.root, self.commit, path.as_str(), 0);
        Ok(read.await? != AtCommit::Nothing)
    }

    /// Evaluates a file as it was. The language asks for a file and cannot wait, so what it asks for is read between
    /// evaluations, until one has it all.
    pub async fn evaluate(&self, inputs: &Inputs) -> (Sources, Outcome<Graph>) {
        let mut seen = Seen::default();
        loop {
            let (mut sources, outcome) = evaluate(&seen, inputs);
            let wanted = seen.wanted.take();
            if wanted.is_empty() {
                sources.name_all(|name| format!("{}:{name}", self.name));
                return (sources, outcome);
            }
            for (path, limit) in wanted {
                let read = self.read(&path, limit).await;
                seen.files.insert(path, read);
            }
        }
    }
}

fn told(error: &GitError) -> String {
    format!("{error}: {}", error.help())
}

/// Where `path` leads if there is a link to `to` at `link`, which is the path or a folder on the way.
fn follow(path: &VirtualPath, link: &str, to: &str) -> Option<VirtualPath> {
    if to.starts_with('/') {
        return None;
    }
    let rest = path.as_str().strip_prefix(link)?;
    VirtualPath::new(link)?.sibling(&format!("{to}{rest}"))
}

/// What was read, and what was asked for and is not read yet.
#[derive(Default)]
struct Seen {
    files: BTreeMap<VirtualPath, Result<Vec<u8>, ReadError>>,
    wanted: RefCell<BTreeMap<VirtualPath, u64>>,
}

impl World for Seen {
    fn read(&self, path: &VirtualPath, limit: u64) -> Result<Vec<u8>, ReadError> {
        if let Some(read) = self.files.get(path) {
            return read.clone();
        }
        self.wanted.borrow_mut().insert(path.clone(), limit);
        Err(ReadError::Failed(format!("{path} is not read yet")))
    }
}

impl<P: Pins> Pins for Revised<'_, P> {
    async fn image(&self, image: &ImageRef, platform: &str) -> Result<PinnedImage, PinError> {
        self.now.image(image, platform).await
    }

    async fn repo(&self, repo: &RepoInput) -> Result<PinnedRepo, PinError> {
        self.now.repo(repo).await
    }

    async fn tree(&self, only: &OnlyInput, repo: &PinnedRepo) -> Result<PinnedTree, PinError> {
        self.now.tree(only, repo).await
    }

    async fn file(&self, path: &VirtualPath) -> Result<PinnedFile, PinError> {
        files::of(path, self.revision.read(path, files::LIMIT).await)
    }
}
