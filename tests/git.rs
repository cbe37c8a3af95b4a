//! Repositories, read and fetched from real git: over smart HTTP on loopback, and from disk.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should say where"
)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use atelier::git::{Credential, Fetch, Git, GitError, Problem, Revision};
use atelier::node::ObjectId;
use atelier::resolve::RepoLocation;

#[path = "support/git_server.rs"]
mod git_server;
#[path = "support/repo.rs"]
mod repo;

use git_server::{GitServer, Manner};
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

#[tokio::test]
async fn refs_are_read_and_tags_are_peeled() {
    let world = World::new();
    let refs = world.git.read_refs(&world.url(), None).await.unwrap();
    assert_eq!(
        refs.default_branch().unwrap(),
        ("refs/heads/main".to_owned(), world.id("main"))
    );
    assert_eq!(refs.commit("refs/heads/next"), Some(world.id("next")));
    assert_eq!(refs.commit("refs/tags/v1"), Some(world.id("v1")));
    assert_eq!(refs.commit("refs/tags/light"), Some(world.id("light")));
    assert_eq!(refs.commit("refs/heads/none"), None);
}

#[tokio::test]
async fn what_a_server_says_no_to_is_told_apart() {
    let world = World::new();
    let read = async |manner: Manner| {
        world.server.behave(manner);
        problem(world.git.read_refs(&world.url(), None).await)
    };
    let always = |status| Manner::Fail {
        status,
        times: usize::MAX,
    };
    assert!(matches!(read(always(404)).await, Problem::NotFound));
    assert!(matches!(read(always(403)).await, Problem::Denied));
    let login = Manner::Login {
        user: "u".to_owned(),
        password: "p".to_owned(),
    };
    assert!(matches!(read(login).await, Problem::LoginNeeded));
    world.server.behave(Manner::Serve);
    let none = world.git.read_refs(&world.server.url("none"), None).await;
    assert!(matches!(problem(none), Problem::NotFound));
    let closed = world.git.read_refs("http://127.0.0.1:1/web", None).await;
    assert!(matches!(problem(closed), Problem::Unreachable(_)));
    Repo::init(&world.path("srv/empty.git"), &["--bare"]);
    let empty = world.git.read_refs(&world.server.url("empty"), None).await;
    assert!(matches!(problem(empty), Problem::Empty));
}

#[tokio::test]
async fn an_overloaded_server_is_asked_again() {
    let world = World::new();
    for status in [429, 503] {
        world.server.behave(Manner::Fail { status, times: 2 });
        let before = world.server.requests().len();
        let refs = world.git.read_refs(&world.url(), None).await.unwrap();
        assert_eq!(refs.commit("refs/heads/main"), Some(world.id("main")));
        // The two failures, and the two requests of protocol 2.
        assert_eq!(world.server.requests().len() - before, 4);
    }
}

#[tokio::test]
async fn patience_ends_after_five_seconds() {
    let world = World::new();
    world.server.behave(Manner::Fail {
        status: 429,
        times: usize::MAX,
    });
    let started = Instant::now();
    let limited = world.git.read_refs(&world.url(), None).await;
    assert!(matches!(problem(limited), Problem::RateLimited));
    assert!(started.elapsed() < Duration::from_secs(6));
    world.server.behave(Manner::Hang);
    let started = Instant::now();
    let silent = world.git.read_refs(&world.url(), None).await;
    assert!(matches!(problem(silent), Problem::TimedOut(_)));
    assert!(started.elapsed() < Duration::from_secs(6));
}

#[tokio::test]
async fn a_login_is_given_only_where_it_is_asked_for_and_stays_nowhere() {
    let world = World::new();
    let token = "canary-0123456789";
    world.server.behave(Manner::Login {
        user: "me".to_owned(),
        password: token.to_owned(),
    });
    let credential = Credential::parse(&format!("me:{token}"), "x").unwrap();
    world
        .git
        .read_refs(&world.url(), Some(&credential))
        .await
        .unwrap();
    let location = world.remote();
    let url = world.url();
    let fetch = Fetch {
        location: &location,
        url: &url,
        commit: world.id("main"),
        reference: "refs/heads/main",
        depth: 1,
        credential: Some(&credential),
        limit: Duration::from_secs(20),
    };
    let into = world.path("private.git");
    world.git.fetch_commit(&fetch, &into).await.unwrap();
    let found = std::process::Command::new("grep")
        .args(["-r", token])
        .arg(world.folder.path())
        .output();
    assert!(!found.unwrap().status.success());
    let wrong = Credential::parse("me:wrong-token", "x").unwrap();
    let error = world
        .git
        .read_refs(&world.url(), Some(&wrong))
        .await
        .unwrap_err();
    assert!(matches!(error.problem, Problem::LoginRefused), "{error}");
    assert!(!error.to_string().contains("wrong-token"));
}

#[tokio::test]
async fn a_shallow_clone_has_its_depth_and_its_branch() {
    let world = World::new();
    let commit = world.id("main");
    let clone = world
        .fetch(&world.remote(), commit, "refs/heads/main", 1)
        .await
        .unwrap();
    assert_eq!(clone.git(&["log", "--format=%s"]), "three");
    assert_eq!(clone.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(clone.git(&["rev-parse", "origin/main"]), commit.to_string());
    assert_eq!(
        clone.git(&["rev-parse", "--abbrev-ref", "main@{upstream}"]),
        "origin/main"
    );
    assert_eq!(clone.git(&["tag"]), "");
    assert_eq!(
        clone.git(&["config", "remote.origin.fetch"]),
        "+refs/heads/main:refs/remotes/origin/main"
    );
    assert_eq!(
        clone.git(&["config", "remote.origin.url"]),
        "https://example.org/acme/web"
    );
    let clone = world
        .fetch(&world.remote(), commit, "refs/heads/main", 2)
        .await
        .unwrap();
    assert_eq!(clone.git(&["log", "--format=%s"]), "three\ntwo");
    // More than there is: all of it, and nothing to say about it.
    let clone = world
        .fetch(&world.remote(), commit, "refs/heads/main", 9)
        .await
        .unwrap();
    assert_eq!(clone.git(&["log", "--format=%s"]), "three\ntwo\none");
}

#[tokio::test]
async fn a_full_clone_has_the_tags_that_point_into_it() {
    let world = World::new();
    world.work.git(&["switch", "--quiet", "--orphan", "other"]);
    world.work.commit("c", "elsewhere");
    world.work.git(&["tag", "outside"]);
    world.push();
    let clone = world
        .fetch(&world.remote(), world.id("main"), "refs/heads/main", 0)
        .await
        .unwrap();
    assert_eq!(clone.git(&["log", "--format=%s"]), "three\ntwo\none");
    assert_eq!(clone.git(&["tag"]), "light\nv1");
    assert_eq!(clone.git(&["cat-file", "-t", "v1"]), "tag");
    assert!(clone.git(&["describe"]).starts_with("v1-2-g"));
    assert_eq!(
        clone.git(&["config", "remote.origin.fetch"]),
        "+refs/heads/*:refs/remotes/origin/*"
    );
    assert!(!clone.0.join(".git/shallow").exists());
}

#[tokio::test]
async fn history_can_be_completed_later() {
    let world = World::new();
    let clone = world
        .fetch(&world.remote(), world.id("main"), "refs/heads/main", 1)
        .await
        .unwrap();
    clone.git(&["remote", "set-url", "origin", &world.url()]);
    clone.git(&["fetch", "--quiet"]);
    clone.git(&["fetch", "--quiet", "--unshallow"]);
    assert_eq!(clone.git(&["rev-list", "--count", "HEAD"]), "3");
}

#[tokio::test]
async fn a_tag_or_a_commit_is_checked_out_detached() {
    let world = World::new();
    let clone = world
        .fetch(&world.remote(), world.id("v1"), "refs/tags/v1", 1)
        .await
        .unwrap();
    assert!(!clone.try_git(&["symbolic-ref", "HEAD"]).0);
    assert_eq!(
        clone.git(&["config", "remote.origin.fetch"]),
        "+refs/tags/v1:refs/tags/v1"
    );
    let clone = world
        .fetch(&world.remote(), world.id("light"), "", 0)
        .await
        .unwrap();
    assert!(!clone.try_git(&["symbolic-ref", "HEAD"]).0);
    assert_eq!(clone.git(&["tag"]), "light\nv1");
    assert_eq!(clone.git(&["for-each-ref", "refs/atelier"]), "");
}

#[tokio::test]
async fn sha256_repositories_work() {
    let world = World::with_format("sha256");
    let refs = world.git.read_refs(&world.url(), None).await.unwrap();
    let (name, commit) = refs.default_branch().unwrap();
    assert!(matches!(commit, ObjectId::Sha256(_)));
    for depth in [0, 1] {
        let clone = world
            .fetch(&world.remote(), commit, &name, depth)
            .await
            .unwrap();
        assert_eq!(clone.git(&["rev-parse", "--show-object-format"]), "sha256");
    }
    let disk = RepoLocation::Disk(world.work.0.clone());
    world.fetch(&disk, commit, "", 1).await.unwrap();
}

#[tokio::test]
async fn a_ref_that_moved_on_does_not_move_the_clone() {
    let world = World::new();
    for (manner, content) in [(Manner::Serve, "four"), (Manner::Old, "five")] {
        world.server.behave(manner);
        let keyed = world.id("main");
        world.work.commit("a", content);
        world.push();
        for depth in [0, 1, 2] {
            let clone = world
                .fetch(&world.remote(), keyed, "refs/heads/main", depth)
                .await
                .unwrap();
            let count = if depth == 0 {
                world.work.git(&["rev-list", "--count", &keyed.to_string()])
            } else {
                depth.to_string()
            };
            assert_eq!(clone.git(&["rev-list", "--count", "HEAD"]), count);
            assert_eq!(clone.git(&["rev-parse", "origin/main"]), keyed.to_string());
        }
        world.fetch(&world.remote(), keyed, "", 1).await.unwrap();
    }
}

#[tokio::test]
async fn a_commit_that_was_force_pushed_away_is_an_error_or_itself() {
    let world = World::new();
    let keyed = world.id("main");
    world.work.git(&["reset", "--quiet", "--hard", "v1"]);
    world.work.git(&["branch", "--force", "next", "v1"]);
    world.work.git(&["tag", "--delete", "light"]);
    world
        .work
        .git(&["push", "--quiet", "up", ":refs/tags/light"]);
    world.work.commit("a", "rewritten");
    world.push();
    // The server may still have it, and then it is the keyed one.
    world
        .fetch(&world.remote(), keyed, "refs/heads/main", 1)
        .await
        .unwrap();
    world.server.behave(Manner::Old);
    let gone = world
        .fetch(&world.remote(), keyed, "refs/heads/main", 1)
        .await
        .map(drop);
    assert!(matches!(problem(gone), Problem::CommitGone(_)));
    world.server.behave(Manner::Serve);
    let bare = Repo(world.path("srv/web.git"));
    bare.git(&["reflog", "expire", "--expire=now", "--all"]);
    bare.git(&["gc", "--quiet", "--prune=now"]);
    for reference in ["refs/heads/main", ""] {
        let gone = world
            .fetch(&world.remote(), keyed, reference, 1)
            .await
            .map(drop);
        assert!(matches!(problem(gone), Problem::CommitGone(_)));
    }
}

#[tokio::test]
async fn a_fetch_is_limited_in_time() {
    let world = World::new();
    world.server.behave(Manner::Hang);
    let location = world.remote();
    let fetch = Fetch {
        location: &location,
        url: "",
        commit: world.id("main"),
        reference: "",
        depth: 1,
        credential: None,
        limit: Duration::from_millis(500),
    };
    let started = Instant::now();
    let late = world.git.fetch_commit(&fetch, &world.path("late")).await;
    assert!(matches!(problem(late), Problem::TimedOut(_)));
    assert!(started.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn a_tag_object_is_not_a_commit() {
    let world = World::new();
    let tag = world.work.git(&["rev-parse", "v1"]).parse().unwrap();
    let fetched = world.fetch(&world.remote(), tag, "", 1).await.map(drop);
    assert!(matches!(problem(fetched), Problem::NotACommit(_)));
}

#[tokio::test]
async fn a_repository_on_disk_is_read_at_head() {
    let world = World::new();
    let found = world
        .git
        .read_disk(&world.work.0, &Revision::Head)
        .await
        .unwrap();
    assert_eq!(found.root, world.work.0.canonicalize().unwrap());
    assert_eq!(found.commit, world.id("main"));
    assert_eq!(found.origin, None);
    assert!(found.changes.unwrap().is_none());
    world.work.git(&[
        "remote",
        "add",
        "origin",
        "https://me:tok@example.org/acme/web.git",
    ]);
    std::fs::write(world.work.0.join("a"), "changed").unwrap();
    std::fs::create_dir(world.work.0.join("sub")).unwrap();
    std::fs::write(world.work.0.join("sub/new"), "").unwrap();
    let found = world
        .git
        .read_disk(&world.work.0.join("sub"), &Revision::Head)
        .await
        .unwrap();
    assert_eq!(found.root, world.work.0.canonicalize().unwrap());
    assert_eq!(
        found.origin.as_deref(),
        Some("https://me:tok@example.org/acme/web.git")
    );
    let changes = found.changes.unwrap();
    assert_eq!((changes.changed, changes.untracked), (1, 1));
}

#[tokio::test]
async fn refs_and_commits_on_disk_are_found() {
    let world = World::new();
    let commit = async |revision| {
        world
            .git
            .read_disk(&world.work.0, &revision)
            .await
            .map(|found| found.commit)
    };
    let branch = |name: &str| Revision::Ref(format!("refs/heads/{name}"));
    assert_eq!(commit(branch("next")).await.unwrap(), world.id("next"));
    assert_eq!(
        commit(Revision::Ref("refs/tags/v1".to_owned()))
            .await
            .unwrap(),
        world.id("v1")
    );
    assert_eq!(
        commit(Revision::Commit(world.id("light"))).await.unwrap(),
        world.id("light")
    );
    assert!(matches!(
        problem(commit(branch("none")).await),
        Problem::NoSuchReference(_)
    ));
    assert!(matches!(
        problem(commit(branch("main^")).await),
        Problem::BadName(_)
    ));
    let unknown = Revision::Commit(ObjectId::Sha1([7; 20]));
    assert!(matches!(
        problem(commit(unknown).await),
        Problem::NoSuchReference(_)
    ));
}

#[tokio::test]
async fn what_is_no_repository_on_disk_is_said() {
    let world = World::new();
    let read = async |path: &str| {
        problem(
            world
                .git
                .read_disk(&world.path(path), &Revision::Head)
                .await,
        )
    };
    assert!(matches!(read("state").await, Problem::NotARepository(_)));
    assert!(matches!(read("none").await, Problem::Io { .. }));
    assert!(matches!(read("work/a").await, Problem::NotARepository(_)));
    Repo::init(&world.path("fresh"), &[]);
    assert!(matches!(read("fresh").await, Problem::Empty));
}

#[tokio::test]
async fn disk_repositories_are_fetched_like_others() {
    let world = World::new();
    let commit = world.id("light");
    world
        .work
        .git(&["worktree", "add", "--quiet", "--detach", "../tree", "light"]);
    for (path, depth) in [("work", 1), ("work", 0), ("tree", 1), ("srv/web.git", 2)] {
        let found = world
            .git
            .read_disk(&world.path(path), &Revision::Commit(commit))
            .await
            .unwrap();
        let location = RepoLocation::Disk(found.root);
        let clone = world.fetch(&location, commit, "", depth).await.unwrap();
        let expected = if depth == 1 { "1" } else { "2" };
        assert_eq!(
            clone.git(&["rev-list", "--count", "HEAD"]),
            expected,
            "{path}"
        );
    }
    let location = RepoLocation::Disk(world.work.0.clone());
    let fetch = Fetch {
        location: &location,
        url: "",
        commit,
        reference: "refs/heads/main",
        depth: 1,
        credential: None,
        limit: Duration::from_secs(20),
    };
    let into = world.path("local/.git");
    world.git.fetch_commit(&fetch, &into).await.unwrap();
    check_clean(&into, world.folder.path());
    let clone = Repo(world.path("local"));
    assert_eq!(clone.git(&["remote"]), "");
    assert_eq!(
        clone.git(&["for-each-ref", "--format=%(refname)"]),
        "refs/heads/main"
    );
}

#[tokio::test]
async fn a_shallow_repository_on_disk_gives_no_more_than_it_has() {
    let world = World::new();
    let url = format!("file://{}", world.work.0.display());
    Repo(world.folder.path().to_owned()).git(&["clone", "--quiet", "--depth=2", &url, "shallow"]);
    let location = RepoLocation::Disk(world.path("shallow"));
    for depth in [1, 2] {
        let clone = world
            .fetch(&location, world.id("main"), "", depth)
            .await
            .unwrap();
        assert_eq!(
            clone.git(&["rev-list", "--count", "HEAD"]),
            depth.to_string()
        );
    }
    for depth in [0, 3] {
        let cut = world
            .fetch(&location, world.id("main"), "", depth)
            .await
            .map(drop);
        assert!(matches!(problem(cut), Problem::Shallow), "depth {depth}");
    }
}

#[tokio::test]
async fn a_repository_of_another_user_is_read_as_the_caller() {
    if !rustix::process::geteuid().is_root() {
        println!("only root can make one");
        return;
    }
    let world = World::new();
    std::fs::set_permissions(
        world.folder.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let owned = std::process::Command::new("chown")
        .args(["-R", "1000:1000"])
        .arg(&world.work.0)
        .status();
    assert!(owned.unwrap().success());
    // A filter runs when files are compared. It must not run as root.
    let trap = world.path("trap");
    std::fs::create_dir(&trap).unwrap();
    std::os::unix::fs::chown(&trap, Some(1000), Some(1000)).unwrap();
    let config = world.work.0.join(".git/config");
    let filter = format!(
        "[filter \"t\"]\n\tclean = \"id -u >> {}/ran; cat\"\n",
        trap.display()
    );
    let text = std::fs::read_to_string(&config).unwrap() + &filter;
    std::fs::write(&config, text).unwrap();
    std::fs::write(world.work.0.join(".git/info/attributes"), "* filter=t\n").unwrap();
    std::fs::write(world.work.0.join("a"), "changed").unwrap();
    let found = world
        .git
        .read_disk(&world.work.0, &Revision::Head)
        .await
        .unwrap();
    assert_eq!(found.changes.map(|changes| changes.changed), Some(1));
    let ran = std::fs::read_to_string(trap.join("ran")).unwrap_or_default();
    assert!(!ran.lines().any(|line| line == "0"), "{ran}");
    let location = RepoLocation::Disk(found.root);
    world.fetch(&location, found.commit, "", 1).await.unwrap();
}

#[tokio::test]
async fn what_a_commit_needs_is_seen() {
    let world = World::new();
    let needs = async |reference: &str| {
        let commit = world.id(reference);
        let clone = world
            .fetch(&RepoLocation::Disk(world.work.0.clone()), commit, "", 1)
            .await
            .unwrap();
        world
            .git
            .needs(&clone.0.join(".git"), &commit)
            .await
            .unwrap()
    };
    let plain = needs("main").await;
    assert!(!plain.submodules && !plain.lfs);
    world.work.commit(
        "deep/.gitattributes",
        "# filter=lfs\n*.bin -text filter=lfs diff=lfs\n",
    );
    assert!(needs("main").await.lfs);
    let url = format!("file://{}", world.path("srv/web.git").display());
    world
        .work
        .git(&["submodule", "--quiet", "add", &url, "lib"]);
    world.work.git(&["commit", "--quiet", "--message", "lib"]);
    assert!(needs("main").await.submodules);
}

#[tokio::test]
async fn a_cancelled_call_leaves_no_process() {
    let world = World::new();
    world.server.behave(Manner::Hang);
    let url = world.url();
    let cancelled =
        tokio::time::timeout(Duration::from_millis(300), world.git.read_refs(&url, None)).await;
    assert!(cancelled.is_err());
    tokio::time::sleep(Duration::from_millis(200)).await;
    let listed = std::process::Command::new("ps")
        .args(["-eo", "stat,args"])
        .output()
        .unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let alive = |line: &&str| line.contains(&url) && !line.starts_with('Z');
    assert_eq!(listed.lines().find(alive), None);
}

#[tokio::test]
async fn hostile_names_are_refused() {
    let world = World::new();
    let location = world.remote();
    for reference in [
        "refs/heads/../../x",
        "refs/heads/a b",
        "heads/x",
        "refs/heads/-\u{7}",
    ] {
        let fetch = world
            .fetch(&location, world.id("main"), reference, 1)
            .await
            .map(drop);
        assert!(matches!(problem(fetch), Problem::BadName(_)), "{reference}");
    }
    // Unusual, and allowed.
    let name = "refs/heads/a;b#c\"d";
    world
        .fetch(&location, world.id("main"), name, 1)
        .await
        .unwrap();
}
