//! Brings one commit into a directory that can become the `.git` of a workspace.
//!
//! The result holds nothing of this machine or its user: no path, no name, no credential, no log of refs, no sample hook.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::reach::Reach;
use super::run::{Call, argument};
use super::trace::LONGEST;
use super::{Credential, Git, GitError, Problem, RepoLocation, is_valid_ref};
use crate::node::ObjectId;

pub(super) mod layout;
use layout::{PIN, REMOTE};

/// Between the tries to fetch from a server that is overloaded.
const PAUSES: [Duration; 3] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
];

/// What to fetch: a commit, and what the clone should look like.
#[derive(Clone, Copy, Debug)]
pub struct Fetch<'a> {
    pub location: &'a RepoLocation,
    /// What `origin` will be; empty for none.
    pub url: &'a str,
    pub commit: ObjectId,
    /// `refs/heads/…` makes a local branch, all else a detached HEAD.
    pub reference: &'a str,
    /// Commits of history; 0 means all of it, and the tags that point into it.
    pub depth: u32,
    pub credential: Option<&'a Credential>,
    pub limit: Duration,
}

impl Git {
    /// Makes `into`, a directory that must not exist or be empty, the `.git` of a clone at exactly the commit, without
    /// an index or a work tree. After a failure `into` holds nothing that can be used.
    pub async fn fetch_commit(&self, fetch: &Fetch<'_>, into: &Path) -> Result<(), GitError> {
        let from = match fetch.location {
            RepoLocation::Url(url) => url.clone(),
            RepoLocation::Disk(path) => path.display().to_string(),
        };
        let operation = format!("fetch commit {} of {from}", fetch.commit);
        let done = Box::pin(self.fetch_within(fetch, into)).await;
        done.map_err(|problem| GitError { operation, problem })
    }

    async fn fetch_within(&self, fetch: &Fetch<'_>, into: &Path) -> Result<(), Problem> {
        if !fetch.reference.is_empty() && !is_valid_ref(fetch.reference) {
            return Err(Problem::BadName(fetch.reference.to_owned()));
        }
        let deadline = Instant::now() + fetch.limit;
        // Its path goes into `GIT_DIR` of calls that start elsewhere.
        let into = &std::path::absolute(into).map_err(at(into))?;
        layout::create(into, fetch.commit.format()).map_err(at(into))?;
        match self.fetch_patiently(fetch, into, deadline).await {
            Err(Problem::RefusesCommit) => self.fetch_around(fetch, into, deadline).await?,
            done => done?,
        }
        self.check_is_commit(fetch, into, deadline).await?;
        if fetch.depth > 1 && matches!(fetch.location, RepoLocation::Disk(_)) {
            self.check_depth(fetch, into, deadline).await?;
        }
        layout::finish(into, fetch).map_err(at(into))
    }

    /// Asks an overloaded server again, a few times.
    async fn fetch_patiently(
        &self,
        fetch: &Fetch<'_>,
        into: &Path,
        deadline: Instant,
    ) -> Result<(), Problem> {
        patiently(deadline, async || {
            self.fetch_exact(fetch, fetch.location, into, deadline)
                .await
        })
        .await
    }

    /// Asks for the commit by its id.
    async fn fetch_exact(
        &self,
        fetch: &Fetch<'_>,
        location: &RepoLocation,
        into: &Path,
        deadline: Instant,
    ) -> Result<(), Problem> {
        let mut arguments = start();
        if fetch.depth == 0 {
            // Git takes along the tags that point to what is fetched. A boundary comes along too, to be seen below.
            arguments.push("--update-shallow".into());
        } else {
            arguments.extend([
                format!("--depth={}", fetch.depth).into(),
                "--no-tags".into(),
            ]);
        }
        arguments.extend(["--".into(), address(location)]);
        arguments.push(format!("+{}:{PIN}", fetch.commit).into());
        if let Some(branch) = layout::branch(fetch.reference) {
            arguments.push(format!("+{}:{}", fetch.commit, fetch.reference).into());
            if !fetch.url.is_empty() {
                arguments.push(format!("+{}:{REMOTE}{branch}", fetch.commit).into());
            }
        }
        let reach = reach(location, fetch.credential);
        self.succeed(call(reach, into, arguments, deadline)).await?;
        if fetch.depth == 0 && into.join("shallow").exists() {
            Err(Problem::Shallow)
        } else {
            Ok(())
        }
    }

    /// For servers that hand out no commit by its id: fetches the whole ref, or all branches and tags where there is
    /// none, into a directory beside `into`, and the commit from there.
    async fn fetch_around(
        &self,
        fetch: &Fetch<'_>,
        into: &Path,
        deadline: Instant,
    ) -> Result<(), Problem> {
        let whole = beside(into);
        layout::create(&whole, fetch.commit.format()).map_err(at(&whole))?;
        let remover = Remover(&whole);
        let mut arguments = start();
        arguments.extend(["--".into(), address(fetch.location)]);
        if fetch.reference.is_empty() {
            arguments.extend([
                "+refs/heads/*:refs/heads/*".into(),
                "+refs/tags/*:refs/tags/*".into(),
            ]);
        } else {
            arguments.push(format!("+{0}:{0}", fetch.reference).into());
        }
        let reach = reach(fetch.location, fetch.credential);
        self.succeed(call(reach, &whole, arguments, deadline))
            .await?;
        if self.object_kind(fetch, &whole, deadline).await?.is_none() {
            return Err(Problem::CommitGone(fetch.commit.to_string()));
        }
        // The first try may have left half a ref or a boundary.
        fs::remove_dir_all(into).map_err(at(into))?;
        layout::create(into, fetch.commit.format()).map_err(at(into))?;
        let location = RepoLocation::Disk(whole.clone());
        let done = self.fetch_exact(fetch, &location, into, deadline).await;
        drop(remover);
        done
    }

    async fn check_is_commit(
        &self,
        fetch: &Fetch<'_>,
        into: &Path,
        deadline: Instant,
    ) -> Result<(), Problem> {
        let id = || fetch.commit.to_string();
        match self.object_kind(fetch, into, deadline).await?.as_deref() {
            Some("commit") => Ok(()),
            Some(_) => Err(Problem::NotACommit(id())),
            None => Err(Problem::CommitGone(id())),
        }
    }

    pub(super) async fn object_kind(
        &self,
        fetch: &Fetch<'_>,
        git_dir: &Path,
        deadline: Instant,
    ) -> Result<Option<String>, Problem> {
        let arguments = vec![
            "cat-file".into(),
            "-t".into(),
            fetch.commit.to_string().into(),
        ];
        let done = self
            .run(call(Reach::Folder, git_dir, arguments, deadline))
            .await?;
        let kind = String::from_utf8_lossy(&done.stdout).trim().to_owned();
        Ok(done.success.then_some(kind))
    }

    /// A repository on disk may itself be shallow: then less history can arrive than was asked for, and the key would
    /// promise what the clone does not hold.
    async fn check_depth(
        &self,
        fetch: &Fetch<'_>,
        into: &Path,
        deadline: Instant,
    ) -> Result<(), Problem> {
        let Ok(boundary) = fs::read_to_string(into.join("shallow")) else {
            return Ok(());
        };
        let arguments = vec![
            "rev-list".into(),
            "--parents".into(),
            fetch.commit.to_string().into(),
        ];
        let listed = self
            .succeed(call(Reach::Folder, into, arguments, deadline))
            .await?;
        let listed = String::from_utf8_lossy(&listed);
        let tip = fetch.commit.to_string();
        let distances = layout::distances(&listed, &tip);
        let is_early = |id: &str| {
            distances
                .get(id)
                .is_some_and(|&distance| distance + 1 < fetch.depth)
        };
        if boundary.lines().any(is_early) {
            Err(Problem::Shallow)
        } else {
            Ok(())
        }
    }
}

/// Asks an overloaded server again, a few times.
pub(super) async fn patiently(
    deadline: Instant,
    ask: impl AsyncFn() -> Result<(), Problem>,
) -> Result<(), Problem> {
    for pause in PAUSES {
        match ask().await {
            Err(problem) if problem.is_passing() => {
                let wait = problem.retry_after().unwrap_or_default().max(pause);
                if wait > LONGEST || Instant::now() + wait >= deadline {
                    return Err(problem);
                }
                tokio::time::sleep(wait).await;
            }
            done => return done,
        }
    }
    ask().await
}

/// A directory that is only needed for a moment, also if the call is cancelled.
pub(super) struct Remover<'a>(pub(super) &'a Path);

impl Drop for Remover<'_> {
    fn drop(&mut self) {
        // What stays behind lies in a folder that is thrown away as a whole.
        drop(fs::remove_dir_all(self.0));
    }
}

pub(super) fn at(path: &Path) -> impl Fn(io::Error) -> Problem + '_ {
    |source| Problem::Io {
        path: path.to_owned(),
        source,
    }
}

fn beside(into: &Path) -> PathBuf {
    let mut name = into.file_name().unwrap_or_default().to_owned();
    name.push(".whole");
    into.with_file_name(name)
}

pub(super) fn start() -> Vec<OsString> {
    Call::arguments([
        "fetch",
        "--quiet",
        "--no-write-fetch-head",
        "--no-auto-gc",
        "--no-recurse-submodules",
        "--update-head-ok",
        "--refmap=",
    ])
}

pub(super) fn address(location: &RepoLocation) -> OsString {
    match location {
        RepoLocation::Url(url) => url.into(),
        RepoLocation::Disk(path) => argument(path.clone()),
    }
}

pub(super) fn reach<'a>(
    location: &'a RepoLocation,
    credential: Option<&'a Credential>,
) -> Reach<'a> {
    match location {
        RepoLocation::Url(url) => Reach::Server { url, credential },
        RepoLocation::Disk(_) => Reach::Disk,
    }
}

pub(super) fn call<'a>(
    reach: Reach<'a>,
    git_dir: &'a Path,
    arguments: Vec<OsString>,
    deadline: Instant,
) -> Call<'a> {
    let limit = deadline.saturating_duration_since(Instant::now());
    Call {
        reach,
        folder: git_dir,
        git_dir: Some(git_dir),
        arguments,
        limit,
    }
}
