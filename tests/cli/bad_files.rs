//! Files and inputs that cannot be used: a clear error, nothing published, and the next run works.

use std::io::Read;
use std::net::TcpListener;

use crate::project::Project;

const GOOD: &str = "from dev-base\nrun \"echo fine\"";

/// Fails with this code and exactly this on stderr; with a good file, the same project bakes.
#[track_caller]
fn refused(file: &str, code: i32, stderr: &str) {
    let project = Project::new(file);
    let ran = project.run(&["build"]).expect(code);
    assert_eq!(ran.stderr.trim(), stderr.trim());
    assert_eq!(ran.stdout, "");
    bakes_after(&project);
}

#[track_caller]
fn bakes_after(project: &Project) {
    assert_eq!(project.snapshots(), [] as [serde_json::Value; 0]);
    project.assert_nothing_left();
    project.write("prebuild.kdl", GOOD);
    project.run(&["build"]).expect(0);
    project.assert_nothing_left();
}

#[test]
fn an_unknown_statement() {
    let shown = r#"
A0201

  × no statement `frm`
   ╭─[prebuild.kdl:2:1]
 1 │ from dev-base
 2 │ frm x
   · ─┬─
   ·  ╰── unknown
 3 │ run "echo hi"
   ╰────
  help: did you mean `from`?"#;
    refused("from dev-base\nfrm x\nrun \"echo hi\"", 3, shown);
}

#[test]
fn a_cycle() {
    let shown = "
A0403

  × a → b → a
   ╭─[prebuild.kdl:1:28]
 1 │ prebuild a { from prebuild=b; }
   ·                            ┬
   ·                            ╰── `a` starts from `b`
 2 │ prebuild b { from prebuild=a; }
   ·                            ┬
   ·                            ╰── `b` starts from `a`
   ╰────
  help: break it at one of these places";
    refused(
        "prebuild a { from prebuild=b; }\nprebuild b { from prebuild=a; }",
        3,
        shown,
    );
}

#[test]
fn all_errors_of_a_file_are_told_at_once() {
    let project =
        Project::new("prebuild a { from dev-base; frm x; run; }\nprebuild a { from prebuild=c; }");
    let ran = project.run(&["build"]).expect(3);
    for code in ["A0201", "A0203", "A0302", "A0301"] {
        assert!(ran.stderr.contains(code), "{code}: {}", ran.stderr);
    }
}

#[test]
fn an_image_layout_that_is_not_there() {
    let shown = r#"
A0501

  × cannot resolve oci:./nowhere
   ╭─[prebuild.kdl:1:6]
 1 │ from "oci:./nowhere"
   ·      ───────┬───────
   ·             ╰── [project]/./nowhere: No such file or directory (os error 2)
   ╰────
  help: check the path, which is relative to the file that names it"#;
    refused("from \"oci:./nowhere\"", 5, shown);
}

#[test]
fn an_image_of_a_registry_that_does_not_answer() {
    let shown = r#"
A0501

  × cannot resolve localhost:1/acme/dev:3
   ╭─[prebuild.kdl:1:6]
 1 │ from "localhost:1/acme/dev:3"
   ·      ────────────┬───────────
   ·                  ╰── localhost:1 cannot be reached: Connection refused (os error 111)
   ╰────
  help: check the network, the proxy variables and the registry's name"#;
    refused("from \"localhost:1/acme/dev:3\"", 5, shown);
}

#[test]
fn a_branch_that_does_not_exist() {
    let shown = r#"
A0501

  × cannot resolve . (branch nope)
   ╭─[prebuild.kdl:2:6]
 1 │ from dev-base
 2 │ repo "." branch=nope path=src
   ·      ─┬─
   ·       ╰── there is no refs/heads/nope
   ╰────
  help: check its spelling, or push it"#;
    refused("from dev-base\nrepo \".\" branch=nope path=src", 5, shown);
}

#[test]
fn a_local_file_that_does_not_exist() {
    let shown = "
A0501

  × cannot resolve nothing
   ╭─[prebuild.kdl:2:1]
 1 │ from dev-base
 2 │ file a from=nothing
   · ─────────┬─────────
   ·          ╰── nothing does not exist
   ╰────
  help: a path in `from=` is relative to the file that names it";
    refused("from dev-base\nfile a from=nothing", 5, shown);
}

/// behaviours 1.3: an input that cannot be resolved is an error, never a weaker key.
#[test]
fn a_repository_that_does_not_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        // Takes what it is asked and says nothing.
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || stream.read_to_end(&mut Vec::new()));
        }
    });
    let project = Project::new(&format!(
        "from dev-base\nrepo \"http://127.0.0.1:{port}/a/b\""
    ));
    let ran = project.run(&["build"]).expect(5);
    assert!(
        ran.stderr
            .contains(&format!("cannot resolve http://127.0.0.1:{port}/a/b")),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("no answer within"), "{}", ran.stderr);
    bakes_after(&project);
}

#[test]
fn a_repository_that_cannot_be_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let project = Project::new(&format!(
        "from dev-base\nrepo \"http://127.0.0.1:{port}/a/b\""
    ));
    let ran = project.run(&["build"]).expect(5);
    assert!(
        ran.stderr.contains("the server cannot be reached"),
        "{}",
        ran.stderr
    );
    bakes_after(&project);
}

#[test]
fn all_inputs_that_cannot_be_resolved_are_told_at_once() {
    let project = Project::new(
        "prebuild a { from \"oci:./x\"; }\nprebuild b { from dev-base; file f from=y; repo \".\" branch=z path=src; }",
    );
    let ran = project.run(&["plan"]).expect(5);
    for input in ["oci:./x", "cannot resolve y", "branch z"] {
        assert!(ran.stderr.contains(input), "{input}: {}", ran.stderr);
    }
}

#[test]
fn words_that_are_not_understood() {
    let project = Project::new(GOOD);
    let shown = [
        (
            vec!["build", "nope"],
            "error[A0801]: [project]/prebuild.kdl has no target `nope`\n  help: its targets: default\n",
        ),
        (
            vec!["build", "other.kdl"],
            "error[A0801]: cannot read [project]/other.kdl: No such file or directory (os error 2)\n  help: name a file, or run this where a prebuild.kdl is\n",
        ),
        (
            vec!["plan", "x.kdl", "./y"],
            "error[A0801]: `./y` is a second file\n  help: give one file; targets contain no `/`\n",
        ),
        (
            vec!["build", "--force", "nope"],
            "error[A0801]: there is no target `nope` to force\n  help: name a prebuild of the file\n",
        ),
        (
            vec!["build", "--secret", "TOKEN"],
            "error[A0801]: `--secret TOKEN=…` does not say where the value is\n  help: write --secret NAME=env:VARIABLE or NAME=file:PATH\n",
        ),
        (
            vec!["build", "--env", "TOKEN"],
            "error[A0801]: `--env TOKEN` is not understood\n  help: write --env NAME=VALUE\n",
        ),
    ];
    for (words, expected) in shown {
        let ran = project.run(&words).expect(2);
        assert_eq!(
            (ran.stdout.as_str(), ran.stderr.as_str()),
            ("", expected),
            "{words:?}"
        );
    }
    for words in [
        vec!["build", "--nope"],
        vec!["bake"],
        vec!["build", "-j", "0"],
        vec!["log"],
    ] {
        let ran = project.run(&words).expect(2);
        assert!(ran.stderr.contains("--help"), "{words:?}: {}", ran.stderr);
    }
    bakes_after(&project);
}

#[test]
fn no_file_up_to_the_git_root() {
    let project = Project::empty();
    std::fs::create_dir(project.root.join("inner")).unwrap();
    std::fs::write(project.root.parent().unwrap().join("prebuild.kdl"), GOOD).unwrap();
    let mut command = project.atelier(&["build"]);
    command.current_dir(project.root.join("inner"));
    let ran = project.run_command(command).expect(2);
    let expected = "error[A0801]: there is no prebuild.kdl in [project]/inner or above it, up to the git root\n  help: write one, or name a file: atelier build path/to/prebuild.kdl\n";
    assert_eq!(ran.stderr, expected);
    project.write("prebuild.kdl", GOOD);
    let mut command = project.atelier(&["plan"]);
    command.current_dir(project.root.join("inner"));
    project.run_command(command).expect(0);
}
