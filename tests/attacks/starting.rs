//! What cannot be started: said in the words, and with the status, of a shell.

use crate::project::Project;

#[test]
fn a_command_that_is_no_program_ends_as_in_a_shell() {
    let project = Project::new("from dev-base");
    for (command, code) in [
        ("/etc/passwd", 126),
        ("/etc", 126),
        ("/nowhere/x", 127),
        ("no-such-program", 127),
    ] {
        let ran = project.run(&["up", "--", command]).expect(code);
        let said = format!("cannot start {command} in /home/dev");
        assert!(ran.stderr.contains(&said), "{}", ran.stderr);
        assert!(!ran.stderr.contains("help:"), "{}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
    project.assert_nothing_left();
}

#[test]
fn a_step_in_a_folder_that_is_missing_fails_as_a_step() {
    let project = Project::new("from dev-base\nrun \"true\" in=missing");
    let ran = project.run(&["build"]).expect(1);
    assert!(ran.stderr.contains("A0704"), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("default | cannot start bash in /home/dev/missing: "),
        "{}",
        ran.stderr
    );
    project.edit("in=missing", "");
    project.run(&["build"]).expect(0);
}

#[test]
fn a_current_folder_that_is_gone_is_named() {
    let project = Project::new("from dev-base");
    for words in [&["build"][..], &["plan"], &["up", "--", "true"]] {
        let folder = project.root.join("gone");
        std::fs::create_dir(&folder).unwrap();
        let script = ["sh", "-c", "rmdir \"$PWD\"; exec \"$@\"", "sh"];
        let mut command = project.atelier(words);
        command.current_dir(&folder);
        let ran = project
            .run_command(crate::wrapped::started_by(&script, &command))
            .expect(6);
        assert!(
            ran.stderr.contains("cannot tell the current folder: "),
            "{}",
            ran.stderr
        );
    }
}
