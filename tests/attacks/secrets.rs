//! Values of secrets where nobody thinks of them.

use std::fs;

use crate::processes::wait_until;
use crate::project::{Project, Ran};

const VALUE: &str =
    "canary-7dW1-value-that-is-long-enough-to-be-broken-into-several-lines-of-base64-by-programs";

fn project(statements: &str) -> Project {
    Project::new(&format!("from dev-base\nsecret TOKEN\n{statements}"))
}

fn build(project: &Project, words: &[&str]) -> Ran {
    let words = [&["build", "--secret", "TOKEN=env:CANARY"], words].concat();
    let mut command = project.atelier(&words);
    command.env("CANARY", VALUE);
    project.run_command(command)
}

/// behaviours 1.9
#[test]
fn no_value_is_in_the_log_of_a_kept_sandbox() {
    let project = project("");
    build(&project, &[]).expect(0);
    let script =
        "echo token $TOKEN; echo $TOKEN | base64; printf 'no end %s' \"$TOKEN\"; sleep 1000";
    let words = [
        "up",
        "-d",
        "--name",
        "kept",
        "--secret",
        "TOKEN=env:CANARY",
        "--",
        "sh",
        "-c",
        script,
    ];
    let mut up = project.atelier(&words);
    up.env("CANARY", VALUE);
    project.run_command(up).expect(0);
    let log = project.store.join("k/kept/log");
    wait_until("the log", || {
        fs::read_to_string(&log).is_ok_and(|text| text.contains("no end ***"))
    });
    let text = fs::read_to_string(&log).unwrap();
    assert!(text.starts_with("token ***\n"), "{text}");
    assert!(
        !text.contains("canary") && !text.contains("Y2FuYXJ5"),
        "{text}"
    );
    project.run(&["down", "kept"]).expect(0);
}

#[test]
fn no_value_is_in_what_an_error_tells() {
    let outside = project("run #\"touch \"/tmp/../f-$TOKEN\"\"# as=root");
    let ran = build(&outside, &["--strict-outside"]).expect(1);
    assert!(ran.stderr.contains("/f-***"), "{}", ran.stderr);
    assert!(!ran.stderr.contains(VALUE), "{}", ran.stderr);
    let broken = project(
        "repo \".\" path=src\nrun #\"echo 1111111111111111111111111111111111111111 > \".git/refs/heads/$TOKEN\"\"# in=src",
    );
    let ran = build(&broken, &[]).expect(6);
    assert!(ran.stderr.contains("refs/heads/***"), "{}", ran.stderr);
    assert!(!ran.stderr.contains(VALUE), "{}", ran.stderr);
}

/// behaviours 1.9: encoders break lines, keys have several, and JSON makes one of them.
#[test]
fn a_value_is_found_across_line_ends() {
    let key = "-----BEGIN KEY-----\nMIIBOgIBAAJBAKj34GkxFhD90vcNLYLInFEX\nppgqvZkAVhvyVuQ0Ym0=\n-----END KEY-----";
    let ways = [
        "printf 'some user:%s' \"$TOKEN\" | base64 > found",
        "printf %s \"$TOKEN\" | sed 's/$/\\r/' > found",
        "printf %s \"$TOKEN\" | awk '{printf \"%s\\\\n\", $0}' > found",
        "printf %s \"$TOKEN\" | sed 's/$/\\r/' | base64 -w 20 > found",
    ];
    for way in ways {
        for value in [VALUE, key] {
            let project = project(&format!("run ##\"{way}\"##"));
            let mut command = project.atelier(&["build", "--secret", "TOKEN=env:CANARY"]);
            command.env("CANARY", value);
            let ran = project.run_command(command).expect(1);
            assert!(
                ran.stderr.contains("holds the value of secret TOKEN"),
                "{way}: {}",
                ran.stderr
            );
        }
    }
    let log = project("run #\"printf 'some user:%s' \"$TOKEN\" | base64\"#");
    let ran = build(&log, &[]).expect(0);
    assert!(
        ran.stderr.contains("***") && !ran.stderr.contains("Y2FuYXJ5"),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_password_of_a_proxy_is_a_secret() {
    let build = |statement: &str| {
        let project = Project::new(&format!("from dev-base\n{statement}"));
        let mut command = project.atelier(&["build"]);
        command.env(
            "HTTPS_PROXY",
            format!("http://me:{}@127.0.0.1:9/", &VALUE[..16]),
        );
        project.run_command(command)
    };
    let ran = build("run \"echo proxy $HTTPS_PROXY\"").expect(0);
    assert!(
        ran.stderr.contains("proxy http://me:***@127.0.0.1:9/"),
        "{}",
        ran.stderr
    );
    let ran = build("run \"echo $HTTPS_PROXY > proxy\"").expect(1);
    assert!(
        ran.stderr.contains("the password in HTTPS_PROXY"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains(&VALUE[..16]), "{}", ran.stderr);
}
