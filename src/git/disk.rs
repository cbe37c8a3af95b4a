//! A repository on this machine, read as the caller.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::reach::Reach;
use super::run::{Call, Done};
use super::{Git, GitError, Problem, is_valid_ref, message};
use crate::node::ObjectId;

const LIMIT: Duration = Duration::from_secs(5);

/// What is wanted of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revision {
    Head,
    /// A full name, such as `refs/tags/v1`.
    Ref(String),
    Commit(ObjectId),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnDisk {
    /// The root of its work tree; of the repository itself if that is bare.
    pub root: PathBuf,
    pub commit: ObjectId,
    /// The URL of the remote `origin`, as configured: it may hold a credential.
    pub origin: Option<String>,
    /// What is not committed; only for [`Revision::Head`], and only where git could tell.
    pub changes: Option<Changes>,
}

/// How many files differ from the commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub changed: usize,
    pub untracked: usize,
}

impl Git {
    /// Reads the repository that holds the folder `path`. Its three questions go to git at the same time, since a build
    /// that finds everything cached spends most of its time here.
    pub async fn read_disk(&self, path: &Path, revision: &Revision) -> Result<OnDisk, GitError> {
        let read = async {
            let owner = owner_other_than_root(path)?;
            let (found, origin, changes) = tokio::join!(
                self.find(path, revision),
                self.origin(path),
                self.changes(path, owner, revision)
            );
            let (root, commit) = found?;
            Ok(OnDisk {
                root,
                commit,
                origin: origin?,
                changes,
            })
        };
        read.await.map_err(|problem| GitError {
            operation: format!("read the repository at {}", path.display()),
            problem,
        })
    }

    async fn find(&self, path: &Path, revision: &Revision) -> Result<(PathBuf, ObjectId), Problem> {
        let wanted = match revision {
            Revision::Head => "HEAD".to_owned(),
            Revision::Ref(name) if is_valid_ref(name) => name.clone(),
            Revision::Ref(name) => return Err(Problem::BadName(name.clone())),
            Revision::Commit(id) => id.to_string(),
        };
        let peeled = format!("{wanted}^{{commit}}");
        let arguments = Call::arguments([
            "rev-parse",
            "--is-bare-repository",
            "--absolute-git-dir",
            "--show-cdup",
            &peeled,
            "--",
        ]);
        let done = self.ask(path, arguments).await?;
        let text = String::from_utf8(done.stdout)
            .map_err(|_| Problem::Garbled("a path that is not UTF-8".to_owned()))?;
        let lines: Vec<&str> = text.lines().collect();
        let [is_bare, git_dir, rest @ ..] = lines.as_slice() else {
            return Err(not_found(path, &done.stderr));
        };
        if !done.success {
            return Err(match revision {
                Revision::Head => Problem::Empty,
                Revision::Ref(name) => Problem::NoSuchReference(name.clone()),
                Revision::Commit(id) => Problem::NoSuchReference(format!("commit {id}")),
            });
        }
        // Above the commit stands the way up to the work tree, where there is one.
        let (up, commit) = match rest {
            [up, commit, "--"] => (Some(*up), *commit),
            [commit, "--"] => (None, *commit),
            _ => return Err(Problem::Garbled(text)),
        };
        let root = match up {
            Some(up) if *is_bare == "false" => path.join(up),
            _ => PathBuf::from(git_dir),
        };
        let root = root
            .canonicalize()
            .map_err(|source| Problem::Io { path: root, source })?;
        let commit = commit
            .parse()
            .map_err(|_| Problem::Garbled(commit.to_owned()))?;
        Ok((root, commit))
    }

    async fn origin(&self, path: &Path) -> Result<Option<String>, Problem> {
        let arguments =
            Call::arguments(["config", "--local", "-z", "--get-all", "remote.origin.url"]);
        let done = self.ask(path, arguments).await?;
        // Of several URLs the first is the one that git fetches from.
        let first = done
            .stdout
            .split(|&byte| byte == 0)
            .next()
            .unwrap_or_default();
        let text = String::from_utf8_lossy(first).into_owned();
        Ok((done.success && !text.is_empty()).then_some(text))
    }

    /// Only a courtesy: where git cannot tell, for whatever reason, there is nothing to say.
    async fn changes(
        &self,
        path: &Path,
        owner: Option<(u32, u32)>,
        revision: &Revision,
    ) -> Option<Changes> {
        if *revision != Revision::Head {
            return None;
        }
        let reach = |filters| Reach::Personal { owner, filters };
        let filters = self.filters(path, reach(&[])).await?;
        let call = Call {
            reach: reach(&filters),
            folder: path,
            git_dir: None,
            arguments: Call::arguments([
                "status",
                "--porcelain=v1",
                "-z",
                "--no-renames",
                "--untracked-files=normal",
                "--ignore-submodules=dirty",
                "--",
                ":/",
            ]),
            limit: LIMIT,
        };
        let done = self.run(call).await.ok()?;
        done.success.then(|| count(&done.stdout))
    }

    /// The settings of the programs that turn a file into what git keeps of it, as they are without this repository's own
    /// configuration: `status` runs them, and whoever made the repository may have put it here by other means than git.
    async fn filters(&self, path: &Path, reach: Reach<'_>) -> Option<Vec<(String, String)>> {
        let arguments = ["config", "--includes", "--show-scope", "-z", "--get-regexp"];
        let mut arguments = Call::arguments(arguments);
        arguments.push(r"^filter\.".into());
        let call = Call {
            reach,
            folder: path,
            git_dir: None,
            arguments,
            limit: LIMIT,
        };
        let done = self.run(call).await.ok()?;
        let text = String::from_utf8(done.stdout).ok()?;
        let mut own = BTreeSet::new();
        let mut others = BTreeMap::new();
        let mut fields = text.split('\0');
        while let (Some(scope), Some(setting)) = (fields.next(), fields.next()) {
            let (name, value) = setting.split_once('\n').unwrap_or((setting, ""));
            match scope {
                "local" | "worktree" => drop(own.insert(name)),
                _ => drop(others.insert(name, value)),
            }
        }
        let instead = |name: &str| {
            others
                .get(name)
                .copied()
                .unwrap_or(nothing(name))
                .to_owned()
        };
        Some(
            own.into_iter()
                .map(|name| (name.to_owned(), instead(name)))
                .collect(),
        )
    }

    async fn ask(
        &self,
        folder: &Path,
        arguments: Vec<std::ffi::OsString>,
    ) -> Result<Done, Problem> {
        self.run(Call {
            reach: Reach::Folder,
            folder,
            git_dir: None,
            arguments,
            limit: LIMIT,
        })
        .await
    }
}

/// The `.git` of the repository whose root this is. A further work tree of a repository has its own, and then comes the one
/// that it shares.
pub(super) fn git_dirs(root: &Path) -> Vec<PathBuf> {
    let git_dir = match std::fs::read_to_string(root.join(".git")) {
        Ok(text) => root.join(text.trim_end().trim_start_matches("gitdir: ")),
        Err(_) if root.join(".git").is_dir() => root.join(".git"),
        Err(_) => root.to_owned(),
    };
    let shared = std::fs::read_to_string(git_dir.join("commondir"));
    let shared = shared.map(|text| git_dir.join(text.trim_end()));
    [Some(git_dir), shared.ok()].into_iter().flatten().collect()
}

/// What a setting of a filter is to say so that there is none.
fn nothing(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("required") => "false",
        _ => "",
    }
}

/// The owner of a folder that root reads for somebody else.
fn owner_other_than_root(path: &Path) -> Result<Option<(u32, u32)>, Problem> {
    let metadata = std::fs::metadata(path).map_err(|source| Problem::Io {
        path: path.to_owned(),
        source,
    })?;
    if !metadata.is_dir() {
        return Err(Problem::NotARepository(path.to_owned()));
    }
    let is_foreign = metadata.uid() != 0 && rustix::process::geteuid().is_root();
    Ok(is_foreign.then(|| (metadata.uid(), metadata.gid())))
}

fn not_found(path: &Path, stderr: &str) -> Problem {
    if stderr.contains("not a git repository") {
        Problem::NotARepository(path.to_owned())
    } else {
        Problem::Other(message::essence(stderr))
    }
}

fn count(status: &[u8]) -> Changes {
    let mut changes = Changes::default();
    for entry in status
        .split(|&byte| byte == 0)
        .filter(|entry| !entry.is_empty())
    {
        if entry.starts_with(b"??") {
            changes.untracked += 1;
        } else {
            changes.changed += 1;
        }
    }
    changes
}

impl Changes {
    pub fn is_none(self) -> bool {
        self == Self::default()
    }
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count| if count == 1 { "" } else { "s" };
        match (self.changed, self.untracked) {
            (changed, 0) => write!(f, "{changed} changed file{}", plural(changed)),
            (0, untracked) => write!(f, "{untracked} untracked file{}", plural(untracked)),
            (changed, untracked) => write!(f, "{changed} changed and {untracked} untracked files"),
        }
    }
}
