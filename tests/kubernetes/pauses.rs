//! A client that sleeps at the worst of moments: it has made sure that the lock is its own, and its next write is on the way.
//! What it changes when it arrives, long after somebody else has taken the lock over, must do no harm.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use crate::cluster::{Machine, kubectl, litter, published, wait, whole};

/// All that passes on its way to the API server, as plain HTTP.
struct Road {
    port: u16,
    gate: Arc<Gate>,
    proxy: Child,
}

#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The number of the write that closes the road; its line, once it has come.
    closes_at: usize,
    writes: Vec<String>,
    is_open: bool,
}

impl Gate {
    /// Waits while the road is closed.
    fn pass(&self, line: &str) {
        let mut state = self.state.lock().unwrap();
        if !line.is_empty() {
            state.writes.push(line.to_owned());
            self.changed.notify_all();
        }
        let closed = |state: &mut State| !state.is_open && state.writes.len() >= state.closes_at;
        drop(self.changed.wait_while(state, closed).unwrap());
    }

    /// The write that has closed the road; none if the client has ended without it.
    fn closed_by(&self, client: &mut Child) -> Option<String> {
        loop {
            let state = self.state.lock().unwrap();
            if let Some(line) = state.writes.get(state.closes_at - 1) {
                return Some(line.clone());
            }
            drop(state);
            if client.try_wait().unwrap().is_some() {
                return None;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn open(&self) {
        self.state.lock().unwrap().is_open = true;
        self.changed.notify_all();
    }
}

impl Road {
    /// Closed by its client's write of this number, counted from 1.
    fn closed_at(number: usize) -> Self {
        let mut proxy = Command::new("kubectl")
            .args(["proxy", "--port=0", "--reject-paths=^$"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = String::new();
        let output = proxy.stdout.as_mut().unwrap();
        BufReader::new(output).read_line(&mut told).unwrap();
        let server = told.trim().rsplit(' ').next().unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let gate = Arc::new(Gate::default());
        gate.state.lock().unwrap().closes_at = number;
        let own = Arc::clone(&gate);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(&server).unwrap());
                let gate = Arc::clone(&own);
                let (answers, back) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                thread::spawn(move || carry(client, server, Some(&gate)));
                thread::spawn(move || carry(answers, back, None));
            }
        });
        Self { port, gate, proxy }
    }

    fn kubeconfig(&self, machine: &Machine) -> std::path::PathBuf {
        let path = machine.path().join("kubeconfig");
        let text = format!(
            "apiVersion: v1\nkind: Config\nclusters: [{{name: t, cluster: {{server: \"http://127.0.0.1:{}\"}}}}]\nusers: [{{name: t, user: {{}}}}]\ncontexts: [{{name: t, context: {{cluster: t, user: t}}}}]\ncurrent-context: t\n",
            self.port
        );
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Road {
    fn drop(&mut self) {
        self.gate.open();
        self.proxy.kill().ok();
        self.proxy.wait().ok();
    }
}

/// Requests come one after the other on a connection, each with its head in one piece.
fn carry(mut from: TcpStream, mut to: TcpStream, gate: Option<&Gate>) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if let Some(gate) = gate {
            let head = String::from_utf8_lossy(&buffer[..length.min(200)]);
            let line = head.lines().next().unwrap_or_default();
            // A lease is renewed by PUT, as often as time says: it is not counted, and waits with all else.
            let is_write = ["POST ", "PATCH ", "DELETE "]
                .iter()
                .any(|method| line.starts_with(method));
            gate.pass(if is_write { line } else { "" });
        }
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    to.shutdown(std::net::Shutdown::Both).ok();
}

/// behaviours 1.11
#[test]
fn a_client_that_sleeps_before_any_of_its_writes_does_no_harm() {
    let _cluster = whole();
    let closed = asleep(&[1, 2, 3, 4, 5, 6, 7, 8], &[]);
    for words in [
        ["POST", "/leases"],
        ["POST", "/persistentvolumeclaims"],
        ["POST", "/pods"],
        ["POST", "/volumesnapshots"],
        ["PATCH", "/volumesnapshots"],
        ["DELETE", "/leases"],
    ] {
        assert!(
            has(&closed, words),
            "none slept before {words:?}: {closed:#?}"
        );
    }
}

/// One that takes the place of an older snapshot deletes that one and no other.
#[test]
fn a_client_that_sleeps_while_it_replaces_a_snapshot_does_no_harm() {
    let _cluster = whole();
    let closed = asleep(&[7, 8, 9], &["--force", "one"]);
    assert!(has(&closed, ["PATCH", "/volumesnapshots"]), "{closed:#?}");
    assert!(has(&closed, ["DELETE", "/volumesnapshots"]), "{closed:#?}");
}

fn has(closed: &[String], words: [&str; 2]) -> bool {
    let is_it = |line: &String| words.iter().all(|&word| line.contains(word));
    closed.iter().any(is_it)
}

/// All at once: each waits for a lease to run out. Returns the writes that they slept before.
fn asleep(numbers: &[usize], arguments: &[&str]) -> Vec<String> {
    thread::scope(|scope| {
        let sleepers: Vec<_> = numbers
            .iter()
            .map(|&number| scope.spawn(move || sleep_before(number, arguments)))
            .collect();
        let told = sleepers.into_iter().map(|sleeper| sleeper.join().unwrap());
        told.flatten().collect()
    })
}

fn sleep_before(number: usize, arguments: &[&str]) -> Option<String> {
    let machine = Machine::with("prebuild one { from dev-base; run \"echo KEY; echo done > f\"; }");
    let key = machine.key("one");
    if !arguments.is_empty() {
        machine.good("build", &[]);
    }
    let road = Road::closed_at(number);
    let mut sleeper = machine.command("build", arguments);
    let mut sleeper = sleeper
        .env("KUBECONFIG", road.kubeconfig(&machine))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let Some(line) = road.gate.closed_by(&mut sleeper) else {
        sleeper.wait().unwrap();
        return None;
    };
    let (code, output) = machine.other().start(arguments).end();
    assert_eq!(code, Some(0), "{line}: {output}");
    let names = published(&key);
    assert_eq!(names.len(), 1, "{line}");
    let uid = ["get", &names[0], "-o", "jsonpath={.metadata.uid}"];
    let before = kubectl(&uid);
    road.gate.open();
    sleeper.wait().unwrap();
    match arguments {
        [] => {
            assert_eq!(published(&key), names, "{line}");
            assert_eq!(kubectl(&uid), before, "{line}");
        }
        // It may have baked it once more.
        _ => assert_eq!(published(&key).len(), 1, "{line}"),
    }
    // What of it arrived too late belongs to a lease that is gone.
    wait("nothing to be left", Duration::from_mins(2), || {
        litter(&key).is_empty()
    });
    assert_eq!(machine.good("up", &["--", "cat", "f"]), "done\n", "{line}");
    Some(line)
}
