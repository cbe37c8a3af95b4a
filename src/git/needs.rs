//! What a commit needs beyond its own objects.

use std::path::Path;
use std::time::Duration;

use super::reach::Reach;
use super::run::Call;
use super::{Git, GitError, Listed, Problem, tree};
use crate::node::ObjectId;

const LIMIT: Duration = Duration::from_mins(1);

/// What a plain checkout of a commit would leave out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The commits of other repositories that its tree names.
    pub gitlinks: Vec<Listed>,
    /// Some files are kept in LFS: a plain checkout has pointers in their place.
    pub lfs: bool,
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

    async fn gitlinks(&self, git_dir: &Path, commit: &ObjectId) -> Result<Vec<Listed>, Problem> {
        let id = commit.to_string();
        let list = ["ls-tree", "-r", "-z", "--full-tree", &id];
        let listed = self.succeed(inside(git_dir, &list)).await?;
        let mut listed = tree::parse(&listed)?;
        listed.retain(|entry| entry.mode == "160000");
        Ok(listed)
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
