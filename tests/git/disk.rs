//! Repositories on this machine.

use std::time::Duration;

use atelier::git::{Fetch, Problem, Revision};
use atelier::node::ObjectId;
use atelier::resolve::RepoLocation;

use super::repo::Repo;
use super::{World, check_clean, problem};

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
    // A filter would run when files are compared.
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
    assert!(!trap.join("ran").exists());
    let location = RepoLocation::Disk(found.root);
    world.fetch(&location, found.commit, "", 1).await.unwrap();
}

/// A clone brings no `.git/config`, but it may bring a folder that is a repository, with settings and programs of its own.
#[tokio::test]
async fn no_program_of_a_repository_runs_when_it_is_read() {
    let world = World::new();
    let ran = world.path("ran");
    let filter = format!("id -u >> {}; cat", ran.display());
    let inner = Repo::init(&world.path("inner"), &[]);
    inner.commit("a", "one");
    std::fs::write(world.path("inner/.gitattributes"), "* filter=t\n").unwrap();
    inner.git(&["add", "."]);
    inner.git(&["commit", "--quiet", "--message", "two"]);
    for (name, value) in [
        ("filter.t.clean", filter.as_str()),
        ("filter.t.process", filter.as_str()),
        ("filter.t.required", "true"),
        ("core.fsmonitor", filter.as_str()),
        ("include.path", "more"),
    ] {
        inner.git(&["config", name, value]);
    }
    let more = format!("[filter \"u\"]\n\tclean = {filter:?}\n");
    std::fs::write(world.path("inner/.git/more"), more).unwrap();
    std::fs::write(world.path("inner/.git/info/attributes"), "a filter=u\n").unwrap();
    std::fs::write(world.path("inner/a"), "changed").unwrap();
    let read = async |path: &str| {
        let path = world.path(path);
        let found = world.git.read_disk(&path, &Revision::Head);
        found.await.unwrap().changes
    };
    assert_eq!(read("inner").await.unwrap().changed, 1);
    assert!(!ran.exists(), "{:?}", std::fs::read_to_string(&ran));
    // The same as a folder of files that a clone would bring.
    let bare = world.path("work/vendor");
    std::fs::rename(world.path("inner/.git"), &bare).unwrap();
    let settings = std::fs::read_to_string(bare.join("config")).unwrap();
    let settings = format!(
        "{settings}[core]\n\tbare = false\n\tworktree = {}\n",
        world.path("inner").display()
    );
    std::fs::write(bare.join("config"), settings).unwrap();
    assert_eq!(read("work/vendor").await, None);
    assert!(!ran.exists(), "{:?}", std::fs::read_to_string(&ran));
}
