//! Several builds at once on one store.

use crate::project::{Project, pairs};

/// behaviours 1.23, 2.15
#[test]
fn two_builds_bake_once_and_the_second_one_sees_the_first_one_s_output() {
    let project =
        Project::new("from dev-base\nrun \"echo begun; sleep 1; echo done; echo x >> f\"");
    let mut one = project.start(&["build", "--json"]);
    one.until("default | begun");
    let mut two = project.start(&["build", "--json"]);
    two.until("default | begun");
    let (one, two) = (one.wait().expect(0), two.wait().expect(0));
    assert_eq!(one.column("result"), pairs(&[("default", "baked")]));
    assert_eq!(two.column("result"), pairs(&[("default", "reused")]));
    assert!(
        two.stderr
            .contains("default | done\ndefault | ==> reused\n"),
        "{}",
        two.stderr
    );
    assert_eq!(
        project.run(&["up", "--", "cat", "f"]).expect(0).stdout,
        "x\n"
    );
    project.assert_nothing_left();
}

#[test]
fn a_killed_leader_is_taken_over_from() {
    let project = Project::new("from dev-base\nrun \"echo begun; sleep 1; echo x >> f\"");
    let mut one = project.start(&["build"]);
    one.until("default | begun");
    let mut two = project.start(&["build", "--json"]);
    two.until("default | begun");
    one.signal(rustix::process::Signal::KILL);
    one.wait().expect(-9);
    let two = two.wait().expect(0);
    assert_eq!(two.column("result"), pairs(&[("default", "baked")]));
    assert_eq!(
        project.run(&["up", "--", "cat", "f"]).expect(0).stdout,
        "x\n"
    );
    // What the killed one left is swept by the next bake.
    project.run(&["build", "--force", "default"]).expect(0);
    project.assert_nothing_left();
}

#[test]
fn the_second_one_fails_as_well_if_the_first_one_does() {
    let project = Project::new("from dev-base\nrun \"echo begun; sleep 0.5; exit 3\"");
    let mut one = project.start(&["build"]);
    one.until("default | begun");
    let two = project.start(&["build"]);
    one.wait().expect(1);
    two.wait().expect(1);
    assert_eq!(project.snapshots(), [] as [serde_json::Value; 0]);
}

#[test]
fn many_builds_of_many_targets_bake_each_once() {
    let target = |name: char| {
        format!("prebuild {name} {{ from dev-base; run \"sleep 0.1; echo {name} > f\"; }}")
    };
    let file: Vec<String> = ('a'..='f').map(target).collect();
    let project = Project::new(&file.join("\n"));
    let running: Vec<_> = (0..4)
        .map(|_| project.start(&["build", "--json", "-j", "3"]))
        .collect();
    let results: Vec<_> = running
        .into_iter()
        .flat_map(|running| running.wait().expect(0).column("result"))
        .collect();
    let baked = results
        .iter()
        .filter(|(_, result)| result == "baked")
        .count();
    assert_eq!((baked, results.len()), (6, 24));
    assert_eq!(project.snapshots().len(), 6);
    project.assert_nothing_left();
}
