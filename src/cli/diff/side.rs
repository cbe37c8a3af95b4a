//! What the two words of `diff` name.

use std::path::{Path, PathBuf};

use atelier_lang::graph::NodeId;

use crate::backend::Snapshot;
use crate::backend::local::Local;
use crate::cli::args::{FileArgs, StoreArgs};
use crate::cli::failure::Failure;
use crate::cli::log::key_prefix;
use crate::cli::pinning::{LockFile, Pinning, read_apart, read_lock};
use crate::cli::place::{self, Place};
use crate::cli::project::{self, Project};
use crate::cli::{config, stored, ui};
use crate::git::Problem;
use crate::resolve::Pinned;
use crate::resolve::live::Live;

/// One side of a comparison.
pub(super) enum Side {
    /// A snapshot, and what it stands on.
    Chain(Vec<Snapshot>),
    File(Box<File>),
}

/// A file, as it is or as it was.
pub(super) struct File {
    pub project: Project,
    /// One that is not its own.
    lock: Option<LockFile>,
}

impl File {
    fn side(project: Project, lock: Option<LockFile>) -> Result<Side, Failure> {
        // Git and what is remembered of inputs have their files there.
        Local::open(&project.store, project.isolation)?;
        Ok(Side::File(Box::new(Self { project, lock })))
    }

    pub(super) async fn resolve(
        &self,
        needed: &[NodeId],
        pinning: &Pinning,
        live: &Live,
    ) -> Result<Pinned, Failure> {
        let lock = match &self.lock {
            Some(lock) => lock.clone(),
            None => self.project.lock_file(pinning)?,
        };
        self.project.resolve_by(needed, pinning, lock, live).await
    }
}

/// Says what people should know of the inputs.
pub(super) fn say(pinned: &Pinned) {
    for notice in pinned.notices() {
        ui::notice(notice);
    }
}

/// By what the word says alone.
enum Word {
    Key,
    /// Digits that may begin a key or a commit.
    Digits,
    Lock(PathBuf),
    File(PathBuf),
    Revision,
}

/// Where the sides are looked for.
pub(super) struct Around<'a> {
    pub given: &'a FileArgs,
    pub args: &'a StoreArgs,
    /// The file that locks and revisions are about.
    pub file: Option<PathBuf>,
    pub snapshots: &'a [Snapshot],
}

/// Where the store is that the keys are in: that of the project.
pub(super) fn store(file: Option<PathBuf>, args: &StoreArgs) -> Result<PathBuf, Failure> {
    config::store(&config::load(args, Some(&root(file)?))?)
}

fn root(file: Option<PathBuf>) -> Result<PathBuf, Failure> {
    match file {
        Some(file) => Ok(Place::find(Some(file))?.root),
        None => place::root_here(),
    }
}

fn read(word: &str) -> Result<Word, Failure> {
    let path = Path::new(word);
    let is_kdl = path.extension().is_some_and(|ending| ending == "kdl");
    match key_prefix(word) {
        Some(_) if word.starts_with("snap-") => Ok(Word::Key),
        Some(_) => Ok(Word::Digits),
        None if is_kdl && is_lock(path) => Ok(Word::Lock(path.to_owned())),
        None if is_kdl => Ok(Word::File(path.to_owned())),
        None if word.contains("..") => Err(Failure::usage(
            format!("`{word}` names two revisions"),
            "give each as a word of its own, such as: atelier diff main HEAD",
        )),
        None => Ok(Word::Revision),
    }
}

/// The file that a word names.
pub(super) fn file(word: &str) -> Option<PathBuf> {
    match read(word) {
        Ok(Word::File(path)) => Some(path),
        _ => None,
    }
}

/// A lock is called like one, or begins like one.
fn is_lock(path: &Path) -> bool {
    if path.to_string_lossy().ends_with(".lock.kdl") {
        return true;
    }
    let text = read_apart(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with("//"));
    first.is_some_and(|first| first.starts_with("lock "))
}

impl Around<'_> {
    pub(super) async fn side(&self, word: &str) -> Result<Side, Failure> {
        match read(word)? {
            Word::Key => self.chain(word),
            Word::Digits => self.digits(word).await,
            Word::Lock(path) => {
                let project = Project::read(self.file.clone(), self.given, self.args)?;
                File::side(project, Some(read_lock(&path)?))
            }
            Word::File(path) => {
                let project = Project::read(Some(path), self.given, self.args)?;
                File::side(project, None)
            }
            Word::Revision => self.revision(word).await,
        }
    }

    fn chain(&self, word: &str) -> Result<Side, Failure> {
        let first = stored::find(self.snapshots, word)?;
        let chain = stored::chain(self.snapshots, first);
        Ok(Side::Chain(chain.into_iter().cloned().collect()))
    }

    async fn revision(&self, word: &str) -> Result<Side, Failure> {
        let project = Project::read_at(self.file.clone(), self.given, self.args, word).await?;
        Ok(Side::File(Box::new(File {
            project,
            lock: None,
        })))
    }

    /// What the digits begin: a key of the store, or a commit of the repository.
    async fn digits(&self, word: &str) -> Result<Side, Failure> {
        let is_key = !stored::matching(self.snapshots, word).is_empty();
        let root = root(self.file.clone())?;
        let git = project::git(&store(self.file.clone(), self.args)?)?;
        let is_commit = match git.find_commit(&root, word).await {
            Ok(found) => found.is_some(),
            // Of several, too.
            Err(error) => matches!(error.problem, Problem::Ambiguous(_)),
        };
        match (is_key, is_commit) {
            (true, false) => self.chain(word),
            (false, true) => self.revision(word).await,
            (true, true) => Err(Failure::usage(
                format!("`{word}` begins a snapshot's key and a commit"),
                format!("write snap-{word} for the snapshot, or {word}^0 for the commit"),
            )),
            (false, false) => Err(Failure::usage(
                format!("`{word}` begins no key in the store, and no commit"),
                "see `atelier snapshots` and `git log`",
            )),
        }
    }
}
