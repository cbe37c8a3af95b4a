//! Repositories of a real server, from the plan to a sandbox at the keyed commit.

use serde_json::json;

use crate::git_server::{GitServer, Manner};
use crate::project::Project;
use crate::repo::Repo;

/// A server with one repository, and the clone that pushes to it.
pub(crate) struct Served {
    pub(crate) project: Project,
    pub(crate) server: GitServer,
    pub(crate) clone: Repo,
}

/// Three commits, a tag on the second one.
pub(crate) fn served(options: &str) -> Served {
    let project = Project::empty();
    let folder = project.root.parent().unwrap().to_owned();
    let clone = Repo::init(&folder.join("clone"), &[]);
    clone.commit("a", "one");
    clone.commit("a", "two");
    clone.git(&["tag", "-a", "-m", "a release", "v1"]);
    clone.commit("b", "three");
    let bare = folder.join("served/web.git");
    std::fs::create_dir(folder.join("served")).unwrap();
    clone.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    clone.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
    let server = GitServer::start(&folder.join("served"));
    let url = server.url("web");
    project.write(
        "prebuild.kdl",
        &format!("from dev-base\nrepo \"{url}\" {options}"),
    );
    Served {
        project,
        server,
        clone,
    }
}

impl Served {
    pub(crate) fn head(&self) -> String {
        self.clone.git(&["rev-parse", "HEAD"])
    }

    /// Runs a script in the repository of a sandbox.
    pub(crate) fn sh(&self, script: &str) -> String {
        let script = format!("cd web; {script}");
        self.project
            .run(&["up", "--", "sh", "-c", &script])
            .expect(0)
            .stdout
    }
}

/// behaviours 1.22
#[test]
fn depth_1_is_one_commit_that_can_be_deepened() {
    let served = served("");
    assert_eq!(
        served.sh("git status --porcelain; git rev-parse HEAD"),
        served.head() + "\n"
    );
    assert_eq!(
        served.sh("git log --oneline | wc -l; git fsck 2>&1; id -un"),
        "1\ndev\n"
    );
    assert_eq!(served.sh("git describe 2>/dev/null || echo none"), "none\n");
    assert_eq!(
        served.sh("git remote -v | cut -f2 | uniq -c | wc -l"),
        "2\n"
    );
    assert_eq!(
        served.sh("git remote get-url origin; git symbolic-ref HEAD"),
        format!("{}\nrefs/heads/main\n", served.server.url("web"))
    );
    assert_eq!(served.sh("git fetch --quiet --unshallow --tags && git log --oneline | wc -l && git describe | cut -d- -f1,2"), "3\nv1-1\n");
}

#[test]
fn depth_0_is_all_of_history_with_its_tags() {
    let served = served("depth=0");
    assert_eq!(served.sh("git log --oneline | wc -l; git describe | cut -d- -f1,2; git status --porcelain; git fsck 2>&1"), "3\nv1-1\n");
    assert_eq!(
        served.sh("git merge-base HEAD v1"),
        served.clone.git(&["rev-parse", "v1^{}"]) + "\n"
    );
}

#[test]
fn a_sandbox_fetches_what_was_pushed_after_its_bake() {
    let served = served("");
    served.project.run(&["build"]).expect(0);
    let baked = served.head();
    served.clone.commit("c", "four");
    served.clone.git(&["push", "--quiet", "origin", "main"]);
    // Booted without resolving anew, it would be the old one; with it, the new one is baked.
    assert_eq!(served.sh("git rev-parse HEAD"), served.head() + "\n");
    assert_ne!(baked, served.head());
    served.clone.commit("d", "five");
    served
        .clone
        .git(&["push", "--quiet", "origin", "main:later"]);
    assert_eq!(
        served.sh("git fetch --quiet origin later && git rev-parse FETCH_HEAD"),
        served.head() + "\n"
    );
}

/// behaviours 1.3, 2.10
#[test]
fn the_commit_in_the_key_is_the_commit_in_the_snapshot() {
    let served = served("branch=main");
    served.project.run(&["build"]).expect(0);
    let head = served.head();
    assert_eq!(
        served.project.snapshots()[0]["commits"],
        json!({"web": head})
    );
    // A force-push replaces the branch; the old commit is nobody's any more.
    served.clone.git(&["reset", "--quiet", "--hard", "v1"]);
    served.clone.commit("b", "other");
    served
        .clone
        .git(&["push", "--quiet", "--force", "origin", "main"]);
    served.project.run(&["build"]).expect(0);
    assert_eq!(
        served.project.snapshots()[1]["commits"],
        json!({"web": served.head()})
    );
    assert_eq!(served.sh("cat b"), "other");
}

#[test]
fn a_commit_that_the_server_does_not_have() {
    let gone = "1".repeat(40);
    let served = served(&format!("commit=\"{gone}\""));
    let ran = served.project.run(&["build"]).expect(5);
    assert!(ran.stderr.contains(&gone), "{}", ran.stderr);
    assert_eq!(served.project.snapshots(), [] as [serde_json::Value; 0]);
    served.project.assert_nothing_left();
}

/// behaviours 2.18: each remote is asked once a run, however many targets name it.
#[test]
fn the_server_is_asked_once_for_its_refs() {
    let served = served("");
    let url = served.server.url("web");
    let target = |name: &str| {
        format!("prebuild {name} {{ from dev-base; repo \"{url}\"; run \"echo {name}\"; }}\n")
    };
    served
        .project
        .write("prebuild.kdl", &(target("a") + &target("b")));
    served.project.run(&["plan"]).expect(0);
    let asked = served.server.requests();
    assert_eq!(
        asked
            .iter()
            .filter(|request| request.contains("info/refs"))
            .count(),
        1,
        "{asked:?}"
    );
    assert_eq!(served.server.logins(), Vec::<String>::new());
}

#[test]
fn a_server_that_is_slow_to_serve_is_asked_again() {
    let served = served("");
    served.server.behave(Manner::Fail {
        status: 429,
        times: 1,
    });
    served.project.run(&["build"]).expect(0);
}

#[test]
fn servers_that_refuse_are_named_with_the_cause() {
    let served = served("");
    let (user, password) = ("u".to_owned(), "p".to_owned());
    let manners = [
        (
            Manner::Fail {
                status: 404,
                times: 99,
            },
            "the server says there is no such repository",
        ),
        (
            Manner::Fail {
                status: 429,
                times: 99,
            },
            "the server asks to slow down (HTTP 429)",
        ),
        (
            Manner::Fail {
                status: 500,
                times: 99,
            },
            "the server failed (HTTP 500)",
        ),
        (
            Manner::Login { user, password },
            "the repository does not exist, or asks for a login",
        ),
        (
            Manner::Redirect {
                to: "http://127.0.0.1:1".to_owned(),
            },
            "cannot resolve",
        ),
        (Manner::Hang, "no answer within 5 s"),
    ];
    for (manner, cause) in manners {
        served.server.behave(manner.clone());
        let ran = served.project.run(&["plan"]).expect(5);
        assert!(
            ran.stderr
                .contains(&format!("cannot resolve {}", served.server.url("web"))),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.contains(cause), "{manner:?}: {}", ran.stderr);
    }
    served.server.behave(Manner::Old);
    served.project.run(&["build"]).expect(0);
    served.server.behave(Manner::Serve);
    served.project.run(&["plan", "--exit-code"]).expect(0);
}
