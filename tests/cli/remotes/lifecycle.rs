//! The life of a private repository's key, and the places where its token is not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::lfs::Kept;
use super::site::publish;
use super::web_server::PASSWORD;
use crate::front::{Front, Manner};
use crate::project::Ran;
use crate::secrets::found_in;

/// `web` with files in LFS and a submodule, all private, behind something that is slow: what git runs can be seen.
struct Private {
    kept: Kept,
    front: Front,
}

/// What a step finds of the token: in its environment, and in that of all other processes that it sees.
const STEP: &str =
    "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | grep -ac cana[r]y > seen || true";

fn private() -> Private {
    let kept = Kept::at("private/web");
    let lib = kept.server.new_bare("private/lib");
    kept.web.git(&[
        "push",
        "--quiet",
        lib.0.to_str().unwrap(),
        "HEAD~3:refs/heads/main",
    ]);
    let id = kept.web.git(&["rev-parse", "HEAD~3"]);
    kept.web.link("lib", "lib", "../lib", &id);
    publish(&kept.web, "a submodule");
    let front = Front::of(kept.server.port);
    front.meet("", usize::MAX, Manner::Wait(Duration::from_millis(100)));
    let url = format!("http://127.0.0.1:{}/private/web", front.port);
    let file = format!(
        "secret TOKEN\nprebuild app {{ from dev-base; repo \"{url}\" auth=TOKEN; run #\"{STEP}\"#; }}"
    );
    kept.project.write("prebuild.kdl", &file);
    Private { kept, front }
}

impl Private {
    fn run(&self, words: &[&str], token: &str) -> Ran {
        let words = [words, &["--secret", "TOKEN=env:TOKEN"]].concat();
        let mut command = self.kept.project.atelier(&words);
        command.env("TOKEN", token);
        self.kept.project.run_command(command)
    }

    fn key(&self) -> String {
        let ran = self.run(&["build", "--json"], &good()).expect(0);
        ran.column("key").remove(0).1
    }
}

fn good() -> String {
    format!("me:{PASSWORD}")
}

/// behaviours 1.3
#[test]
fn each_commit_has_its_key_and_without_a_token_there_is_none() {
    let private = private();
    let first = private.key();
    private.kept.web.commit("more", "more");
    publish(&private.kept.web, "pushed");
    let second = private.key();
    assert_ne!(first, second);
    assert_eq!(private.kept.project.snapshots().len(), 2);
    // The same commit is the same key, whoever reads it.
    assert_eq!(private.key(), second);
    publish(&private.kept.web, "pushed again");
    for command in [["build", "--json"], ["plan", "--json"]] {
        let ran = private.kept.project.run(&command).expect(5);
        for text in ["asks for a login", "--secret NAME=env:VAR"] {
            assert!(ran.stderr.contains(text), "{}", ran.stderr);
        }
        assert_eq!(ran.stdout, "");
        let ran = private.run(&command, "me:wrong-canary").expect(5);
        assert!(
            ran.stderr.contains("the server refused the login"),
            "{}",
            ran.stderr
        );
        assert!(!ran.stderr.contains("canary"), "{}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
    assert_eq!(private.kept.project.snapshots().len(), 2);
}

/// behaviours 1.9
#[test]
fn the_token_is_nowhere() {
    let private = private();
    let done = AtomicBool::new(false);
    let (ran, seen) = thread::scope(|scope| {
        let watch = scope.spawn(|| command_lines_with(PASSWORD, &done));
        let ran = private.run(&["build", "--json"], &good());
        done.store(true, Ordering::Relaxed);
        (ran.expect(0), watch.join().unwrap())
    });
    assert_eq!(seen.with, Vec::<String>::new());
    assert!(seen.of_git > 0, "no git was seen at all");
    assert!(
        private
            .front
            .requests()
            .iter()
            .any(|one| one.header("authorization").is_some())
    );
    for told in [&ran.stdout, &ran.stderr] {
        assert!(!told.contains(PASSWORD), "{told}");
    }
    // As it is, and as HTTP sends it.
    let sent = private.front.requests();
    let sent = sent
        .iter()
        .find_map(|one| one.header("authorization"))
        .unwrap();
    let encoded = sent.strip_prefix("Basic ").unwrap();
    for text in [PASSWORD, encoded] {
        let found = found_in(&private.kept.project.store, text);
        assert_eq!(found, Vec::<String>::new(), "{text}");
        let found = found_in(&private.kept.project.home, text);
        assert_eq!(found, Vec::<String>::new(), "{text}");
    }
    let look = "cat seen; find . -name config -path '*.git*' | wc -l; grep -rl 'cana[r]y' . | wc -l; \
        cat web/.git/config web/.git/modules/lib/config | grep -c 'helper\\|@' || true; cat 'web/sub folder/-x.bin'";
    let mut command = private.kept.project.atelier(&[
        "up",
        "--secret",
        "TOKEN=env:TOKEN",
        "--",
        "sh",
        "-ec",
        look,
    ]);
    command.env("TOKEN", good());
    let ran = private.kept.project.run_command(command).expect(0);
    assert_eq!(ran.stdout, "0\n2\n0\n0\nsmall");
}

struct Seen {
    /// Command lines that had the text.
    with: Vec<String>,
    /// How often one of git was seen.
    of_git: usize,
}

/// Looks at all processes of the machine, again and again.
fn command_lines_with(text: &str, done: &AtomicBool) -> Seen {
    let mut seen = Seen {
        with: Vec::new(),
        of_git: 0,
    };
    while !done.load(Ordering::Relaxed) {
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            seen.of_git +=
                usize::from(words.contains("git-remote-http") || words.contains("git-lfs"));
            if words.contains(text) {
                seen.with.push(words);
            }
        }
    }
    seen
}
