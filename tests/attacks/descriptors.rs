//! What the caller has open stays the caller's: a folder among it would lead out of any sandbox.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::processes::wait_until;
use crate::project::Project;
use crate::wrapped::started_by;

/// Opens the machine's root as two more descriptors.
const OPENED: [&str; 4] = ["bash", "-c", "exec \"$@\" 9</ 250</", "bash"];

/// The last one is of the listing itself.
const OWN: &str = "0 1 2 3";

const LIST: &str = "ls /proc/self/fd | xargs";

#[test]
fn a_step_has_no_descriptor_of_the_caller() {
    for user in ["dev", "root"] {
        let project = Project::new(&format!("from dev-base\nrun \"{LIST}\" as={user}"));
        let ran = project.run_command(started_by(&OPENED, &project.atelier(&["build"])));
        let ran = ran.expect(0);
        assert!(
            ran.stderr.contains(&format!("default | {OWN}\n")),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn a_sandbox_has_no_descriptor_of_the_caller() {
    let project = Project::new("from dev-base");
    let up = project.atelier(&["up", "--", "sh", "-c", LIST]);
    let ran = project.run_command(started_by(&OPENED, &up)).expect(0);
    assert_eq!(ran.stdout, format!("{OWN}\n"));
}

#[test]
fn git_has_no_descriptor_of_the_caller() {
    let project = Project::new("from dev-base\nrepo \".\" path=src");
    let folder = project.store.with_file_name("bin");
    let seen = folder.join("seen");
    fs::create_dir(&folder).unwrap();
    let script = format!(
        "#!/bin/sh\n{{ {LIST}; }} >> {}\nPATH=${{PATH#*:}}\nexec git \"$@\"\n",
        seen.display()
    );
    fs::write(folder.join("git"), script).unwrap();
    fs::set_permissions(folder.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut build = project.atelier(&["build"]);
    let path = std::env::var("PATH").unwrap();
    build.env("PATH", format!("{}:{path}", folder.display()));
    project.run_command(started_by(&OPENED, &build)).expect(0);
    let seen = fs::read_to_string(seen).unwrap();
    assert!(seen.lines().all(|line| line == OWN), "{seen}");
    assert!(!seen.is_empty());
}

/// What deletes in the background may outlive the program; the caller's pipe must not wait for it.
#[test]
fn what_empties_the_trash_holds_no_pipe_of_the_caller() {
    let project = Project::new("from dev-base\nrun \"echo one\"");
    project.run(&["build"]).expect(0);
    wait_until("the trash to be emptied", || project.processes().is_empty());
    // It takes this lock first, and opening it now waits for somebody who reads.
    let lock = project.store.join("locks/reap");
    fs::remove_file(&lock).unwrap();
    let made = Command::new("mkfifo").arg(&lock).status().unwrap();
    assert!(made.success());
    project.edit("echo one", "echo two");
    let (mut pipe, caller_s) = std::io::pipe().unwrap();
    let (to, closed) = channel();
    std::thread::spawn(move || to.send(pipe.read_to_end(&mut Vec::new())));
    let extra = ["bash", "-c", "exec \"$@\" 9>&1", "bash"];
    let mut build = started_by(&extra, &project.atelier(&["build"]));
    let ended = build.stdout(caller_s).stderr(Stdio::null()).status();
    drop(build);
    assert!(ended.unwrap().success());
    let closed = closed.recv_timeout(Duration::from_secs(10));
    let emptying = !project.processes().is_empty();
    let reader = fs::File::options().read(true).write(true).open(&lock);
    wait_until("the trash to be emptied", || project.processes().is_empty());
    drop(reader);
    assert!(emptying, "nothing empties the trash");
    assert!(closed.is_ok(), "the pipe is still open");
}
