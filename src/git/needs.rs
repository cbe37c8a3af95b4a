//! What a commit needs beyond its own objects.

use std::path::Path;
use std::time::Duration;

use super::run::{Call, Reach};
use super::{Git, GitError, Problem};
use crate::node::ObjectId;

const LIMIT: Duration = Duration::from_mins(1);

/// What a plain checkout of a commit would leave out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// There are submodules, with a `.gitmodules` that says where they come from.
    pub submodules: bool,
    /// Some files are kept in LFS: a plain checkout has pointers in their place.
    pub lfs: bool,
}

impl Git {
    /// Looks into the tree of a commit that has been fetched.
    pub async fn needs(&self, git_dir: &Path, commit: &ObjectId) -> Result<Needs, GitError> {
        let looked = async {
            let (submodules, lfs) = tokio::join!(
                self.has_submodules(git_dir, commit),
                self.has_lfs(git_dir, commit)
            );
            Ok(Needs {
                submodules: submodules?,
                lfs: lfs?,
            })
        };
        looked.await.map_err(|problem| GitError {
            operation: format!("look into commit {commit}"),
            problem,
        })
    }

    async fn has_submodules(&self, git_dir: &Path, commit: &ObjectId) -> Result<bool, Problem> {
        let id = commit.to_string();
        let listed = self
            .succeed(inside(
                git_dir,
                &["ls-tree", "-r", "-z", "--full-tree", &id],
            ))
            .await?;
        let has = |prefix: &[u8], suffix: &[u8]| {
            listed
                .split(|&byte| byte == 0)
                .any(|line| line.starts_with(prefix) && line.ends_with(suffix))
        };
        Ok(has(b"160000 ", b"") && has(b"100", b"\t.gitmodules"))
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

fn inside<'a>(git_dir: &'a Path, arguments: &[&str]) -> Call<'a> {
    Call {
        reach: Reach::Folder,
        folder: git_dir,
        git_dir: Some(git_dir),
        arguments: arguments.iter().map(std::ffi::OsString::from).collect(),
        limit: LIMIT,
    }
}
