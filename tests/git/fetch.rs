//! One commit, fetched into a directory that becomes the `.git` of a clone.

use std::time::{Duration, Instant};

use atelier::git::{Fetch, Problem};
use atelier::node::ObjectId;
use atelier::resolve::RepoLocation;

use super::git_server::Manner;
use super::repo::Repo;
use super::{World, problem};

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
async fn a_branch_that_was_deleted_is_an_error_or_its_commit() {
    let world = World::new();
    let keyed = world.id("next");
    world.work.commit("a", "ahead");
    world.push();
    world.work.git(&["push", "--quiet", "up", ":next"]);
    world
        .fetch(&world.remote(), keyed, "refs/heads/next", 1)
        .await
        .unwrap();
    world.server.behave(Manner::Old);
    let gone = world
        .fetch(&world.remote(), keyed, "refs/heads/next", 1)
        .await
        .map(drop);
    assert!(matches!(problem(gone), Problem::NoSuchReference(_)));
}

#[tokio::test]
async fn a_fetch_survives_a_moment_of_overload() {
    let world = World::new();
    world.server.behave(Manner::Fail {
        status: 503,
        times: 1,
    });
    world
        .fetch(&world.remote(), world.id("main"), "refs/heads/main", 1)
        .await
        .unwrap();
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
    assert!(plain.gitlinks.is_empty() && !plain.lfs);
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
    let gitlinks = needs("main").await.gitlinks;
    assert_eq!(gitlinks.len(), 1);
    assert_eq!(gitlinks[0].path, b"lib");
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
