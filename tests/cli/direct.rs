//! Machines that allow no sandbox, and are thrown away: `--sandbox direct`.

use std::process::Command;

use crate::homes;
use crate::project::{Project, pairs};

const FILE: &str = r##"
prebuild a {
    from dev-base
    repo "." path=src
    file note "hello"
    run #"echo step-ran; id -u > who; cat note src/prebuild.kdl >/dev/null; pwd > where; echo $ATELIER_DIRECT > mark"#
    run #"test -z "$ATELIER_DIRECT" || test -d "/tmp/atelier-direct-$ATELIER_DIRECT/git/0""#
}
prebuild b {
    from prebuild=a
    run #"cat who where > both; rm note"#
}
"##;

/// As root of a container that has not been given what namespaces and mounts need, with a /home of its own.
fn without_namespaces(project: &Project, words: &[&str]) -> Command {
    let atelier = project.atelier(words);
    let script = "exec setpriv --bounding-set -sys_admin --inh-caps -sys_admin \"$0\" \"$@\"";
    let mut command = homes::elsewhere(atelier.get_program().as_ref(), script);
    command.args(atelier.get_args()).current_dir(&project.root);
    let variables = atelier.get_envs();
    let variables = variables.filter_map(|(name, value)| Some((name, value?)));
    command.env_clear().envs(variables);
    command
}

#[test]
fn a_machine_without_namespaces_bakes_and_boots_directly() {
    let project = Project::new(FILE);
    let ran = project
        .run_command(without_namespaces(&project, &["build"]))
        .expect(6);
    assert!(
        ran.stderr.contains("cannot create a mount namespace"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("use --sandbox direct"),
        "{}",
        ran.stderr
    );
    let direct = |words: &[&str]| {
        let words = [words, &["--sandbox", "direct"]].concat();
        project.run_command(without_namespaces(&project, &words))
    };
    let ran = direct(&["build", "--json", "-j", "4"]).expect(0);
    assert_eq!(
        ran.column("result"),
        pairs(&[("a", "baked"), ("b", "baked")])
    );
    assert!(ran.stderr.contains("step-ran"), "{}", ran.stderr);
    assert!(ran.stderr.contains("nothing is isolated"), "{}", ran.stderr);
    assert!(ran.stderr.contains("-j is 1"), "{}", ran.stderr);
    let up = "cat both; test ! -e note && git -C src status --porcelain && git -C src fsck";
    let ran = project.run_command(without_namespaces(
        &project,
        &["up", "b", "--sandbox", "direct", "--", "sh", "-c", up],
    ));
    assert_eq!(ran.expect(0).stdout, "1000\n/home/dev\n");
    let ran = direct(&["doctor"]).expect(0);
    assert!(
        ran.stdout.contains("steps see all of the machine"),
        "{}",
        ran.stdout
    );
    let ran = project.run_command(without_namespaces(
        &project,
        &["up", "a", "--sandbox", "direct", "--", "cat", "mark"],
    ));
    let mark = ran.expect(0).stdout;
    assert!(mark.len() > 8, "{mark:?}");
    let handed = format!("/tmp/atelier-direct-{}", mark.trim());
    assert!(!std::path::Path::new(&handed).exists(), "{handed}");
    // For sandboxes it is a miss that says why, unless it is accepted.
    let plan = project.run(&["plan", "--json"]).expect(0);
    assert_eq!(
        plan.column("action"),
        pairs(&[("a", "bake"), ("b", "bake")])
    );
    let reason = plan.json()["nodes"][0]["reason"].to_string();
    assert!(
        reason.contains("it was baked with --sandbox direct"),
        "{reason}"
    );
    let plan = project.plan(&["--accept-direct"]);
    assert_eq!(plan, pairs(&[("a", "reuse"), ("b", "reuse")]));
    let ran = project
        .run(&["up", "b", "--accept-direct", "--", "cat", "both"])
        .expect(0);
    assert_eq!(ran.stdout, "1000\n/home/dev\n");
    // The other way round it always holds.
    assert_eq!(project.build(&[]), pairs(&[("a", "baked"), ("b", "baked")]));
    assert_eq!(
        direct(&["build", "--json"]).expect(0).column("result"),
        pairs(&[("a", "reused"), ("b", "reused")])
    );
    project.assert_nothing_left();
}

#[test]
fn what_is_written_outside_cannot_be_promised() {
    let project = Project::new(FILE);
    for words in [&["build"][..], &["up", "a"]] {
        let words = [words, &["--sandbox", "direct", "--strict-outside"]].concat();
        let ran = project.run(&words).expect(2);
        assert!(
            ran.stderr.contains("`--strict-outside` needs a sandbox"),
            "{}",
            ran.stderr
        );
    }
    assert!(!project.store.exists());
}
