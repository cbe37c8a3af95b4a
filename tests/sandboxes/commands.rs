//! What `exec` runs, and what it sees.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;

use crate::house::House;
use crate::processes::{is_running, marker, wait_until};

#[test]
fn the_command_s_status_is_exec_s() {
    let house = House::with_web();
    for (script, code) in [
        ("exit 0", 0),
        ("exit 7", 7),
        ("kill -TERM $$", 143),
        ("kill -KILL $$", 137),
    ] {
        house.sh("web", script).expect(code);
    }
    let ran = house
        .run(&["exec", "web", "--", "no-such-program"])
        .expect(127);
    assert!(
        ran.stderr
            .contains("cannot start no-such-program in /home/dev"),
        "{}",
        ran.stderr
    );
    house.run(&["exec", "web", "--", "/etc/passwd"]).expect(126);
}

#[test]
fn standard_streams_are_the_caller_s_own() {
    let house = House::with_web();
    let mut command = house.atelier(&["exec", "web", "--", "wc", "-c"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&vec![b'x'; 300_000]).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "300000\n");

    let path = house.store.with_file_name("output");
    let file = fs::File::create(&path).unwrap();
    let inode = file.metadata().unwrap().ino();
    let script = "stat -L -c %i /proc/self/fd/1; echo error >&2";
    let mut command = house.atelier(&["exec", "web", "--", "sh", "-c", script]);
    let output = command
        .stdout(file)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{inode}\n"));
    assert_eq!(output.stderr, b"error\n");
}

#[test]
fn its_world_is_the_sandbox_s() {
    let house = House::new("from dev-base\nenv C=file\nrun \"mkdir -p a/b; echo baked > f\"");
    house
        .run(&[
            "up", "-d", "--name", "web", "--env", "A=up", "--env", "B=up",
        ])
        .expect(0);
    let words = [
        "exec", "web", "--env", "B=exec", "--env", "D=exec", "--in", "a/b", "--",
    ];
    let script = "id -un; pwd; echo $HOME $A $B $C $D ${CI-no} ${ATELIER-no}; umask; cat ~/f";
    let ran = house
        .run(&[&words[..], &["sh", "-c", script]].concat())
        .expect(0);
    let expected = "dev\n/home/dev/a/b\n/home/dev up exec file exec no no\n0022\nbaked\n";
    assert_eq!(ran.stdout, expected);
    let ran = house.sh("web", "echo $B ${D-no}; pwd").expect(0);
    assert_eq!(ran.stdout, "up no\n/home/dev\n");
    let ran = house
        .run(&["exec", "web", "--in", "/home/dev/a", "--", "pwd"])
        .expect(0);
    assert_eq!(ran.stdout, "/home/dev/a\n");
    let ran = house
        .run(&["exec", "web", "--in", "/etc", "--", "pwd"])
        .expect(2);
    assert!(
        ran.stderr.contains("outside of /home/dev"),
        "{}",
        ran.stderr
    );
    house
        .run(&["exec", "web", "--in", "none", "--", "pwd"])
        .expect(127);
}

#[test]
fn a_login_shell_runs_without_a_command() {
    let house = House::with_web();
    let mut command = house.atelier(&["exec", "web"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let script = b"shopt -q login_shell && echo login; pwd; exit 3\n";
    child.stdin.take().unwrap().write_all(script).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(output.stdout, b"login\n/home/dev\n");
}

#[test]
fn several_at_once_see_each_other_s_processes_and_files() {
    let house = House::with_web();
    let markers = [marker(), marker(), marker()];
    let running: Vec<_> = markers
        .iter()
        .map(|marker| {
            let script = format!("echo {marker} > f{marker}; echo begun >&2; exec sleep {marker}");
            let mut running = house.start_sh("web", &script);
            running.until("begun");
            running
        })
        .collect();
    let ran = house
        .sh("web", "cat f?*; cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
        .expect(0);
    for marker in &markers {
        assert_eq!(
            ran.stdout.matches(marker.as_str()).count(),
            2,
            "{}",
            ran.stdout
        );
    }
    house.sh("web", "pkill sleep").expect(0);
    for running in running {
        running.wait().expect(143);
    }
}

#[test]
fn what_an_exec_leaves_in_the_background_goes_on() {
    let house = House::with_web();
    let (child, daemon) = (marker(), marker());
    let script = format!(
        "sleep {child} >/dev/null 2>&1 & setsid sleep {daemon} >/dev/null 2>&1 & echo done"
    );
    assert_eq!(house.sh("web", &script).expect(0).stdout, "done\n");
    for _ in 0..2 {
        house.sh("web", "test $(pgrep -c sleep) = 2").expect(0);
    }
    assert!(is_running(&format!("sleep\0{child}")));
    // It is nobody's any more, and does not stay when it has ended.
    house.sh("web", "pkill sleep").expect(0);
    wait_until("no process to be left", || {
        house
            .sh("web", "ps -e -o stat= -o comm= | grep -v ps")
            .stdout
            .lines()
            .count()
            == 3
    });
    let script = format!("sleep {child} >/dev/null 2>&1 &");
    house.sh("web", &script).expect(0);
    house.run(&["rm", "web"]).expect(0);
    assert!(!is_running(&format!("sleep\0{child}")));
    house.assert_nothing_left();
}

#[test]
fn up_starts_a_command_and_leaves_it() {
    let house = House::new("from dev-base");
    let marker = marker();
    let script = format!("echo out; echo errors >&2; exec sleep {marker}");
    let ran = house
        .run(&[
            "up", "-d", "--name", "web", "--json", "--", "sh", "-c", &script,
        ])
        .expect(0);
    let json = ran.json();
    assert_eq!(json["schema"], "atelier.sandbox/1");
    assert_eq!(
        (&json["name"], &json["state"]),
        (&"web".into(), &"running".into())
    );
    assert_eq!(json["node"], "default");
    let log = json["log"].as_str().unwrap();
    wait_until("its output", || {
        fs::read_to_string(log).is_ok_and(|text| text == "out\nerrors\n")
    });
    wait_until("it to run", || is_running(&format!("sleep\0{marker}")));
    let row = house.run(&["ps", "--json"]).json()["sandboxes"][0].clone();
    assert_eq!(row["processes"], 1);
    assert_eq!(row["key"], json["key"]);
    house.run(&["down", "web"]).expect(0);
    assert!(!is_running(&format!("sleep\0{marker}")));
    house.assert_nothing_left();
}

#[test]
fn a_command_that_up_cannot_start_leaves_the_sandbox() {
    let house = House::new("from dev-base");
    let ran = house
        .run(&["up", "-d", "--name", "web", "--", "no-such-program"])
        .expect(127);
    assert_eq!(ran.stdout, "web\n");
    assert!(
        ran.stderr.contains("could not be started"),
        "{}",
        ran.stderr
    );
    let log = fs::read_to_string(house.store.join("k/web/log")).unwrap();
    assert!(log.contains("cannot start no-such-program"), "{log}");
    house.sh("web", "true").expect(0);
}
