//! Files that are kept in LFS: which a commit has, and their contents, brought into the `.git` that was fetched.
//!
//! What is on this machine already is taken from there; the rest is fetched by the machine's git-lfs, which asks for a
//! credential as git does. Whether all is there is seen here, and not believed.

use std::fs;
use std::path::Path;
use std::time::Instant;

use super::fetch::{at, layout};
use super::needs::inside;
use super::reach::Reach;
use super::run::Call;
use super::submodules::{Base, clone_url, same_server};
use super::{Credential, Fetch, Git, Problem, RepoLocation, message};
use crate::node::ObjectId;

mod here;
mod kept;
mod store;

pub(super) use here::checked_out;
use kept::Kept;
pub(super) use kept::LARGEST as LARGEST_POINTER;

/// What of a repository's files is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) git_dir: &'a Path,
    pub(super) commit: &'a ObjectId,
    /// Where the commit came from.
    pub(super) from: &'a RepoLocation,
    /// Of the repository; empty if it has none.
    pub(super) url: &'a str,
}

impl Git {
    /// Brings the contents of all files in LFS into `lfs` of a fetched repository, and returns the files' paths. `whole` is
    /// what was asked for, of which this may be a submodule.
    pub(super) async fn fetch_lfs(
        &self,
        whole: &Fetch<'_>,
        wanted: Wanted<'_>,
        deadline: Instant,
    ) -> Result<Vec<Vec<u8>>, Problem> {
        let kept = self.kept_in_lfs(wanted.git_dir, wanted.commit).await?;
        if kept.is_empty() {
            return Ok(Vec::new());
        }
        if !self.has_lfs_program().await? {
            return Err(Problem::NoLfsProgram);
        }
        if let RepoLocation::Disk(root) = wanted.from {
            store::borrow_from(root, wanted.git_dir, &kept).await?;
        }
        if let Some(first) = store::missing(wanted.git_dir, &kept).first() {
            let told = self.fetch_lfs_objects(whole, wanted, deadline).await;
            // Git-lfs asks also for what only looks like a file of it; what it says matters if something lacks.
            if let Some(lacking) = store::missing(wanted.git_dir, &kept).first() {
                let problem = told.err().unwrap_or(Problem::NoLfsObject);
                let lacking = match problem {
                    Problem::NoLfsObject => lacking,
                    _ => first,
                };
                return Err(Problem::Lfs {
                    path: lacking.shown(),
                    problem: Box::new(problem),
                });
            }
        }
        layout::add_lfs(wanted.git_dir).map_err(at(wanted.git_dir))?;
        Ok(kept.into_iter().map(|kept| kept.path).collect())
    }

    /// The files whose attributes say that they are in LFS, and which are pointers.
    async fn kept_in_lfs(&self, git_dir: &Path, commit: &ObjectId) -> Result<Vec<Kept>, Problem> {
        let index = git_dir.join("index");
        self.succeed(inside(git_dir, &["read-tree", &commit.to_string()]))
            .await?;
        let search = [
            "grep",
            "--cached",
            "-I",
            "--null",
            "--line-number",
            "-E",
            "-e",
            kept::LINES,
            "--",
            ":(top,attr:filter=lfs)",
        ];
        let done = self.run(inside(git_dir, &search)).await?;
        fs::remove_file(&index).map_err(at(&index))?;
        // Not found is a failure without a word.
        if !done.success && !done.stderr.is_empty() {
            return Err(message::diagnose(&done.stderr, false));
        }
        Ok(kept::parse(&done.stdout))
    }

    async fn has_lfs_program(&self) -> Result<bool, Problem> {
        let version = inside(Path::new("/"), &["lfs", "version"]);
        let version = Call {
            git_dir: None,
            ..version
        };
        Ok(self.run(version).await?.success)
    }

    async fn fetch_lfs_objects(
        &self,
        whole: &Fetch<'_>,
        wanted: Wanted<'_>,
        deadline: Instant,
    ) -> Result<(), Problem> {
        let endpoint = self.endpoint(wanted).await?;
        let credential = whole
            .credential
            .filter(|_| same_server(whole.url, &endpoint));
        let config = wanted.git_dir.join("config");
        let before = fs::read(&config).map_err(at(&config))?;
        let done = self.run_lfs(&endpoint, credential, wanted, deadline).await;
        // It notes there how it was let in.
        fs::write(&config, before).map_err(at(&config))?;
        store::tidy(wanted.git_dir).map_err(at(wanted.git_dir))?;
        done
    }

    async fn run_lfs(
        &self,
        endpoint: &str,
        credential: Option<&Credential>,
        wanted: Wanted<'_>,
        deadline: Instant,
    ) -> Result<(), Problem> {
        let mut arguments = Vec::new();
        for setting in [
            &format!("lfs.url={endpoint}"),
            "lfs.repositoryformatversion=0",
            // No program of the server's choice, and no transport but this one.
            "lfs.basictransfersonly=true",
            "lfs.transfer.maxretries=3",
            "remote.origin.lfsurl=",
        ] {
            arguments.extend(["-c".into(), setting.into()]);
        }
        // Also what its authors would rather leave out.
        let fetch = ["lfs", "fetch", "--include=", "--exclude=", "origin"];
        arguments.extend(fetch.map(Into::into));
        arguments.push(wanted.commit.to_string().into());
        let call = Call {
            reach: Reach::Server {
                url: endpoint,
                credential,
            },
            folder: wanted.git_dir,
            git_dir: Some(wanted.git_dir),
            arguments,
            limit: deadline.saturating_duration_since(Instant::now()),
        };
        let done = self.run(call).await?;
        if done.success {
            return Ok(());
        }
        let problem = message::diagnose_lfs(&done.stderr, done.status, credential.is_some());
        Err(problem.waiting(done.retry_after))
    }

    /// The URL of the LFS server: what `.lfsconfig` says, if that can be followed, else the usual one.
    async fn endpoint(&self, wanted: Wanted<'_>) -> Result<String, Problem> {
        let base = Base {
            url: wanted.url,
            local: matches!(wanted.from, RepoLocation::Disk(_)),
        };
        let blob = format!("{}:.lfsconfig", wanted.commit);
        for key in ["lfs.url", "remote.origin.lfsurl"] {
            let get = ["config", "--no-includes", "--blob", &blob, "--get", key];
            let done = self.run(inside(wanted.git_dir, &get)).await?;
            let written = String::from_utf8_lossy(&done.stdout).trim_end().to_owned();
            if !done.success || written.is_empty() {
                continue;
            }
            let url = clone_url(&written, base.url, base.local);
            let url =
                url.map_err(|why| Problem::NoLfsServer(format!("in its .lfsconfig {why}")))?;
            let is_http = written.starts_with("http");
            return Ok(if is_http { url } else { usual_endpoint(&url) });
        }
        match wanted.url {
            "" => Err(Problem::NoLfsServer("the repository has no URL".to_owned())),
            url => Ok(usual_endpoint(url)),
        }
    }
}

fn usual_endpoint(url: &str) -> String {
    format!("{url}.git/info/lfs")
}
