//! A hostile step: what it tries is in `tests/escape/hostile.c`. Everything is denied or contained; the book has the list.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use atelier::backend::{Backend, Ending, SandboxId, WorkspaceFile};

use crate::house::{House, OnDisk, boot, publish, sh};
use crate::processes::{is_running, marker, wait_until};
use crate::programs;
use crate::requests::request;

/// Those that are told what to go for.
const TOLD: [&str; 6] = [
    "read_given",
    "list_given",
    "around_by_root",
    "around_by_cwd",
    "connect_given",
    "see_process",
];

/// Runs an attempt in a sandbox and outside of it: what nobody can do there proves nothing.
struct Attempts<'a> {
    house: &'a OnDisk,
    sandbox: SandboxId,
}

impl Attempts<'_> {
    async fn is_denied(&self, attempt: &str, given: &str) -> bool {
        let command = format!("./hostile {attempt} '{given}'");
        let (ending, said) = sh(self.house.backend(), &self.sandbox, &command).await;
        match ending {
            Ending::Exited(1) => true,
            Ending::Exited(0) => false,
            other => panic!("{attempt}: {other:?} {said:?}"),
        }
    }
}

/// behaviours 1.9, 1.10
pub(crate) async fn a_hostile_step_gets_nowhere(house: &OnDisk) {
    let home = tempfile::tempdir_in(house.root().parent().unwrap()).unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let source = include_str!("../escape/hostile.c");
    let program = programs::compile(home.path(), "hostile", source);
    let mut request = request("hostile", None, &["true"]);
    request.files.push(WorkspaceFile {
        path: "hostile".to_owned(),
        mode: 0o755,
        content: fs::read(&program).unwrap(),
    });
    publish(house.backend(), &request).await;
    let sandbox = boot(house.backend(), &request).await;
    let attempts = Attempts { house, sandbox };
    let layer = house.layer_of(request.key).join("d/hostile");
    attempts.at_files(&program, home.path(), &layer).await;
    let other = boot(house.backend(), &request).await;
    attempts.at_processes_of(&other).await;
    attempts.at_all_else(&program).await;
    for sandbox in [&attempts.sandbox, &other] {
        house.backend().destroy(sandbox).await.unwrap();
    }
}

impl Attempts<'_> {
    /// The caller's files and sockets, readable for everybody outside.
    async fn at_files(&self, program: &Path, home: &Path, layer: &Path) {
        let secret = home.join("secret");
        fs::write(&secret, "secret").unwrap();
        for path in [secret.as_path(), layer] {
            let path = path.to_str().unwrap();
            let outside = Command::new(program).args(["read_given", path]).status();
            let code = outside.unwrap().code();
            assert_eq!(code, Some(0), "it must be possible outside: {path}");
            for attempt in ["read_given", "around_by_root", "around_by_cwd"] {
                assert!(self.is_denied(attempt, path).await, "{attempt} {path}");
            }
        }
        for folder in [
            home,
            &self.house.root(),
            Path::new("/root"),
            Path::new("/var/tmp"),
        ] {
            let folder = folder.to_str().unwrap();
            assert!(self.is_denied("list_given", folder).await, "{folder}");
        }
        let agent = home.join("agent");
        let _agent = UnixListener::bind(&agent).unwrap();
        let agent = agent.to_str().unwrap();
        assert!(self.is_denied("connect_given", agent).await, "the agent");
    }

    /// Processes of the caller, and of another sandbox.
    async fn at_processes_of(&self, other: &SandboxId) {
        let word = marker();
        let sleeper = format!("sleep {word}");
        let busy = sh(self.house.backend(), other, &sleeper);
        let look = async {
            while !is_running(&sleeper.replace(' ', "\0")) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            let mine = std::env::current_exe().unwrap();
            for word in [word.as_str(), mine.file_name().unwrap().to_str().unwrap()] {
                assert!(self.is_denied("see_process", word).await, "{word}");
            }
        };
        tokio::select! {
            _ = busy => panic!("it ended"),
            () = look => {}
        }
    }

    /// What needs no telling.
    async fn at_all_else(&self, program: &Path) {
        let names = Command::new(program).output().unwrap().stdout;
        let names = String::from_utf8(names).unwrap();
        let mut got = Vec::new();
        for attempt in names.lines().filter(|name| !TOLD.contains(name)) {
            if !self.is_denied(attempt, "").await {
                got.push(attempt);
            }
        }
        let nothing: [&str; 0] = [];
        assert_eq!(got, nothing, "a sandbox got what it must not have");
    }
}

/// behaviours 1.1
pub(crate) async fn a_daemon_does_not_outlive_its_step(house: &OnDisk) {
    let word = marker();
    let daemon = format!(
        "(setsid sh -c 'trap \"\" HUP TERM; sleep {word}' </dev/null >/dev/null 2>&1 &) ; sleep 0.2"
    );
    publish(
        house.backend(),
        &request("daemon", None, &[&daemon, "true"]),
    )
    .await;
    wait_until("the daemon to be gone", || !is_running(&word));
}
