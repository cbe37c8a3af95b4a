//! Files of a repository on this machine as of a commit, read without touching its work tree.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::reach::Reach;
use super::run::Call;
use super::{Git, GitError, Problem, lfs, message};
use crate::node::ObjectId;

const LIMIT: Duration = Duration::from_secs(5);

/// What a commit has at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AtCommit {
    Nothing,
    /// What a checkout would have there.
    File(Vec<u8>),
    /// The path leads through a symbolic link, or to one: where that is, and its text, which is a path too.
    Link {
        at: String,
        to: Vec<u8>,
    },
    /// More bytes than asked for.
    TooLarge(u64),
    /// A folder, or what lies in a submodule.
    Other,
}

/// One path of a commit's tree.
struct Entry {
    path: String,
    mode: String,
    object: String,
    /// Of a file or a link.
    size: Option<u64>,
}

impl Git {
    /// The commit that a revision, as git understands it, names in the repository that holds `folder`; `None` if it names
    /// none.
    pub async fn find_commit(
        &self,
        folder: &Path,
        revision: &str,
    ) -> Result<Option<ObjectId>, GitError> {
        // An option is no revision.
        if revision.starts_with('-') || revision.is_empty() {
            return Ok(None);
        }
        let peeled = format!("{revision}^{{commit}}");
        let arguments = Call::arguments(["rev-parse", "--verify", &peeled]);
        let found = async {
            let done = self.run(within(folder, arguments)).await?;
            if done.success {
                let text = String::from_utf8_lossy(&done.stdout);
                let id = text.lines().next().unwrap_or_default();
                let id = id.parse().map_err(|_| Problem::Garbled(id.to_owned()))?;
                return Ok(Some(id));
            }
            let says = |text: &str| done.stderr.contains(text);
            if says("not a git repository") {
                return Err(Problem::NotARepository(folder.to_owned()));
            }
            match says("is ambiguous") {
                true => Err(Problem::Ambiguous(revision.to_owned())),
                false => Ok(None),
            }
        };
        found.await.map_err(|problem| GitError {
            operation: format!("find the commit {revision}"),
            problem,
        })
    }

    /// What a commit has at `path`, which counts from the root of its tree.
    pub async fn read_at(
        &self,
        folder: &Path,
        commit: ObjectId,
        path: &str,
        limit: u64,
    ) -> Result<AtCommit, GitError> {
        let read = async {
            let Some(entry) = self.entry_at(folder, commit, path).await? else {
                return Ok(AtCommit::Nothing);
            };
            let is_whole = entry.path == path;
            match (entry.mode.as_str(), entry.size) {
                ("120000", _) => Ok(AtCommit::Link {
                    to: self.blob(folder, &entry.object).await?,
                    at: entry.path,
                }),
                // A file is no folder.
                ("100644" | "100755", _) if !is_whole => Ok(AtCommit::Nothing),
                ("100644" | "100755", Some(size)) if size > limit.max(lfs::LARGEST_POINTER) => {
                    Ok(AtCommit::TooLarge(size))
                }
                ("100644" | "100755", Some(_)) => {
                    let content = self.blob(folder, &entry.object).await?;
                    lfs::checked_out(folder, path, content, limit)
                }
                _ => Ok(AtCommit::Other),
            }
        };
        read.await.map_err(|problem| GitError {
            operation: format!("read {path} as of commit {commit}"),
            problem,
        })
    }

    /// What the tree has at `path`, or on the way there what is no folder.
    async fn entry_at(
        &self,
        folder: &Path,
        commit: ObjectId,
        path: &str,
    ) -> Result<Option<Entry>, Problem> {
        let slashes = path.match_indices('/').map(|(at, _)| &path[..at]);
        let places: Vec<&str> = slashes.chain([path]).collect();
        let commit = commit.to_string();
        let words = ["--literal-pathspecs", "ls-tree", "-z", "-l", "--full-tree"];
        let words = words.into_iter().chain([commit.as_str(), "--"]);
        let arguments = words.chain(places.iter().copied()).map(OsString::from);
        let listed = self.succeed(within(folder, arguments.collect())).await?;
        let mut listed = listed
            .split(|&byte| byte == 0)
            .filter(|line| !line.is_empty());
        let mut found: Option<Entry> = None;
        listed.try_for_each(|line| {
            let entry = Entry::read(line)?;
            let is_folder = entry.mode == "040000" && entry.path != path;
            if !is_folder && places.contains(&entry.path.as_str()) {
                found = Some(entry);
            }
            Ok(())
        })?;
        Ok(found)
    }

    async fn blob(&self, folder: &Path, object: &str) -> Result<Vec<u8>, Problem> {
        let arguments = Call::arguments(["cat-file", "blob", object]);
        self.succeed(within(folder, arguments)).await
    }
}

impl Entry {
    /// Reads `MODE TYPE ID SIZE`, a tab and the path.
    fn read(line: &[u8]) -> Result<Self, Problem> {
        let line = String::from_utf8_lossy(line);
        let read = || {
            let (head, path) = line.split_once('\t')?;
            let mut words = head.split_ascii_whitespace();
            let (mode, _, object) = (words.next()?, words.next()?, words.next()?);
            Some(Self {
                path: path.to_owned(),
                mode: mode.to_owned(),
                object: object.to_owned(),
                size: words.next()?.parse().ok(),
            })
        };
        read().ok_or_else(|| Problem::Garbled(message::essence(&line)))
    }
}

fn within(folder: &Path, arguments: Vec<OsString>) -> Call<'_> {
    Call {
        reach: Reach::Folder,
        folder,
        git_dir: None,
        arguments,
        limit: LIMIT,
    }
}
