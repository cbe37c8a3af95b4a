//! Locks side by side, and the locks of revisions.

use super::{differs, fails};
use crate::explanations::lettered;
use crate::repositories::served;

#[test]
fn the_lock_is_that_of_the_revision() {
    let served = served("");
    let project = &served.project;
    project.run(&["update"]).expect(0);
    project.commit("locked");
    served.clone.commit("c", "four");
    served.clone.git(&["push", "--quiet", "origin", "HEAD"]);
    project.run(&["update"]).expect(0);
    project.commit("updated");
    let ran = project
        .run(&["diff", "HEAD~1", "HEAD", "--locked"])
        .expect(10);
    let leaf = "      repo / web / commit: C… → D…\n";
    assert!(lettered(&ran.stdout).ends_with(leaf), "{}", ran.stdout);
    differs(
        project,
        &["HEAD~1", "HEAD", "--fresh"],
        0,
        "default  same     snap-A\n",
    );
    // Both sides ask one world, and each server once.
    let asked = || {
        served
            .server
            .requests()
            .iter()
            .filter(|line| line.contains("info/refs"))
            .count()
    };
    let before = asked();
    project
        .run(&["diff", "HEAD~1", "HEAD", "--fresh"])
        .expect(0);
    assert_eq!(asked() - before, 1);
}

#[test]
fn locks_are_compared_by_what_they_would_make() {
    let served = served("");
    let project = &served.project;
    project.run(&["update"]).expect(0);
    let old = project.git(&["hash-object", "prebuild.lock.kdl"]);
    assert!(!old.is_empty());
    std::fs::copy(
        project.root.join("prebuild.lock.kdl"),
        project.root.join("old.kdl"),
    )
    .unwrap();
    served.clone.commit("c", "four");
    served.clone.git(&["push", "--quiet", "origin", "HEAD"]);
    project.run(&["update"]).expect(0);
    let url = served.server.url("web");
    let expected = format!(
        "default  changed  snap-A → snap-B
  prebuild.kdl:2  repo \"{url}\"
      repo / web / commit: C… → D…
"
    );
    differs(project, &["old.kdl", "prebuild.lock.kdl"], 10, &expected);
    differs(project, &["old.kdl", "./prebuild.kdl"], 10, &expected);
    differs(
        project,
        &["old.kdl", "old.kdl"],
        0,
        "default  same     snap-A\n",
    );
}

/// What a lock of a later version pins is not known; a project's own may be left out.
#[test]
fn a_lock_of_a_newer_version_is_refused_where_it_would_pin() {
    let served = served("");
    let project = &served.project;
    project.run(&["update"]).expect(0);
    let old = std::fs::read_to_string(project.root.join("prebuild.lock.kdl")).unwrap();
    project.write("old.lock.kdl", &old);
    project.write("prebuild.lock.kdl", &old.replace("lock 1", "lock 2"));
    project.commit("newer");
    project.write("prebuild.lock.kdl", &old);
    project.commit("older");
    let newer = "lock 2 is newer than what this atelier reads (1)";
    fails(project, &["HEAD~1", "HEAD"], 4, newer);
    fails(
        project,
        &["HEAD~1", "HEAD"],
        4,
        "HEAD~1:prebuild.lock.kdl:2",
    );
    let same = "default  same     snap-A\n";
    differs(project, &["HEAD~1", "HEAD", "--fresh"], 0, same);
    project.write("new.kdl", &old.replace("lock 1", "lock 2"));
    for words in [["new.kdl", "old.lock.kdl"], ["old.lock.kdl", "new.kdl"]] {
        fails(project, &words, 4, newer);
        // One that is named is what is asked about.
        fails(project, &[words[0], words[1], "--fresh"], 4, newer);
    }
}

#[test]
fn what_a_lock_lacks_is_told_with_its_name() {
    let served = served("");
    let project = &served.project;
    project.write("prebuild.lock.kdl", "lock 1\n");
    project.write("empty.lock.kdl", "lock 1\n");
    project.commit("locked");
    let words = ["HEAD", "HEAD", "--locked"];
    fails(project, &words, 4, "not in HEAD:prebuild.lock.kdl");
    let words = ["empty.lock.kdl", "empty.lock.kdl", "--locked"];
    fails(project, &words, 4, "not in empty.lock.kdl");
    fails(project, &["none.lock.kdl", "HEAD"], 4, "none.lock.kdl");
}
