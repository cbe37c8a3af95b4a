//! What callers hand a sandbox without meaning to.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;

use crate::project::Project;

#[test]
fn a_file_on_standard_input_is_read_and_not_written() {
    let project = Project::new("from dev-base");
    let file = project.root.join("input");
    fs::write(&file, "precious\n").unwrap();
    // Whoever `dev` is to the machine may write to it.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    fs::set_permissions(
        project.root.parent().unwrap(),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    let script =
        "cat; echo lost > /proc/self/fd/0 || true; ls /proc/self/fd/0/ 2>/dev/null || true";
    let with_file = |words: &[&str]| {
        let mut command = project.atelier(&[words, &["--", "sh", "-c", script]].concat());
        command.stdin(File::open(&file).unwrap());
        assert_eq!(project.run_command(command).expect(0).stdout, "precious\n");
        assert_eq!(fs::read_to_string(&file).unwrap(), "precious\n");
    };
    with_file(&["up"]);
    project.run(&["up", "-d", "--name", "kept"]).expect(0);
    with_file(&["exec", "kept"]);
    let with_folder = |words: &[&str]| {
        let mut command = project.atelier(&[words, &["--", "ls", "/proc/self/fd/0/"]].concat());
        command.stdin(File::open(&project.root).unwrap());
        let ran = project.run_command(command).expect(2);
        assert!(
            ran.stderr.contains("standard input is a folder"),
            "{}",
            ran.stderr
        );
    };
    with_folder(&["up"]);
    with_folder(&["exec", "kept"]);
    project.run(&["down", "kept"]).expect(0);
}

/// What errors show of a file that is none of the project's is for nobody.
#[test]
fn no_file_of_a_project_leads_out_of_it() {
    let project = Project::new("from dev-base");
    let outside = project.root.parent().unwrap().join("outside");
    fs::write(&outside, "root:canary-of-a-hash:1\n").unwrap();
    for words in [&["plan"][..], &["plan", "./prebuild.kdl"]] {
        fs::remove_file(project.root.join("prebuild.kdl")).unwrap();
        symlink(&outside, project.root.join("prebuild.kdl")).unwrap();
        let ran = project.run(words).expect(2);
        assert!(
            ran.stderr.contains("a link that leads out of the project"),
            "{}",
            ran.stderr
        );
        assert!(!ran.stderr.contains("canary"), "{}", ran.stderr);
    }
    fs::remove_file(project.root.join("prebuild.kdl")).unwrap();
    project.write("sub/real.kdl", "from dev-base");
    symlink("sub/real.kdl", project.root.join("prebuild.kdl")).unwrap();
    project.run(&["plan"]).expect(0);
}
