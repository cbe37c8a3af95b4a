//! A commit with the submodules that its tree names.

use std::fs;
use std::time::Duration;

use atelier::git::{Extras, Fetch, GitError, Part, Problem};
use atelier::resolve::RepoLocation;

use super::git_server::Manner;
use super::repo::Repo;
use super::{World, check_clean, problem};

/// A world in which `web` names `lib` at `vendor/lib`, and `lib` names `inner` at `deep/inner`, both by relative URLs.
fn nested() -> World {
    nested_in("sha1")
}

fn nested_in(format: &str) -> World {
    let world = World::with_format(format);
    let inner = serve(&world, "inner", format);
    let lib = serve(&world, "lib", format);
    lib.link(
        "inner",
        "deep/inner",
        "../inner.git",
        &inner.git(&["rev-parse", "HEAD"]),
    );
    publish(&lib, "nested");
    world.work.link(
        "lib",
        "vendor/lib",
        "../lib.git",
        &lib.git(&["rev-parse", "HEAD"]),
    );
    publish(&world.work, "linked");
    world
}

/// One more repository on the server, with two commits.
fn serve(world: &World, name: &str, format: &str) -> Repo {
    let format = format!("--object-format={format}");
    let repo = Repo::init(&world.path(name), &[&format]);
    Repo::init(
        &world.path(&format!("srv/{name}.git")),
        &["--bare", &format],
    );
    repo.git(&["remote", "add", "up", &format!("../srv/{name}.git")]);
    repo.commit(name, "one");
    repo.commit(name, "two");
    publish(&repo, "three");
    repo
}

/// Commits what is staged, and pushes it.
fn publish(repo: &Repo, message: &str) {
    repo.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
    repo.git(&["push", "--quiet", "--force", "up", "main"]);
}

impl World {
    async fn fetch_whole(
        &self,
        location: &RepoLocation,
        url: &str,
        depth: u32,
    ) -> Result<(Repo, Vec<Part>), GitError> {
        let fetch = Fetch {
            location,
            url,
            commit: self.id("main"),
            reference: "refs/heads/main",
            depth,
            credential: None,
            limit: Duration::from_secs(20),
        };
        let count = fs::read_dir(self.folder.path()).unwrap().count();
        let clone = Repo(self.path(&format!("whole-{count}")));
        let extras = Extras {
            submodules: true,
            lfs: true,
        };
        let into = clone.0.join(".git");
        let parts = self.git.fetch_whole(&fetch, extras, &into).await?;
        Ok((clone, parts))
    }

    async fn remote_whole(&self, depth: u32) -> Result<(Repo, Vec<Part>), GitError> {
        self.fetch_whole(&self.remote(), &self.url(), depth).await
    }

    /// What is told of a repository that is not as it should be.
    async fn refused(&self) -> String {
        let error = self.remote_whole(1).await.map(drop).unwrap_err();
        assert!(
            error.help().contains("submodules=#false"),
            "{}",
            error.help()
        );
        error.problem.to_string()
    }
}

/// Its work trees, made as the sandbox makes them.
fn check_out(clone: &Repo, parts: &[Part]) {
    for part in parts {
        let tree = Repo(clone.0.join(&part.path));
        if !part.path.is_empty() {
            fs::write(tree.0.join(".git"), part.git_file() + "\n").unwrap();
        }
        tree.git(&["reset", "--quiet", "--hard"]);
        assert_eq!(tree.git(&["rev-parse", "HEAD"]), part.commit.to_string());
        tree.git(&["fsck", "--strict"]);
    }
}

#[tokio::test]
async fn submodules_are_fetched_at_the_commits_that_the_tree_names() {
    for format in ["sha1", "sha256"] {
        let world = nested_in(format);
        for depth in [1, 0] {
            let (clone, parts) = world.remote_whole(depth).await.unwrap();
            check_out(&clone, &parts);
            let inner = Repo(clone.0.join("vendor/lib/deep/inner"));
            assert_eq!(fs::read_to_string(inner.0.join("inner")).unwrap(), "two");
            let commits = inner.git(&["rev-list", "--count", "HEAD"]);
            assert_eq!(commits, if depth == 1 { "1" } else { "3" });
            let status = clone.git(&["submodule", "status", "--recursive"]);
            let expected = parts[1..]
                .iter()
                .map(|part| format!("{} {}", part.commit, part.path));
            let told = status
                .lines()
                .map(|line| line.trim().rsplit_once(" (").unwrap_or((line.trim(), "")).0);
            assert!(told.eq(expected), "{status}");
            assert_eq!(clone.git(&["status", "--porcelain"]), "");
            for part in ["modules/lib", "modules/lib/modules/inner"] {
                let config =
                    fs::read_to_string(clone.0.join(".git").join(part).join("config")).unwrap();
                assert!(
                    !config.contains(world.folder.path().to_str().unwrap()),
                    "{config}"
                );
            }
        }
    }
}

/// What `git clone --recurse-submodules` says in the configurations, less the branch that its submodules are not on.
#[tokio::test]
async fn the_configurations_are_those_of_a_clone() {
    let world = nested();
    let (ours, parts) = world.remote_whole(0).await.unwrap();
    check_out(&ours, &parts);
    let folder = Repo(world.folder.path().to_owned());
    folder.git(&[
        "clone",
        "--quiet",
        "--recurse-submodules",
        &world.url(),
        "theirs",
    ]);
    let theirs = Repo(world.path("theirs"));
    for path in ["", "vendor/lib", "vendor/lib/deep/inner"] {
        let list = |clone: &Repo| {
            let listed = Repo(clone.0.join(path)).git(&["config", "--local", "--list"]);
            let listed = listed.replace("submodule.inner.active=true", "submodule.active=.");
            let plain = |line: &str| line.trim_end_matches(".git").to_owned();
            let mut lines: Vec<_> = listed.lines().map(plain).collect();
            lines.retain(|line| !line.starts_with("branch."));
            lines.sort();
            lines.dedup();
            lines
        };
        assert_eq!(list(&ours), list(&theirs), "{path}");
        let file = |clone: &Repo| fs::read_to_string(clone.0.join(path).join(".git")).ok();
        assert_eq!(file(&ours), file(&theirs), "{path}");
    }
}

#[tokio::test]
async fn without_a_need_nothing_is_fetched() {
    let world = World::new();
    let (clone, parts) = world.remote_whole(1).await.unwrap();
    assert_eq!(parts.len(), 1);
    check_clean(&clone.0.join(".git"), world.folder.path());
}

#[tokio::test]
async fn a_submodule_that_is_none_is_left_out() {
    let world = nested();
    world.work.git(&[
        "config",
        "--file",
        ".gitmodules",
        "submodule.lib.update",
        "none",
    ]);
    world.work.git(&["add", ".gitmodules"]);
    publish(&world.work, "none");
    let (_, parts) = world.remote_whole(1).await.unwrap();
    assert_eq!(parts.len(), 1);
}

#[tokio::test]
async fn what_is_missing_is_told_of_the_submodule() {
    let world = nested();
    let lib = Repo(world.path("lib"));
    // A commit that was never pushed.
    lib.git(&[
        "commit",
        "--quiet",
        "--amend",
        "--allow-empty",
        "--message",
        "mine",
    ]);
    let mine = lib.git(&["rev-parse", "HEAD"]);
    world.work.gitlink("vendor/lib", &mine);
    publish(&world.work, "unpushed");
    let url = world.server.url("lib");
    let expected = format!("submodule vendor/lib ({url}): commit {mine} is gone (force-pushed?)");
    assert_eq!(world.refused().await, expected);
    world.work.git(&[
        "config",
        "--file",
        ".gitmodules",
        "submodule.lib.url",
        "../none.git",
    ]);
    world.work.git(&["add", ".gitmodules"]);
    publish(&world.work, "no repository");
    let none = world.server.url("none");
    let expected =
        format!("submodule vendor/lib ({none}): the server says there is no such repository");
    assert_eq!(world.refused().await, expected);
    world
        .work
        .git(&["rm", "--quiet", "--cached", ".gitmodules"]);
    publish(&world.work, "no entry");
    assert_eq!(
        world.refused().await,
        "submodule vendor/lib: it has no entry in .gitmodules"
    );
    // The innermost is named with all above it.
    let world = nested();
    let lib = Repo(world.path("lib"));
    lib.git(&["rm", "--quiet", "--cached", ".gitmodules"]);
    publish(&lib, "no entry");
    world
        .work
        .gitlink("vendor/lib", &lib.git(&["rev-parse", "HEAD"]));
    publish(&world.work, "linked");
    let url = world.server.url("lib");
    let expected = format!(
        "submodule vendor/lib ({url}): submodule deep/inner: it has no entry in .gitmodules"
    );
    assert_eq!(world.refused().await, expected);
}

/// A `.gitmodules` that says one thing that it should not.
fn declare(world: &World, name: &str, key: &str, value: &str) {
    let commit = Repo(world.path("lib")).git(&["rev-parse", "HEAD"]);
    fs::write(world.work.0.join(".gitmodules"), "").unwrap();
    world.work.link(name, "vendor/lib", "../lib.git", &commit);
    let key = format!("submodule.{name}.{key}");
    let file = ["config", "--file", ".gitmodules", &key, value];
    world.work.git(&file);
    world.work.git(&["add", ".gitmodules"]);
    publish(&world.work, value);
}

/// CVE-2018-17456, CVE-2019-19604, CVE-2022-39253.
#[tokio::test]
async fn a_hostile_url_reaches_nothing() {
    let world = nested();
    let trap = world.path("trap");
    let on_disk = world.path("lib").display().to_string();
    let file = format!("file://{}", world.path("srv/lib.git").display());
    let run = format!("ext::touch {}", trap.display());
    let option = format!("--upload-pack=touch {}", trap.display());
    let command = format!("!touch {}", trap.display());
    let before = world.server.requests().len();
    for (key, value, told) in [
        ("url", file.as_str(), "is none of https and ssh"),
        ("url", &on_disk, "is a path of a machine"),
        ("url", &run, "names a program to fetch it"),
        ("url", &option, "would be an option of git"),
        ("url", "../../lib.git", "leads above its server"),
        ("update", &command, "its `update`"),
    ] {
        declare(&world, "lib", key, value);
        let refused = world.refused().await;
        assert!(refused.starts_with("submodule vendor/lib"), "{refused}");
        assert!(refused.contains(told), "{refused}");
    }
    let asked = world.server.requests().split_off(before);
    assert!(
        !asked.iter().any(|request| request.contains("/lib")),
        "{asked:?}"
    );
    assert!(!trap.exists());
}

/// CVE-2018-11235.
#[tokio::test]
async fn a_hostile_name_leads_nowhere() {
    let world = nested();
    for name in ["../../lib", "lib/../../../x", "-x"] {
        declare(&world, name, "shallow", "false");
        assert!(world.refused().await.contains("name"), "{name}");
    }
    // The folder of one in that of the other's `.git`.
    declare(&world, "lib", "shallow", "false");
    let commit = Repo(world.path("lib")).git(&["rev-parse", "HEAD"]);
    world
        .work
        .link("lib/hooks", "vendor/hooks", "../lib.git", &commit);
    publish(&world.work, "inside");
    let refused = world.refused().await;
    assert!(refused.contains("is inside that of `lib`"), "{refused}");
}

/// Git does not make one, so the tree is made by hand.
#[tokio::test]
async fn a_link_is_no_gitmodules() {
    let world = nested();
    let commit = Repo(world.path("lib")).git(&["rev-parse", "HEAD"]);
    fs::write(world.path("target"), "../outside").unwrap();
    let target = world.work.git(&["hash-object", "-w", "--", "../target"]);
    let mut tree = b"120000 .gitmodules\0".to_vec();
    tree.extend(hex::decode(target).unwrap());
    tree.extend(b"160000 lib\0");
    tree.extend(hex::decode(&commit).unwrap());
    fs::write(world.path("tree"), tree).unwrap();
    let literally = [
        "hash-object",
        "-w",
        "-t",
        "tree",
        "--literally",
        "--",
        "../tree",
    ];
    let tree = world.work.git(&literally);
    let commit = world.work.git(&["commit-tree", "-m", "link", &tree]);
    world.work.git(&["update-ref", "refs/heads/main", &commit]);
    world.push();
    let refused = world.remote_whole(1).await.map(drop).unwrap_err();
    assert!(
        refused.to_string().contains("not a regular file"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_repository_on_disk_has_its_submodules_beside_it() {
    let world = nested();
    let folder = Repo(world.folder.path().to_owned());
    folder.git(&[
        "clone",
        "--quiet",
        "--recurse-submodules",
        &world.url(),
        "mine",
    ]);
    let mine = Repo(world.path("mine"));
    mine.git(&["worktree", "add", "--quiet", "--detach", "../second"]);
    // Neither is needed any more, nor are the work trees.
    world.server.behave(Manner::Hang);
    fs::remove_dir_all(mine.0.join("vendor")).unwrap();
    let asked = world.server.requests().len();
    for (root, url) in [
        ("mine", "https://git.acme.dev/web"),
        ("mine", ""),
        ("second", ""),
    ] {
        let location = RepoLocation::Disk(world.path(root));
        let (clone, parts) = world.fetch_whole(&location, url, 1).await.unwrap();
        check_out(&clone, &parts);
        assert_eq!(clone.git(&["status", "--porcelain"]), "");
        assert_eq!(
            fs::read_to_string(clone.0.join("vendor/lib/deep/inner/inner")).unwrap(),
            "two"
        );
        let (_, told, _) = clone.try_git(&["config", "submodule.lib.url"]);
        assert_eq!(
            told,
            if url.is_empty() {
                ""
            } else {
                "https://git.acme.dev/lib"
            }
        );
    }
    assert_eq!(world.server.requests().len(), asked);
}

#[tokio::test]
async fn what_is_not_on_disk_comes_from_the_server() {
    let world = nested();
    let location = RepoLocation::Disk(world.work.0.clone());
    let (clone, parts) = world.fetch_whole(&location, &world.url(), 1).await.unwrap();
    check_out(&clone, &parts);
    let error = world
        .fetch_whole(&location, "", 1)
        .await
        .map(drop)
        .unwrap_err();
    let expected = "submodule vendor/lib: its URL `../lib.git` is relative, and the repository has no URL of its own";
    assert_eq!(error.problem.to_string(), expected);
    assert!(
        error.help().contains("git submodule update --init"),
        "{}",
        error.help()
    );
}

#[tokio::test]
async fn a_shallow_one_on_disk_gives_no_more_than_it_has() {
    let world = nested();
    let folder = Repo(world.folder.path().to_owned());
    folder.git(&[
        "clone",
        "--quiet",
        "--recurse-submodules",
        "--shallow-submodules",
        &world.url(),
        "mine",
    ]);
    let location = RepoLocation::Disk(world.path("mine"));
    let cut = world.fetch_whole(&location, "", 0).await.map(drop);
    let Problem::Submodule { problem, .. } = problem(cut) else {
        panic!("it is shallow")
    };
    assert!(
        problem
            .to_string()
            .starts_with("the repository itself has only part of its history"),
        "{problem}"
    );
    // With a URL, the rest comes from there.
    let (clone, parts) = world.fetch_whole(&location, &world.url(), 0).await.unwrap();
    check_out(&clone, &parts);
    assert_eq!(
        Repo(clone.0.join("vendor/lib")).git(&["rev-list", "--count", "HEAD"]),
        "4"
    );
}

#[tokio::test]
async fn the_authors_may_recommend_a_shallow_one() {
    let world = nested();
    world.work.git(&[
        "config",
        "--file",
        ".gitmodules",
        "submodule.lib.shallow",
        "true",
    ]);
    world.work.git(&["add", ".gitmodules"]);
    publish(&world.work, "shallow");
    let (clone, parts) = world.remote_whole(0).await.unwrap();
    check_out(&clone, &parts);
    let count = |path: &str| Repo(clone.0.join(path)).git(&["rev-list", "--count", "HEAD"]);
    assert_eq!(
        (count("vendor/lib"), count("vendor/lib/deep/inner")),
        ("1".to_owned(), "3".to_owned())
    );
}
