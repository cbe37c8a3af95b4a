//! The chain of three: what a change bakes again, and that `plan` said so.

use crate::example::{example, file};
use crate::project::{Project, pairs};

/// A build does exactly what the plan before it says.
#[track_caller]
fn bakes(project: &Project, expected: &[(&str, &str)]) {
    let file = file("chain");
    let word = |result: &str| if result == "baked" { "bake" } else { "reuse" };
    let planned: Vec<(&str, &str)> = expected
        .iter()
        .map(|&(name, result)| (name, word(result)))
        .collect();
    assert_eq!(project.plan(&[&file]), pairs(&planned));
    assert_eq!(project.build(&[&file]), pairs(expected));
}

#[test]
fn the_chain_bakes_three_then_one_then_two() {
    let project = example("chain");
    bakes(
        &project,
        &[("tools", "baked"), ("deps", "baked"), ("app", "baked")],
    );
    bakes(
        &project,
        &[("tools", "reused"), ("deps", "reused"), ("app", "reused")],
    );
    let path = project.root.join(file("chain"));
    let text = std::fs::read_to_string(&path).unwrap();
    let last = "node dist/site.cjs pages dist";
    assert!(text.contains(last));
    std::fs::write(&path, text.replace(last, &format!("{last} && ls dist"))).unwrap();
    bakes(
        &project,
        &[("tools", "reused"), ("deps", "reused"), ("app", "baked")],
    );
    project.commit("list what was made");
    bakes(
        &project,
        &[("tools", "reused"), ("deps", "baked"), ("app", "baked")],
    );
    let ran = project
        .run(&[
            "up",
            &file("chain"),
            "app",
            "--",
            "ls",
            "src/examples/chain/dist",
        ])
        .expect(0);
    assert!(ran.stdout.contains("index.html"), "{}", ran.stdout);
    let clean = "cd src; git status --porcelain; git fsck 2>&1; git rev-parse HEAD";
    let ran = project
        .run(&["up", &file("chain"), "app", "--", "sh", "-c", clean])
        .expect(0);
    assert_eq!(ran.stdout, project.git(&["rev-parse", "HEAD"]) + "\n");
}
