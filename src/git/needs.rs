//! What a commit needs beyond its own objects.

use std::path::Path;
use std::time::Duration;

use super::run::{Call, Reach};
use super::{Git, GitError, Problem};
use crate::node::ObjectId;

const LIMIT: Duration = Duration::from_mins(1);

/// What a plain checkout of a commit would leave out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The commits of other repositories that its tree names.
    pub gitlinks: Vec<Gitlink>,
    /// Some files are kept in LFS: a plain checkout has pointers in their place.
    pub lfs: bool,
}

/// The place of another repository in a tree, and its commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gitlink {
    pub path: Vec<u8>,
    pub commit: ObjectId,
}

impl Git {
    /// Looks into the tree of a commit that has been fetched.
    pub async fn needs(&self, git_dir: &Path, commit: &ObjectId) -> Result<Needs, GitError> {
        self.look_into(git_dir, commit)
            .await
            .map_err(|problem| GitError {
                operation: format!("look into commit {commit}"),
                problem,
            })
    }

    pub(super) async fn look_into(
        &self,
        git_dir: &Path,
        commit: &ObjectId,
    ) -> Result<Needs, Problem> {
        let (gitlinks, lfs) = tokio::join!(
            self.gitlinks(git_dir, commit),
            self.has_lfs(git_dir, commit)
        );
        Ok(Needs {
            gitlinks: gitlinks?,
            lfs: lfs?,
        })
    }

    async fn gitlinks(&self, git_dir: &Path, commit: &ObjectId) -> Result<Vec<Gitlink>, Problem> {
        let id = commit.to_string();
        let listed = self
            .succeed(inside(
                git_dir,
                &["ls-tree", "-r", "-z", "--full-tree", &id],
            ))
            .await?;
        let entries = listed.split(|&byte| byte == 0);
        entries.filter_map(gitlink).collect()
    }

    async fn has_lfs(&self, git_dir: &Path, commit: &ObjectId) -> Result<bool, Problem> {
        let id = commit.to_string();
        let search = [
            "grep",
            "--quiet",
            "-I",
            "-E",
            "-e",
            "^[^#].*[[:space:]]filter=lfs([[:space:]]|$)",
            &id,
            "--",
            ":(top,glob)**/.gitattributes",
        ];
        let done = self.run(inside(git_dir, &search)).await?;
        // Not found is a failure without a word.
        if done.success || done.stderr.is_empty() {
            return Ok(done.success);
        }
        Err(super::message::diagnose(&done.stderr, false))
    }
}

/// Reads `160000 commit ID<tab>PATH`; `None` for all that is no commit.
fn gitlink(entry: &[u8]) -> Option<Result<Gitlink, Problem>> {
    let rest = entry.strip_prefix(b"160000 commit ")?;
    let garbled = || Problem::Garbled(String::from_utf8_lossy(entry).into_owned());
    let read = || {
        let tab = rest.iter().position(|&byte| byte == b'\t')?;
        let commit = std::str::from_utf8(&rest[..tab]).ok()?.parse().ok()?;
        let path = rest[tab + 1..].to_vec();
        Some(Gitlink { path, commit })
    };
    Some(read().ok_or_else(garbled))
}

/// A call that only looks into a repository of ours.
pub(super) fn inside<'a>(git_dir: &'a Path, arguments: &[&str]) -> Call<'a> {
    Call {
        reach: Reach::Folder,
        folder: git_dir,
        git_dir: Some(git_dir),
        arguments: arguments.iter().map(std::ffi::OsString::from).collect(),
        limit: LIMIT,
    }
}
