//! The web project and the Go module: baked once, their tests run in sandboxes.

use crate::example::{example, file};
use crate::project::{Project, pairs};

/// Bakes, runs the project's own tests, and bakes nothing the second time.
fn works(name: &str, test: &[&str]) -> Project {
    let project = example(name);
    let file = file(name);
    assert_eq!(project.build(&[&file]), pairs(&[("default", "baked")]));
    let ran = project
        .run(&[&["up", &file, "--"], test].concat())
        .expect(0);
    assert!(!ran.stderr.contains("==>"), "{}", ran.stderr);
    assert_eq!(project.build(&[&file]), pairs(&[("default", "reused")]));
    assert_eq!(project.plan(&[&file]), pairs(&[("default", "reuse")]));
    project
}

/// At the keyed commit, and whole: `git` says so as `dev`.
#[track_caller]
fn is_a_clean_clone(project: &Project, name: &str) {
    let script = "cd src; id -un; git rev-parse HEAD; git status --porcelain; git fsck 2>&1; git log --oneline | wc -l; git describe --tags 2>/dev/null || echo none";
    let ran = project
        .run(&["up", &file(name), "--", "sh", "-c", script])
        .expect(0);
    let head = project.git(&["rev-parse", "HEAD"]);
    assert_eq!(ran.stdout, format!("dev\n{head}\n1\nnone\n"));
}

#[test]
fn the_web_project_is_baked_and_tested() {
    let project = works("node", &["npm", "test", "--prefix", "src/examples/node"]);
    is_a_clean_clone(&project, "node");
}

#[test]
fn the_go_module_is_baked_and_tested() {
    let project = works("go", &["sh", "-c", "cd src/examples/go && go test ./..."]);
    is_a_clean_clone(&project, "go");
    // The caches came along: nothing is left to be downloaded, and nothing to be compiled.
    let offline =
        "cd src/examples/go && GOPROXY=off GOFLAGS=-mod=mod go test ./... | grep -c '(cached)'";
    let ran = project
        .run(&["up", &file("go"), "--", "sh", "-c", offline])
        .expect(0);
    assert_ne!(ran.stdout.trim(), "0");
}
