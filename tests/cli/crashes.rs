//! kill -9 at ten moments of a bake: no snapshot that satisfies a key, nothing left, and the next build succeeds.

use rustix::process::Signal;

use crate::project::{Project, pairs};

/// Two nodes, a repository, files and steps, with something to say at each moment.
const FILE: &str = r##"
prebuild a {
    from dev-base
    repo "." path=src
    file one from=large
    run #"echo moment-1; head -c 30M /dev/urandom > big"#
    run #"echo moment-2; sleep 0.3; echo moment-3; echo a > a"#
    run #"echo moment-4; setsid sh -c 'while :; do date >> clock; done' & sleep 0.2; echo moment-5"#
}
prebuild b {
    from prebuild=a
    run #"echo moment-6; rm big; cat a > b; echo moment-7"#
}
"##;

/// What to wait for before the kill, and how long after it. The times reach into the phases that say nothing: making the
/// sandbox, flushing, publishing.
const MOMENTS: [(&str, u64); 10] = [
    ("check out src", 0),
    ("check out src", 40),
    ("write one", 0),
    ("moment-1", 20),
    ("moment-2", 0),
    ("moment-3", 0),
    ("moment-5", 5),
    ("moment-5", 60),
    ("a | ==> baked", 20),
    ("moment-7", 15),
];

/// behaviours 1.1, 1.11, 1.12
#[test]
fn a_killed_build_leaves_nothing_that_satisfies_a_key() {
    let project = Project::empty();
    project.write("large", &"x".repeat(3 << 20));
    project.write("prebuild.kdl", FILE);
    project.commit("first");
    for (number, (moment, later)) in MOMENTS.into_iter().enumerate() {
        // Other keys than the time before.
        project.edit("echo a > a", &format!("echo a{number} > a"));
        let mut running = project.start(&["build"]);
        running.until(moment);
        std::thread::sleep(std::time::Duration::from_millis(later));
        running.signal(Signal::KILL);
        let ended = running.wait().code();
        assert!(ended == -9 || ended == 0, "{moment}: {ended}");
        crate::processes::wait_until("everything to end", || project.processes().is_empty());
        // What is said to be there is whole; what is not is baked.
        let expected: Vec<_> = project
            .plan(&[])
            .into_iter()
            .map(|(name, action)| {
                (
                    name,
                    if action == "bake" { "baked" } else { "reused" }.to_owned(),
                )
            })
            .collect();
        assert_eq!(project.build(&[]), expected, "{moment}");
        assert_eq!(
            project.build(&[]),
            pairs(&[("a", "reused"), ("b", "reused")])
        );
        project.assert_nothing_left();
        let ran = project.run(&[
            "up",
            "b",
            "--",
            "sh",
            "-c",
            "cat b; wc -c < one; git -C src status --porcelain; git -C src fsck; test ! -e big",
        ]);
        assert_eq!(
            ran.expect(0).stdout,
            format!("a{number}\n{}\n", 3 << 20),
            "{moment}"
        );
        project.edit(&format!("echo a{number} > a"), "echo a > a");
    }
}
