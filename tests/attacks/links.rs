//! What a parent left where something is to go: links, files, folders. What is baked lies where the file says, or
//! nothing is baked.

use crate::project::{Project, Ran};

/// A parent that runs `step`, and a child with `statement`.
fn project(step: &str, statement: &str) -> Project {
    let file = format!(
        "prebuild base {{ from dev-base; run #\"{step}\"#; }}\nprebuild child {{ from prebuild=base; {statement}; }}"
    );
    let project = Project::empty();
    project.write("prebuild.kdl", &file);
    project.write("a.txt", "good\n");
    project.commit("first");
    project
}

/// The child is refused, and the parent stays as it is.
#[track_caller]
fn refused(step: &str, statement: &str, said: &str) -> Ran {
    let project = project(step, statement);
    let ran = project.run(&["build"]).expect(6);
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    let baked = project.snapshots();
    assert_eq!(baked.len(), 1, "{baked:?}");
    assert_eq!(baked[0]["node"], "base", "{baked:?}");
    project.assert_nothing_left();
    project
        .run(&[
            "up",
            "base",
            "--",
            "sh",
            "-c",
            "ls -A; cat a.txt 2>/dev/null || :",
        ])
        .expect(0)
}

const REPO: &str = "repo \".\" path=src";

#[test]
fn no_repository_takes_the_place_of_a_file() {
    let step = "echo IMPORTANT > src; echo mine > a.txt";
    let left = refused(step, REPO, "cannot check out src");
    assert_eq!(left.stdout, "a.txt\nsrc\nmine\n");
}

#[test]
fn no_repository_is_checked_out_beside_a_dangling_link() {
    let left = refused("ln -s /tmp/elsewhere src", REPO, "cannot check out src");
    assert_eq!(left.stdout, "src\n");
}

#[test]
fn no_repository_is_checked_out_through_a_link() {
    for step in [
        "ln -s /tmp src",
        "ln -s /dev/shm src",
        "ln -s . src",
        "mkdir other; ln -s other src",
    ] {
        refused(step, REPO, "src leads through a symbolic link");
    }
    let repo = "repo \".\" path=\"out/src\"";
    refused(
        "ln -s /tmp out",
        repo,
        "out/src leads through a symbolic link",
    );
}

#[test]
fn a_repository_replaces_links_among_its_own_paths() {
    let project = project("mkdir src other; ln -s ../other src/sub", REPO);
    project.write("sub/file", "good\n");
    project.commit("second");
    project.run(&["build"]).expect(0);
    let script = "cat src/sub/file; ls -A other; [ ! -L src/sub ]; git -C src status --porcelain";
    let ran = project.run(&["up", "child", "--", "sh", "-ec", script]);
    assert_eq!(ran.expect(0).stdout, "good\n");
}

#[test]
fn no_file_is_written_through_a_link() {
    for target in ["/tmp", "/dev/shm", "other", "nowhere"] {
        let step = format!("mkdir other; ln -s {target} out");
        refused(&step, "file \"out/x\" \"hello\"", "`out` is not a folder");
    }
    let step = "mkdir -p deep other; ln -s ../other deep/out";
    refused(
        step,
        "file \"deep/out/x\" \"hello\"",
        "`out` is not a folder",
    );
}

#[test]
fn no_file_is_written_below_a_file_or_over_a_folder() {
    refused(
        "echo > out",
        "file \"out/x\" \"hello\"",
        "cannot write out/x",
    );
    refused("mkdir x", "file x \"hello\"", "cannot write x");
}

#[test]
fn a_file_replaces_the_file_or_the_link_at_its_path() {
    for step in ["ln -s /etc/passwd x", "ln -s missing x", "echo old > x"] {
        let project = project(step, "file x \"hello\"; file \"new/y\" \"there\"");
        project.run(&["build"]).expect(0);
        let script = "[ ! -L x ]; cat x new/y; [ ! -e missing ]; stat -c %U:%a x new";
        let ran = project.run(&["up", "child", "--", "sh", "-ec", script]);
        assert_eq!(ran.expect(0).stdout, "hellotheredev:644\ndev:755\n");
    }
}

/// behaviours 1.20: it would hide all that was there, and take what was written.
#[test]
fn no_cache_is_mounted_through_a_link() {
    let cache = "cache c path=\"out\"; run \"echo made > made\"";
    for target in [".", "/etc", "/usr", "/dev", "/tmp", "other", "nowhere"] {
        let step = format!("mkdir other; ln -s {target} out");
        refused(
            &step,
            cache,
            "make the folder of cache out: `out` is not a folder",
        );
    }
    refused("echo > out", cache, "`out` is not a folder");
    let below = "cache c path=\"deep/out/x\"";
    refused(
        "mkdir deep; ln -s .. deep/out",
        below,
        "`out` is not a folder",
    );
    let project = project(
        "mkdir -p a/b",
        "cache c path=\"a/b/c/d\"; run \"echo made > a/b/made\"",
    );
    project.run(&["build"]).expect(0);
}
