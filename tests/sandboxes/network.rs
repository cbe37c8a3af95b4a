//! `--network`.

use std::net::TcpListener;

use crate::house::House;

/// Talks to itself over loopback.
const LOOPBACK: &str = "import socket\n\
    for family, address in (socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1'):\n  \
    server = socket.socket(family); server.bind((address, 0)); server.listen()\n  \
    client = socket.create_connection(server.getsockname()[:2]); server.accept(); print('heard')";

const SHOW: &str =
    "tail -n +3 /proc/net/dev | cut -d: -f1 | xargs; tail -n +2 /proc/net/route | wc -l";

fn reaches(port: u16) -> String {
    format!("exec 3<>/dev/tcp/127.0.0.1/{port}")
}

#[test]
fn none_is_a_loopback_device_of_its_own() {
    let house = House::new("from dev-base");
    let machine_s = TcpListener::bind("127.0.0.1:0").unwrap();
    let reach = reaches(machine_s.local_addr().unwrap().port());
    house
        .run(&["up", "-d", "--name", "kept", "--network", "none"])
        .expect(0);
    for words in [
        &["up", "--network", "none", "--"][..],
        &["exec", "kept", "--"][..],
    ] {
        let run = |command: &[&str]| house.run(&[words, command].concat());
        assert_eq!(run(&["sh", "-c", SHOW]).expect(0).stdout, "lo\n0\n");
        let heard = run(&["python3", "-c", LOOPBACK]).expect(0);
        assert_eq!(heard.stdout, "heard\nheard\n");
        run(&["bash", "-c", &reach]).expect(1);
    }
    // One network for all that runs in the sandbox.
    let serve = "import socket; s = socket.create_server(('127.0.0.1', 4321)); print('up', flush=True); s.accept()";
    let mut server = house.start(&[
        "exec",
        "kept",
        "--",
        "python3",
        "-c",
        &serve.replace(
            "print(",
            "__import__('sys').stderr.write('up\\n') or print(",
        ),
    ]);
    server.until("up");
    house
        .run(&["exec", "kept", "--", "bash", "-c", &reaches(4321)])
        .expect(0);
    server.wait().expect(0);
}

#[test]
fn host_is_the_machine_s_and_the_default() {
    let house = House::new("from dev-base");
    let machine_s = TcpListener::bind("127.0.0.1:0").unwrap();
    let reach = reaches(machine_s.local_addr().unwrap().port());
    house.run(&["up", "-d", "--name", "kept"]).expect(0);
    house
        .run(&["up", "-d", "--name", "same", "--network", "host"])
        .expect(0);
    for words in [
        &["up", "--"][..],
        &["exec", "kept", "--"],
        &["exec", "same", "--"],
    ] {
        house
            .run(&[words, &["bash", "-c", &reach]].concat())
            .expect(0);
    }
    house
        .run(&["up", "--network", "other", "--", "true"])
        .expect(2);
}
