//! Secret values: in the steps that name them, and nowhere else.

use std::fs;
use std::io;
use std::path::Path;

use crate::project::Project;

const FIRST: &str = "hunter2-canary-and-more";
/// The other one begins like it.
const SECOND: &str = "hunter2-canary";

/// A step that uses its secrets, and prints them in several ways.
const FILE: &str = r##"from dev-base
secret TOKEN OTHER
run #"echo "token $TOKEN, other $OTHER"; printf "$OTHER"; printf '\n%s' "$TOKEN" >&2; env | grep -c canary"#
run #"cat /proc/self/environ | tr '\0' ' ' | grep -o 'TOKEN=[a-z0-9]*' | wc -l > count"#
"##;

fn bake(project: &Project, words: &[&str]) -> crate::project::Ran {
    let secret = project.root.parent().unwrap().join("secret");
    fs::write(&secret, format!("{SECOND}\n")).unwrap();
    let from_file = format!("OTHER=file:{}", secret.display());
    let words = [
        &[
            "build",
            "--secret",
            "TOKEN=env:CANARY",
            "--secret",
            &from_file,
        ],
        words,
    ]
    .concat();
    let mut command = project.atelier(&words);
    command.env("CANARY", FIRST);
    project.run_command(command)
}

fn holds(file: &Path, text: &str) -> bool {
    match fs::read(file) {
        Ok(bytes) => bytes
            .windows(text.len())
            .any(|window| window == text.as_bytes()),
        Err(error) if is_gone(&error) => false,
        Err(error) => panic!("{}: {error}", file.display()),
    }
}

/// A process of its own empties a store's trash, also while a test reads it.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

/// Each file below a folder whose name or bytes have the text.
pub(crate) fn found_in(folder: &Path, text: &str) -> Vec<String> {
    let entries = walkdir::WalkDir::new(folder).into_iter();
    entries
        .filter(|entry| !matches!(entry, Err(error) if error.io_error().is_some_and(is_gone)))
        .map(|entry| entry.unwrap())
        .filter(|entry| {
            let named = entry.path().to_string_lossy().contains(text);
            named || (entry.file_type().is_file() && holds(entry.path(), text))
        })
        .map(|entry| entry.path().display().to_string())
        .collect()
}

/// behaviours 1.9
#[test]
fn values_are_masked_and_in_no_part_of_the_store() {
    let project = Project::new(FILE);
    let ran = bake(&project, &[]).expect(0);
    assert!(
        ran.stderr.contains("default | token ***, other ***"),
        "{}",
        ran.stderr
    );
    let log = project.run(&["log", "default"]).expect(0).stdout;
    assert!(log.contains("token ***, other ***"), "{log}");
    for text in ["canary", "and-more"] {
        assert!(
            !ran.stderr.replace("grep -c canary", "").contains(text),
            "{}",
            ran.stderr
        );
        assert!(!log.replace("grep -c canary", "").contains(text), "{log}");
    }
    assert_eq!(found_in(&project.store, "hunter2"), Vec::<String>::new());
    assert_eq!(
        project.run(&["up", "--", "cat", "count"]).expect(0).stdout,
        "1\n"
    );
}

#[test]
fn values_are_in_no_command_line_while_a_step_runs() {
    let project = Project::new(
        "from dev-base\nsecret TOKEN\nrun \"echo begun; sleep 1; test $TOKEN = hunter2-canary-and-more\"",
    );
    project.edit(
        "hunter2-canary",
        "hunter\"\"2-canary".replace('"', "'").as_str(),
    );
    let mut command = project.atelier(&["build", "--secret", "TOKEN=env:CANARY"]);
    command.env("CANARY", FIRST);
    let mut running = project.start_command(command);
    running.until("default | begun");
    assert!(!crate::processes::is_running(FIRST));
    running.wait().expect(0);
}

#[test]
fn a_value_that_is_not_given_is_asked_for_before_anything_is_baked() {
    let project = Project::new(FILE);
    for words in [&["build"][..], &["up", "--", "true"]] {
        let ran = project.run(words).expect(2);
        let expected = "error[A0801]: default needs the secret TOKEN to bake\n  help: give it with --secret TOKEN=env:TOKEN or --secret TOKEN=file:PATH\n";
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", expected));
    }
    assert_eq!(project.snapshots(), [] as [serde_json::Value; 0]);
    bake(&project, &[]).expect(0);
    // What is there needs no value any more.
    project.run(&["build"]).expect(0);
    project.run(&["up", "--", "true"]).expect(0);
}

#[test]
fn a_source_that_cannot_be_read_is_an_error_of_the_command_line() {
    let project = Project::new(FILE);
    let shown = [
        (
            "TOKEN=env:NOT_SET",
            "error[A0801]: secret TOKEN: the variable NOT_SET is not set\n",
        ),
        (
            "TOKEN=file:none",
            "error[A0801]: secret TOKEN: cannot read none: No such file or directory (os error 2)\n",
        ),
        (
            "TOKEN=value",
            "error[A0801]: `--secret TOKEN=…` does not say where the value is\n",
        ),
    ];
    for (word, expected) in shown {
        let ran = project.run(&["build", "--secret", word]).expect(2);
        assert!(ran.stderr.starts_with(expected), "{}", ran.stderr);
    }
}

/// behaviours 2.9
#[test]
fn a_value_is_not_in_the_key_and_not_in_the_sandbox() {
    let project = Project::new(FILE);
    bake(&project, &[]).expect(0);
    let mut command = project.atelier(&[
        "build",
        "--json",
        "--secret",
        "TOKEN=env:CANARY",
        "--secret",
        "OTHER=env:CANARY",
    ]);
    command.env("CANARY", "rotated");
    let ran = project.run_command(command).expect(0);
    assert_eq!(ran.column("result")[0].1, "reused");
    let ran = project
        .run(&["up", "--", "sh", "-c", "echo ${TOKEN-unset}"])
        .expect(0);
    assert_eq!(ran.stdout, "unset\n");
    let mut command = project.atelier(&[
        "up",
        "--secret",
        "TOKEN=env:CANARY",
        "--",
        "sh",
        "-c",
        "echo $TOKEN",
    ]);
    command.env("CANARY", "given again");
    assert_eq!(
        project.run_command(command).expect(0).stdout,
        "given again\n"
    );
}

#[test]
fn only_the_target_that_names_a_secret_sees_it() {
    let file = "prebuild a { from dev-base; secret TOKEN; run \"test -n \\\"$TOKEN\\\"\"; }\nprebuild b { from prebuild=a; run \"test -z ${TOKEN-}\"; }";
    let project = Project::new(file);
    let mut command = project.atelier(&["build", "--secret", "TOKEN=env:CANARY"]);
    command.env("CANARY", FIRST);
    project.run_command(command).expect(0);
}
