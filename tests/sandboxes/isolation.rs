//! What runs in a sandbox that stays has no way to what keeps it.

use crate::house::House;
use crate::processes::is_running;

#[test]
fn the_first_process_cannot_be_touched() {
    let house = House::with_web();
    let script = "for s in KILL STOP TERM HUP INT; do kill -$s 1 2>&1; done; \
        cat /proc/1/environ /proc/1/mem /proc/1/maps 2>&1; ls /proc/1/fd /proc/1/root/ 2>&1; echo end";
    let ran = house.sh("web", script).expect(0);
    for line in ran
        .stdout
        .lines()
        .filter(|line| !["end", ""].contains(line))
    {
        let refused = [
            "Permission denied",
            "Operation not permitted",
            "Input/output error",
        ];
        assert!(refused.iter().any(|text| line.contains(text)), "{line}");
    }
    assert_eq!(house.sh("web", "echo alive").expect(0).stdout, "alive\n");
}

#[test]
fn whoever_keeps_it_cannot_be_seen() {
    let house = House::with_web();
    let mut running = house.start_sh("web", "echo begun >&2; sleep 5");
    running.until("begun");
    let ran = house.sh("web", "ps -e -o user=,pid=,comm=").expect(0);
    let foreign: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| !line.starts_with("dev "))
        .collect();
    // The first process alone is not of `dev`.
    assert_eq!(foreign.len(), 1, "{}", ran.stdout);
    assert!(foreign[0].contains(" 1 "), "{}", ran.stdout);
    house.sh("web", "pkill sleep").expect(0);
    running.wait();
}

#[test]
fn its_socket_is_out_of_reach() {
    let house = House::with_web();
    let socket = house.store.join("k/web/socket").display().to_string();
    house
        .run(&["exec", "web", "--", "test", "-e", &socket])
        .expect(1);
    let other_user = std::process::Command::new("setpriv")
        .env("PATH", "/usr/bin:/bin")
        .args([
            "--reuid=1000",
            "--regid=1000",
            "--clear-groups",
            "python3",
            "-c",
        ])
        .arg("import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])")
        .arg(&socket)
        .output()
        .unwrap();
    assert!(!other_user.status.success());
    let said = String::from_utf8_lossy(&other_user.stderr);
    assert!(said.contains("PermissionError"), "{said}");
    assert!(is_running("__sandbox"));
}

/// A command gets no descriptor but its three.
#[test]
fn commands_inherit_nothing() {
    let house = House::with_web();
    let ran = house
        .sh(
            "web",
            "ls /proc/self/fd | xargs; readlink /proc/self/ns/pid /proc/1/ns/pid | head -1",
        )
        .expect(0);
    assert!(ran.stdout.starts_with("0 1 2 3\n"), "{}", ran.stdout);
    let ran = house.sh("web", "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp|SigBlk):' /proc/self/status | tr '\\t' ' '; trap").expect(0);
    assert_eq!(
        ran.stdout,
        "SigBlk: 0000000000000000\nCapEff: 0000000000000000\nCapBnd: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2\n"
    );
}
