//! Machines that allow no sandbox, and are thrown away: `--sandbox direct`.

use std::process::Command;

use crate::homes;
use crate::project::{Project, Ran, pairs};

const FILE: &str = r##"
prebuild a {
    from dev-base
    repo "." path=src
    file note "hello"
    run #"echo step-ran; id -u > who; cat note src/prebuild.kdl >/dev/null; pwd > where; echo ${ATELIER_DIRECT-} > mark"#
    run #"test -z "${ATELIER_DIRECT-}" || test -d "/tmp/atelier-direct-$ATELIER_DIRECT/git/0""#
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

fn direct(project: &Project, words: &[&str]) -> Ran {
    let words = [&words[..1], &["--sandbox", "direct"], &words[1..]].concat();
    project.run_command(without_namespaces(project, &words))
}

#[test]
fn a_machine_without_namespaces_bakes_and_boots_directly() {
    let project = Project::new(FILE);
    let ran = project.run_command(without_namespaces(&project, &["build"]));
    let stderr = ran.expect(6).stderr;
    assert!(
        stderr.contains("cannot create a mount namespace"),
        "{stderr}"
    );
    assert!(stderr.contains("use --sandbox direct"), "{stderr}");
    let ran = direct(&project, &["build", "--json", "-j", "4"]).expect(0);
    assert_eq!(
        ran.column("result"),
        pairs(&[("a", "baked"), ("b", "baked")])
    );
    for said in ["step-ran", "nothing is isolated", "-j is 1"] {
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    let up = "cat both; test ! -e note && git -C src status --porcelain && git -C src fsck";
    let ran = direct(&project, &["up", "b", "--", "sh", "-c", up]);
    assert_eq!(ran.expect(0).stdout, "1000\n/home/dev\n");
    let mark = direct(&project, &["up", "a", "--", "cat", "mark"])
        .expect(0)
        .stdout;
    assert!(mark.len() > 8, "{mark:?}");
    let handed = format!("/tmp/atelier-direct-{}", mark.trim());
    assert!(!std::path::Path::new(&handed).exists(), "{handed}");
    let said = direct(&project, &["doctor"]).expect(0).stdout;
    assert!(said.contains("steps see all of the machine"), "{said}");
    project.assert_nothing_left();
}

#[test]
fn what_was_baked_directly_is_for_those_who_take_it() {
    let project = Project::new(FILE);
    direct(&project, &["build"]).expect(0);
    let table = project.run(&["plan"]).expect(0).stdout;
    let reason =
        "it was baked with --sandbox direct, which isolates nothing; --accept-direct takes it";
    assert!(table.contains(reason), "{table}");
    let plan = project.plan(&["--accept-direct"]);
    assert_eq!(plan, pairs(&[("a", "reuse"), ("b", "reuse")]));
    let ran = project.run(&["up", "b", "--accept-direct", "--", "cat", "both"]);
    assert_eq!(ran.expect(0).stdout, "1000\n/home/dev\n");
    // The other way round it always holds.
    let baked = pairs(&[("a", "baked"), ("b", "baked")]);
    assert_eq!(project.build(&[]), baked);
    let again = direct(&project, &["build", "--json"]).expect(0);
    assert_eq!(
        again.column("result"),
        pairs(&[("a", "reused"), ("b", "reused")])
    );
}

#[test]
fn what_needs_a_sandbox_is_refused_before_anything_is_done() {
    let project = Project::new(FILE);
    for (words, option) in [
        (&["build", "--strict-outside"][..], "--strict-outside"),
        (&["up", "a", "--strict-outside"], "--strict-outside"),
        (&["up", "a", "-d"], "--detach"),
        (&["up", "a", "--network", "none"], "--network none"),
    ] {
        let ran = project
            .run(&[words, &["--sandbox", "direct"]].concat())
            .expect(2);
        let refused = format!("`{option}` needs a sandbox");
        assert!(ran.stderr.contains(&refused), "{}", ran.stderr);
    }
    assert!(!project.store.exists());
}
