//! Repositories, read and fetched from real git: over smart HTTP on loopback, and from disk.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should say where"
)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atelier::git::{Fetch, Git, GitError, Problem};
use atelier::node::ObjectId;
use atelier::resolve::RepoLocation;

#[path = "git/disk.rs"]
mod disk;
#[path = "git/fetch.rs"]
mod fetch;
#[path = "support/git_server.rs"]
mod git_server;
#[path = "support/links.rs"]
mod links;
#[path = "git/refs.rs"]
mod refs;
#[path = "support/repo.rs"]
mod repo;
#[path = "git/revision.rs"]
mod revision;
#[path = "git/submodules.rs"]
mod submodules;
#[path = "git/tree.rs"]
mod tree;

use git_server::GitServer;
use repo::Repo;

/// A folder with a work repository, a bare one that is served, and what is under test.
struct World {
    folder: tempfile::TempDir,
    work: Repo,
    server: GitServer,
    git: Git,
}

impl World {
    fn new() -> Self {
        Self::with_format("sha1")
    }

    /// Three commits on main; `v1` (annotated) at the first, `light` at the second; a branch `next`.
    fn with_format(format: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let format = format!("--object-format={format}");
        let work = Repo::init(&folder.path().join("work"), &[&format]);
        work.commit("a", "one");
        work.git(&["tag", "--annotate", "--message", "v1", "v1"]);
        work.commit("a", "two");
        work.git(&["tag", "light"]);
        work.commit("b", "three");
        work.git(&["branch", "next"]);
        Repo::init(&folder.path().join("srv/web.git"), &["--bare", &format]);
        work.git(&["remote", "add", "up", "../srv/web.git"]);
        let server = GitServer::start(&folder.path().join("srv"));
        let git = Git::new(&folder.path().join("state"), environment()).unwrap();
        let world = Self {
            folder,
            work,
            server,
            git,
        };
        world.push();
        world
    }

    /// As in another process, which remembers nothing.
    fn another_git(&self) -> Git {
        Git::new(&self.path("state"), environment()).unwrap()
    }

    fn push(&self) {
        self.work
            .git(&["push", "--quiet", "--force", "--tags", "up", "main", "next"]);
    }

    fn url(&self) -> String {
        self.server.url("web")
    }

    fn id(&self, revision: &str) -> ObjectId {
        self.work
            .git(&["rev-parse", &format!("{revision}^{{commit}}")])
            .parse()
            .unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    async fn fetch(
        &self,
        location: &RepoLocation,
        commit: ObjectId,
        reference: &str,
        depth: u32,
    ) -> Result<Repo, GitError> {
        let url = "https://example.org/acme/web";
        let limit = Duration::from_secs(20);
        let fetch = Fetch {
            location,
            url,
            commit,
            reference,
            depth,
            credential: None,
            limit,
        };
        let name = format!(
            "clone-{}",
            std::fs::read_dir(self.folder.path()).unwrap().count()
        );
        let into = self.path(&name).join(".git");
        self.git.fetch_commit(&fetch, &into).await?;
        check_clean(&into, self.folder.path());
        let clone = Repo(self.path(&name));
        clone.git(&["reset", "--quiet", "--hard"]);
        assert_eq!(clone.git(&["status", "--porcelain"]), "");
        clone.git(&["fsck", "--strict"]);
        assert_eq!(clone.git(&["rev-parse", "HEAD"]), commit.to_string());
        Ok(clone)
    }

    fn remote(&self) -> RepoLocation {
        RepoLocation::Url(self.url())
    }
}

fn environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// Nothing of the machine, its user or the way here may stay.
fn check_clean(git_dir: &Path, folder: &Path) {
    for litter in [
        "hooks",
        "description",
        "logs",
        "FETCH_HEAD",
        "branches",
        "info/exclude",
        "objects/info/alternates",
    ] {
        assert!(!git_dir.join(litter).exists(), "{litter}");
    }
    let mut names: Vec<_> = std::fs::read_dir(git_dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "shallow" && name != "packed-refs")
        .collect();
    names.sort();
    assert_eq!(names, ["HEAD", "config", "objects", "refs"]);
    let config = std::fs::read_to_string(git_dir.join("config")).unwrap();
    assert!(!config.contains(folder.to_str().unwrap()), "{config}");
    // Another user will read it.
    let closed = [
        "find", ".", "!", "-perm", "-444", "-o", "-type", "d", "!", "-perm", "755",
    ];
    let closed = std::process::Command::new(closed[0])
        .args(&closed[1..])
        .current_dir(git_dir)
        .output();
    assert_eq!(String::from_utf8(closed.unwrap().stdout).unwrap(), "");
    for entry in std::fs::read_dir(git_dir.join("objects")).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(
            name == "pack" || name == "info",
            "a loose object in {}",
            name.display()
        );
    }
}

fn problem<T>(result: Result<T, GitError>) -> Problem {
    let Err(error) = result else {
        panic!("it should have failed")
    };
    assert!(!error.help().is_empty());
    error.problem
}
