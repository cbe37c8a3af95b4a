//! Refs of a remote repository: what they say, and how servers fail to say it.

use std::time::{Duration, Instant};

use atelier::git::{Credential, Fetch, Problem};

use super::git_server::{GitServer, Manner};
use super::repo::Repo;
use super::{World, problem};

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
        let git = world.another_git();
        let refs = git.read_refs(&world.url(), None).await.unwrap();
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
    assert!(matches!(problem(limited), Problem::RateLimited(_)));
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
    let credential = Credential::parse(&format!("me:{token}")).unwrap();
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
    let wrong = Credential::parse("me:wrong-token").unwrap();
    let error = world
        .git
        .read_refs(&world.url(), Some(&wrong))
        .await
        .unwrap_err();
    assert!(matches!(error.problem, Problem::LoginRefused), "{error}");
    assert!(!error.to_string().contains("wrong-token"));
}

#[tokio::test]
async fn a_login_does_not_follow_a_redirect_to_another_server() {
    let world = World::new();
    let other = GitServer::start(&world.path("srv"));
    let credential = Credential::parse("me:token").unwrap();
    let to = other.url("").trim_end_matches('/').to_owned();
    world.server.behave(Manner::Redirect { to });
    world
        .git
        .read_refs(&world.url(), Some(&credential))
        .await
        .unwrap();
    other.behave(Manner::Login {
        user: "me".to_owned(),
        password: "token".to_owned(),
    });
    let git = world.another_git();
    let refused = git.read_refs(&world.url(), Some(&credential)).await;
    assert!(matches!(problem(refused), Problem::LoginRefused));
    assert!(other.logins().is_empty());
}

/// As in a server or an editor, which live longer than one run.
#[tokio::test]
async fn refs_are_remembered_for_half_a_minute() {
    let world = World::new();
    let url = world.url();
    let main = async || {
        let refs = world.git.read_refs(&url, None).await.unwrap();
        refs.commit("refs/heads/main")
    };
    let old = world.id("main");
    assert_eq!(main().await, Some(old));
    let asked = world.server.requests().len();
    world.work.commit("a", "four");
    world.push();
    assert_eq!(main().await, Some(old));
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(29)).await;
    assert_eq!(main().await, Some(old));
    assert_eq!(world.server.requests().len(), asked);
    // With a login it is another question.
    tokio::time::resume();
    let login = Credential::parse("me:token").unwrap();
    let refs = world.git.read_refs(&url, Some(&login)).await.unwrap();
    assert_eq!(refs.commit("refs/heads/main"), Some(world.id("main")));
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(2)).await;
    tokio::time::resume();
    assert_eq!(main().await, Some(world.id("main")));
    // A failure is not remembered.
    let none = world.server.url("none");
    problem(world.git.read_refs(&none, None).await);
    Repo::init(&world.path("srv/none.git"), &["--bare"]);
    let error = problem(world.git.read_refs(&none, None).await);
    assert!(matches!(error, Problem::Empty));
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
