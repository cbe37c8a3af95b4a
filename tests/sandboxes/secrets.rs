//! The values of secrets are in the memory of the keeper, and in what runs in the sandbox.

use std::fs;
use std::path::Path;

use rustix::process::{Signal, kill_process};

use crate::house::House;

const VALUE: &str = "a-value-that-nothing-else-has";

fn files_with_value(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files_with_value(&entry.path()));
        } else if kind.is_file() {
            let text = fs::read(entry.path()).unwrap();
            if String::from_utf8_lossy(&text).contains(VALUE) {
                found.push(entry.path().display().to_string());
            }
        }
    }
    found
}

#[test]
fn a_secret_of_a_sandbox_is_in_its_commands_and_nowhere_else() {
    let house = House::unbaked("from dev-base\nsecret TOKEN");
    let mut up = house.atelier(&[
        "up",
        "-d",
        "--name",
        "web",
        "--secret",
        "TOKEN=env:GIVEN",
        "--",
        "sh",
        "-c",
        "printf %s $TOKEN | wc -c",
    ]);
    up.env("GIVEN", VALUE);
    house.run_command(up).expect(0);
    let script = format!("test \"$TOKEN\" = {VALUE}");
    for _ in 0..2 {
        house.sh("web", &script).expect(0);
    }
    let log = fs::read_to_string(house.store.join("k/web/log")).unwrap();
    assert_eq!(log, format!("{}\n", VALUE.len()));
    assert_eq!(files_with_value(&house.store), [] as [String; 0]);
    let json = house.run(&["ps", "--json"]).expect(0).stdout;
    assert!(!json.contains(VALUE));
    for pid in [house.keeper("web"), house.first("web")] {
        for name in ["environ", "cmdline"] {
            let text = fs::read(format!("/proc/{}/{name}", pid.as_raw_pid())).unwrap();
            assert!(!String::from_utf8_lossy(&text).contains(VALUE), "{name}");
        }
    }
    // Who starts it again is to give it again.
    kill_process(house.keeper("web"), Signal::KILL).unwrap();
    house.run(&["up", "-d", "--name", "web"]).expect(0);
    let ran = house.sh("web", "echo ${TOKEN-none}").expect(0);
    assert_eq!(ran.stdout, "none\n");
}

#[test]
fn a_secret_of_one_command_is_its_alone() {
    let house = House::unbaked("from dev-base\nsecret TOKEN");
    let mut up = house.atelier(&["up", "-d", "--name", "web", "--secret", "TOKEN=env:GIVEN"]);
    up.env("GIVEN", "first");
    house.run_command(up).expect(0);
    let script = "echo $TOKEN ${OTHER-none}";
    let words = [
        "exec",
        "web",
        "--secret",
        "TOKEN=env:GIVEN",
        "--secret",
        "OTHER=env:GIVEN",
    ];
    let mut exec = house.atelier(&[&words[..], &["--", "sh", "-c", script]].concat());
    exec.env("GIVEN", VALUE);
    let ran = house.run_command(exec).expect(0);
    assert_eq!(ran.stdout, format!("{VALUE} {VALUE}\n"));
    assert_eq!(house.sh("web", script).expect(0).stdout, "first none\n");
    assert_eq!(files_with_value(&house.store), [] as [String; 0]);
}
