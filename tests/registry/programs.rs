//! Programs that keep logins.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::logins::{Guarded, PASSWORD, USER, build, pair, plain};
use crate::project::Project;

/// A program in the caller's PATH that keeps logins.
fn helper(project: &Project, name: &str, script: &str) -> String {
    let programs = project.home.join("programs");
    fs::create_dir_all(&programs).unwrap();
    let path = programs.join(format!("docker-credential-{name}"));
    let text = format!(
        "#!/bin/sh\necho \"$@\" >> ~/asked\nserver=$(cat)\necho \"$server\" >> ~/asked\n{script}\n"
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    format!("{}:{path}", programs.display())
}

#[test]
fn a_program_is_asked_for_the_login() {
    let guarded = Guarded::new();
    let (project, host) = (&guarded.project, guarded.host());
    let answer =
        format!("echo '{{\"ServerURL\":\"x\",\"Username\":\"{USER}\",\"Secret\":\"{PASSWORD}\"}}'");
    let path = helper(project, "right", &answer);
    helper(
        project,
        "none",
        "echo 'credentials not found in native keychain'; exit 1",
    );
    helper(project, "broken", &format!("echo {PASSWORD}; exit 3"));
    let ask = |file: &Value, force: bool| {
        project.write_at_home(".docker/config.json", &file.to_string());
        fs::remove_file(project.home.join("asked")).ok();
        let ran = build(project, |command| {
            command.env("PATH", &path);
            if force {
                command.args(["--force", "default"]);
            }
        });
        (
            ran,
            fs::read_to_string(project.home.join("asked")).unwrap_or_default(),
        )
    };
    // For this registry; for all; for all, with an entry that has nothing in it.
    for file in [
        json!({ "credHelpers": { &host: "right" }, "credsStore": "broken" }),
        json!({ "credsStore": "right" }),
        json!({ "auths": { &host: {} }, "credsStore": "right" }),
    ] {
        let (ran, asked) = ask(&file, true);
        ran.expect(0);
        // Once, although there are several requests.
        assert_eq!(asked.lines().take(2).collect::<Vec<_>>(), ["get", &host]);
    }
    // What is written goes before the program for the rest, and stands in for one that has nothing.
    for file in [
        json!({ "auths": { &host: { "auth": pair(PASSWORD) } }, "credsStore": "broken" }),
        json!({ "auths": { &host: { "auth": pair(PASSWORD) } }, "credHelpers": { &host: "none" } }),
    ] {
        ask(&file, true).0.expect(0);
    }
    for (file, expected) in [
        (json!({ "credsStore": "none" }), "asks for a login"),
        (
            json!({ "credsStore": "broken" }),
            "docker-credential-broken failed",
        ),
        (
            json!({ "credsStore": "missing" }),
            "docker-credential-missing cannot be started",
        ),
        (
            json!({ "credsStore": "../x" }),
            "cannot be a program's name",
        ),
    ] {
        let (ran, _) = ask(&file, false);
        let told = plain(&ran.expect(5).stderr);
        assert!(told.contains(expected), "{expected}: {told}");
    }
}

#[test]
fn a_program_that_never_answers_is_not_waited_for() {
    let guarded = Guarded::new();
    let path = helper(&guarded.project, "slow", "sleep 1234");
    guarded
        .project
        .write_at_home(".docker/config.json", r#"{ "credsStore": "slow" }"#);
    let ran = build(&guarded.project, |command| {
        command.env("PATH", &path);
    });
    let told = plain(&ran.expect(5).stderr);
    assert!(
        told.contains("docker-credential-slow did not answer within 10 s"),
        "{told}"
    );
    assert!(crate::processes::find("1234").is_none());
}
