//! Servers and networks that fail, in front of a real one: each failure is an unresolved input with its cause, and bakes
//! nothing; what passes soon is waited for.

use std::fs;
use std::time::{Duration, Instant};

use super::site::publish;
use super::web_server::WebServer;
use crate::front::{Front, Manner};
use crate::processes::{is_running, wait_until};
use crate::project::{Project, Ran};
use crate::repo::Repo;

/// A repository behind a server that can fail.
pub(crate) struct Behind {
    pub(crate) project: Project,
    pub(crate) server: WebServer,
    pub(crate) front: Front,
    pub(crate) web: Repo,
}

/// What finds the refs of a repository, and what hands out its commits.
pub(crate) const GIT: &str = "git-upload-pack";

impl Behind {
    pub(crate) fn new() -> Self {
        let project = Project::empty();
        let server = WebServer::start();
        let front = Front::of(server.port);
        let web = Repo::init(&project.root.parent().unwrap().join("web"), &[]);
        Repo::init(&server.bare("web"), &["--bare"]);
        web.git(&[
            "remote",
            "add",
            "origin",
            server.bare("web").to_str().unwrap(),
        ]);
        web.commit("a", "one");
        // Noise, so that a pack is larger than what a test lets through.
        web.commit(
            "noise",
            &(0..4000_u32)
                .map(|n| n.wrapping_mul(2_654_435_761).to_string())
                .collect::<String>(),
        );
        web.git(&["push", "--quiet", "origin", "main"]);
        let behind = Self {
            project,
            server,
            front,
            web,
        };
        behind.file("");
        behind
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/web", self.front.port)
    }

    pub(crate) fn file(&self, options: &str) {
        let text = format!("from dev-base\nrepo \"{}\" {options}", self.url());
        self.project.write("prebuild.kdl", &text);
    }

    /// The commit is named, so that nobody asks for refs.
    fn pin(&self) {
        self.file(&format!("commit=\"{}\"", self.head()));
    }

    pub(crate) fn head(&self) -> String {
        self.web.git(&["rev-parse", "HEAD"])
    }

    /// What it says where it fails, after nothing was baked.
    pub(crate) fn failed(&self) -> Ran {
        let ran = self.project.run(&["build"]).expect(5);
        assert!(ran.stderr.contains("A0501"), "{}", ran.stderr);
        assert!(
            ran.stderr
                .contains(&format!("cannot resolve {}", self.url())),
            "{}",
            ran.stderr
        );
        assert!(self.project.snapshots().is_empty());
        self.project.assert_nothing_left();
        ran
    }

    /// It is told at the limit, of five seconds, and git is not left behind: what was killed is gone a moment later.
    fn fails_in_time(&self, cause: &str) {
        let began = Instant::now();
        let ran = self.failed();
        assert!(began.elapsed() < Duration::from_secs(10));
        assert!(ran.stderr.contains(cause), "{cause}: {}", ran.stderr);
        wait_until("git has ended", || !is_running(&self.url()));
    }

    pub(crate) fn baked_commit(&self) -> String {
        self.project.run(&["build"]).expect(0);
        let snapshots = self.project.snapshots();
        snapshots.last().unwrap()["commits"]["web"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

const fn fail(status: u16, retry_after: Option<&'static str>) -> Manner {
    Manner::Fail {
        status,
        retry_after,
    }
}

const ALWAYS: usize = usize::MAX;

/// What a server answers, and what is said of that.
const REFUSALS: [(Manner, &str); 6] = [
    (fail(403, None), "the server denies access (HTTP 403)"),
    (
        fail(404, None),
        "the server says there is no such repository",
    ),
    (fail(429, None), "the server asks to slow down (HTTP 429)"),
    (
        fail(429, Some("70")),
        "the server asks to slow down (HTTP 429), for 70 s",
    ),
    (fail(500, None), "the server failed (HTTP 500)"),
    (
        fail(503, Some("90")),
        "the server failed (HTTP 503), for 90 s",
    ),
];

/// behaviours 1.3
#[test]
fn refs_that_cannot_be_read_are_an_error_with_its_cause() {
    refused(&Behind::new());
}

/// behaviours 1.3
#[test]
fn a_commit_that_cannot_be_fetched_is_an_error_with_its_cause() {
    let behind = Behind::new();
    behind.pin();
    refused(&behind);
}

fn refused(behind: &Behind) {
    for (manner, cause) in REFUSALS {
        behind.front.meet(GIT, ALWAYS, manner);
        let ran = behind.failed();
        assert!(ran.stderr.contains(cause), "{cause}: {}", ran.stderr);
        behind.front.serve_again();
    }
    behind.project.run(&["build"]).expect(0);
}

/// behaviours 1.3: as long as the server asks for, and no longer than there is time.
#[test]
fn a_server_is_left_alone_as_long_as_it_asks_for() {
    for pinned in [false, true] {
        let behind = Behind::new();
        if pinned {
            behind.pin();
        }
        behind.front.meet(GIT, 1, fail(429, Some("2")));
        let began = Instant::now();
        behind.project.run(&["build"]).expect(0);
        assert!(began.elapsed() >= Duration::from_secs(2));
        let asked = behind.front.targets("/info/refs").len();
        assert_eq!(asked, if pinned { 2 } else { 3 });
        // It would be too late, so it is not asked a second time.
        for time in ["900", "18446744073709551615"] {
            behind.front.serve_again();
            behind.front.forget();
            behind.front.meet(GIT, ALWAYS, fail(429, Some(time)));
            behind
                .project
                .run(&["build", "--force", "default"])
                .expect(5);
            assert_eq!(behind.front.requests().len(), 1);
        }
    }
}

/// behaviours 1.3
#[test]
fn a_silent_server_is_given_five_seconds() {
    let behind = Behind::new();
    let silent = || Manner::Wait(Duration::from_mins(1));
    behind.front.meet(GIT, ALWAYS, silent());
    behind.fails_in_time("no answer within 5 s");
    // Retries are within the same limit.
    behind.front.serve_again();
    behind.front.meet(GIT, 1, fail(503, Some("3")));
    behind.front.meet(GIT, ALWAYS, silent());
    behind.fails_in_time("the server failed (HTTP 503)");
}

/// behaviours 1.3, 2.18
#[test]
fn several_refs_of_a_repository_are_one_request() {
    let behind = Behind::new();
    behind.web.git(&[
        "push",
        "--quiet",
        "origin",
        "main:other",
        "main:refs/tags/v1",
    ]);
    let url = behind.url();
    let target = |name: &str, options: &str| {
        format!(
            "prebuild {name} {{ from dev-base; repo \"{url}\" {options}; run \"echo {name}\"; }}\n"
        )
    };
    let text = target("a", "") + &target("b", "branch=other") + &target("c", "tag=v1");
    behind.project.write("prebuild.kdl", &text);
    behind.project.run(&["plan"]).expect(0);
    assert_eq!(behind.front.targets("/info/refs").len(), 1);
}

/// behaviours 1.12
#[test]
fn a_pack_that_ends_too_early_is_asked_for_again_and_bakes_nothing() {
    let behind = Behind::new();
    behind.pin();
    // Both of a fetch's answers with content: the list of what there is, and the pack.
    behind
        .front
        .meet("/web/git-upload-pack", ALWAYS, Manner::Cut { after: 1000 });
    let ran = behind.failed();
    assert!(
        ran.stderr.contains("the server's answer ended too early"),
        "{}",
        ran.stderr
    );
    behind.front.serve_again();
    behind
        .front
        .meet("/web/git-upload-pack", 1, Manner::Cut { after: 1000 });
    behind.project.run(&["build"]).expect(0);
    let look = "cd web; git fsck 2>&1; git status --porcelain; find .git/objects -name 'tmp_*'; ls .git/objects/pack | wc -l";
    let ran = behind
        .project
        .run(&["up", "--", "sh", "-ec", look])
        .expect(0);
    assert!(
        ["2\n", "3\n"].contains(&ran.stdout.as_str()),
        "{}",
        ran.stdout
    );
}

/// What a server of files in LFS may say, after git has got its part.
#[test]
fn contents_in_lfs_that_cannot_be_fetched_are_an_error_with_its_cause() {
    let behind = Behind::new();
    behind.web.commit(".gitattributes", "*.bin filter=lfs\n");
    let pointer = behind.server.keep(&[3; 5000]);
    fs::write(behind.web.0.join("x.bin"), &pointer).unwrap();
    behind.web.git(&["add", "x.bin"]);
    publish(&behind.web, "in LFS");
    let (_, oid) = pointer.split_once("sha256:").unwrap();
    let (batch, object) = ("/objects/batch", &oid[..64]);
    for (part, manner, cause) in [
        (
            batch,
            fail(403, None),
            "the server denies access (HTTP 403)",
        ),
        (batch, fail(404, None), "there is no LFS server to ask"),
        (
            batch,
            fail(429, None),
            "the server asks to slow down (HTTP 429)",
        ),
        (
            batch,
            fail(429, Some("1")),
            "the server asks to slow down (HTTP 429), for 1 s",
        ),
        (
            batch,
            fail(429, Some("900")),
            "the server asks to slow down (HTTP 429), for 900 s",
        ),
        (batch, fail(500, None), "the server failed (HTTP 500)"),
        (
            batch,
            Manner::Cut { after: 10 },
            "the server's answer ended too early",
        ),
        (object, fail(500, None), "the server failed (HTTP 500)"),
        (object, Manner::Spoil, "expected OID"),
    ] {
        behind.front.meet(part, ALWAYS, manner);
        let ran = behind.failed();
        for text in ["the content of x.bin, which is kept in LFS", cause] {
            assert!(ran.stderr.contains(text), "{cause}: {}", ran.stderr);
        }
        behind.front.serve_again();
    }
    behind.front.meet(object, 1, Manner::Cut { after: 100 });
    behind.project.run(&["build"]).expect(0);
}
