//! Refs that move between the key and the clone: the snapshot holds the keyed commit, or there is an error.

use super::faults::{Behind, GIT};
use crate::front::Manner;

/// behaviours 1.3, 2.10: between the key and the clone.
#[test]
fn a_branch_that_moves_after_it_was_keyed_does_not_move_the_snapshot() {
    let behind = Behind::new();
    let keyed = behind.head();
    behind.web.commit("a", "two");
    behind.then(&behind.push(""));
    assert_eq!(behind.baked_commit(), keyed);
    let ran = behind.project.run(&[
        "up",
        "--",
        "sh",
        "-ec",
        "cat web/a; git -C web rev-parse HEAD origin/main",
    ]);
    // The next run takes the new one.
    let now = behind.head();
    assert_eq!(ran.expect(0).stdout, format!("two{now}\n{now}\n"));
    assert_ne!(keyed, now);
}

/// behaviours 1.3, 2.10
#[test]
fn a_branch_that_is_rewritten_after_it_was_keyed_is_an_error_or_its_commit() {
    let behind = Behind::new();
    let keyed = behind.head();
    behind.rewrite();
    // The server still has the old one, and hands it out.
    behind.then(&behind.push("--force"));
    assert_eq!(behind.baked_commit(), keyed);
    // Now it has not.
    let behind = Behind::new();
    let keyed = behind.head();
    behind.rewrite();
    behind.then(&behind.push_and_prune());
    behind.failed_without(&keyed);
    behind.front.serve_again();
    assert_eq!(behind.baked_commit(), behind.head());
}

/// behaviours 1.3, 2.10: some of the files too.
#[test]
fn files_of_a_rewritten_branch_are_those_of_the_keyed_commit_or_an_error() {
    let look = ["up", "--", "cat", "web/a"];
    for is_pruned in [false, true] {
        let behind = Behind::new();
        let url = behind.url();
        let file = format!("from dev-base\nrepo \"{url}\" {{ only a; }}");
        behind.project.write("prebuild.kdl", &file);
        behind.web.commit("a", "keyed");
        behind
            .web
            .git(&["push", "--quiet", "--force", "origin", "main"]);
        // What is found at a commit is remembered, so that a bake asks for the files alone.
        behind.project.run(&["plan"]).expect(0);
        let keyed = behind.head();
        behind.rewrite();
        if is_pruned {
            behind.then(&behind.push_and_prune());
            behind.failed_without(&keyed);
        } else {
            behind.then(&behind.push("--force"));
            assert_eq!(behind.project.run(&look).expect(0).stdout, "keyed");
        }
        behind.front.serve_again();
        assert_eq!(behind.project.run(&look).expect(0).stdout, "rewritten");
    }
}

impl Behind {
    /// Has a script run after the refs have been read, and before the commit is fetched.
    fn then(&self, script: &str) {
        // Two requests read the refs.
        self.front.meet(GIT, 2, Manner::Whole);
        self.front.meet(GIT, 1, Manner::After(script.to_owned()));
    }

    /// Another last commit.
    fn rewrite(&self) {
        self.web.git(&["reset", "--quiet", "--hard", "HEAD^"]);
        self.web.commit("a", "rewritten");
    }

    fn push(&self, how: &str) -> String {
        let from = self.web.0.display();
        format!("git -C '{from}' push --quiet {how} origin main")
    }

    /// The server has nothing of before any more.
    fn push_and_prune(&self) -> String {
        let bare = self.server.bare("web");
        let bare = bare.display();
        let push = self.push("--force");
        format!(
            "{push}; git -C '{bare}' reflog expire --expire=now --all; git -C '{bare}' gc --quiet --prune=now"
        )
    }

    /// It fails because that commit is no more.
    fn failed_without(&self, commit: &str) {
        let ran = self.failed();
        let cause = format!("commit {commit} is gone (force-pushed?)");
        for text in [cause.as_str(), "run again to take the ref's new commit"] {
            assert!(ran.stderr.contains(text), "{}", ran.stderr);
        }
    }
}
