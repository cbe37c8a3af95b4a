//! The tree of a commit, and some of its objects, without the rest.

use std::collections::BTreeSet;
use std::time::Duration;

use atelier::git::{Fetch, Listed, Problem};
use atelier::node::ObjectId;
use atelier::resolve::RepoLocation;

use super::git_server::Manner;
use super::repo::Repo;
use super::{World, problem};

fn fetch(location: &RepoLocation, commit: ObjectId) -> Fetch<'_> {
    Fetch {
        location,
        url: "",
        commit,
        reference: "refs/heads/main",
        depth: 1,
        credential: None,
        limit: Duration::from_secs(20),
    }
}

impl World {
    /// Three commits and then a large file, which no test wants.
    fn with_much() -> Self {
        let world = Self::new();
        let mut noise = 1_u64;
        let noise = std::iter::repeat_with(|| {
            noise = noise
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            char::from(b'a' + u8::try_from(noise >> 60).unwrap())
        });
        let noise: String = noise.take(4 << 20).collect();
        std::fs::write(world.work.0.join("large"), noise).unwrap();
        world.work.commit("c", "four");
        world.push();
        world
    }

    async fn names(&self, location: &RepoLocation) -> Vec<(String, Listed)> {
        let scratch = self.path("listing");
        let fetch = fetch(location, self.id("main"));
        let listed = self.git.list_tree(&fetch, &scratch).await.unwrap();
        assert!(!scratch.exists());
        let name = |listed: &Listed| String::from_utf8(listed.path.clone()).unwrap();
        listed
            .into_iter()
            .map(|entry| (name(&entry), entry))
            .collect()
    }
}

#[tokio::test]
async fn a_tree_is_listed_and_an_object_fetched_without_the_rest() {
    for format in ["sha1", "sha256"] {
        let world = World::with_format(format);
        world
            .server
            .bare("web")
            .git(&["config", "uploadpack.allowFilter", "true"]);
        let listed = world.names(&world.remote()).await;
        let names: Vec<&str> = listed.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(listed[0].1.mode, "100644");
        assert_eq!(
            world.names(&RepoLocation::Disk(world.work.0.clone())).await,
            listed
        );
    }
    let world = World::with_much();
    world
        .server
        .bare("web")
        .git(&["config", "uploadpack.allowFilter", "true"]);
    let wanted = BTreeSet::from([world.names(&world.remote()).await[0].1.object]);
    let into = world.path("objects");
    let location = world.remote();
    let fetch = fetch(&location, world.id("main"));
    world
        .git
        .fetch_objects(&fetch, &wanted, &into)
        .await
        .unwrap();
    let object = wanted.first().unwrap().to_string();
    assert_eq!(Repo(into).git(&["cat-file", "blob", &object]), "two");
    let sent = world.server.sent();
    assert!(sent > 500 && sent < 100_000, "{sent}");
}

#[tokio::test]
async fn servers_that_cannot_leave_anything_out_send_it_all() {
    let world = World::with_much();
    let location = world.remote();
    let wanted = BTreeSet::from([world.names(&location).await[0].1.object]);
    assert!(world.server.sent() > 1 << 20);
    for (number, manner) in [Manner::Serve, Manner::Old].into_iter().enumerate() {
        world.server.behave(manner);
        let into = world.path(&format!("objects-{number}"));
        let fetch = fetch(&location, world.id("main"));
        world
            .git
            .fetch_objects(&fetch, &wanted, &into)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_commit_that_is_gone_has_no_tree() {
    let world = World::new();
    world.work.commit("c", "four");
    world.push();
    let old = world.id("main");
    world
        .work
        .git(&["commit", "--quiet", "--amend", "-m", "other"]);
    world.push();
    world
        .server
        .bare("web")
        .git(&["reflog", "expire", "--expire=now", "--all"]);
    world
        .server
        .bare("web")
        .git(&["gc", "--quiet", "--prune=now"]);
    let location = world.remote();
    let gone = world
        .git
        .list_tree(&fetch(&location, old), &world.path("listing"))
        .await;
    assert!(matches!(problem(gone), Problem::CommitGone(_)));
}
