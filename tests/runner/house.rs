//! Where a runner is in these tests, and what it is asked.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use atelier::runner::protocol::{
    Baked, Event, Failure, Kind, Outcome, Secret, Shell, Step, StepsRequest, VerifyRequest,
};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde::Serialize;

pub(crate) const NONCE: &str = "nonce-1";

/// A volume, and a runner of its own.
pub(crate) struct House {
    folder: tempfile::TempDir,
}

/// A runner at work.
pub(crate) struct Running {
    child: Child,
}

/// What a runner said.
pub(crate) struct Answer {
    pub(crate) events: Vec<Event>,
    pub(crate) code: i32,
    /// Everything, as it was written.
    pub(crate) text: String,
}

impl House {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        // The caller's own target folder may be closed to others.
        let program = folder.path().join("atelier-runner");
        let built = env!("CARGO_BIN_EXE_atelier-runner");
        fs::hard_link(built, &program)
            .or_else(|_| fs::copy(built, &program).map(drop))
            .unwrap();
        let house = Self { folder };
        fs::create_dir(house.volume()).unwrap();
        fs::create_dir(house.copies()).unwrap();
        if geteuid().is_root() {
            // As the kubelet leaves it for a user of this group, with what mkfs makes.
            chown(house.volume(), Some(0), Some(1000)).unwrap();
            chown(house.copies(), Some(0), Some(1000)).unwrap();
            fs::create_dir(house.volume().join("lost+found")).unwrap();
        }
        for path in [house.volume(), house.copies()] {
            fs::set_permissions(path, Permissions::from_mode(0o2777)).unwrap();
        }
        house
    }

    pub(crate) fn volume(&self) -> PathBuf {
        self.folder.path().join("volume")
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.volume().join("ws")
    }

    /// A folder that takes a copy of the runner.
    pub(crate) fn copies(&self) -> PathBuf {
        self.folder.path().join("copies")
    }

    /// The same with an empty workspace.
    pub(crate) fn with_workspace() -> Self {
        let house = Self::new();
        fs::create_dir(house.workspace()).unwrap();
        fs::set_permissions(house.workspace(), Permissions::from_mode(0o755)).unwrap();
        if geteuid().is_root() {
            chown(house.workspace(), Some(1000), Some(1000)).unwrap();
        }
        house
    }

    /// What is in the volume beside what a file system keeps for itself.
    pub(crate) fn in_volume(&self) -> Vec<String> {
        let entries = fs::read_dir(self.volume()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name != "lost+found").collect();
        names.sort();
        names
    }

    /// Starts a runner and sends it nothing yet.
    pub(crate) fn start(&self, command: &str, arguments: &[&str]) -> Running {
        let namespace: &[&str] = match geteuid().is_root() {
            true => &["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"],
            false => &[
                "unshare",
                "--user",
                "--map-current-user",
                "--pid",
                "--fork",
                "--mount-proc",
                "--kill-child",
            ],
        };
        let user =
            "setpriv --reuid 1000 --regid 1000 --clear-groups --bounding-set=-all --inh-caps=-all";
        let user = user.split(' ').filter(|_| geteuid().is_root());
        let volume = self.volume().display().to_string();
        let program = self.folder.path().join("atelier-runner");
        let words: Vec<&str> = namespace.iter().copied().chain(user).collect();
        let child = Command::new(words[0])
            .args(&words[1..])
            .arg(program)
            .args([command, "--volume", &volume])
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            // Such as a pod has, and no step may see.
            .env("KUBERNETES_SERVICE_HOST", "10.96.0.1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        Running {
            child: child.unwrap(),
        }
    }

    pub(crate) fn ask(
        &self,
        command: &str,
        arguments: &[&str],
        request: &impl Serialize,
        attachments: &[Vec<u8>],
    ) -> Answer {
        let mut running = self.start(command, arguments);
        running.send(&written(request, attachments));
        running.answer()
    }

    /// Begins with a request for steps.
    pub(crate) fn begin(&self, request: &StepsRequest) -> Running {
        let workspace = self.workspace().display().to_string();
        let mut running = self.start("steps", &["--workspace", &workspace]);
        running.send(&written(request, &[]));
        running
    }

    pub(crate) fn steps(&self, request: &StepsRequest) -> Answer {
        self.begin(request).answer()
    }

    pub(crate) fn verify(&self, manifest: &str, checkouts: &[&str]) -> Answer {
        let request = VerifyRequest {
            nonce: NONCE.to_owned(),
            manifest: manifest.to_owned(),
            checkouts: checkouts.iter().map(|&path| path.to_owned()).collect(),
            limit: Duration::from_mins(1),
        };
        self.ask("verify", &[], &request, &[])
    }
}

impl Drop for House {
    fn drop(&mut self) {
        // Steps leave what their user alone may open, and root may.
        let folder = self.folder.path();
        let script = "chmod -R u+rwX -- \"$1\" 2>/dev/null; true";
        Command::new("sh")
            .args(["-c", script, "sh"])
            .arg(folder)
            .status()
            .ok();
    }
}

pub(crate) fn written(request: &impl Serialize, attachments: &[Vec<u8>]) -> Vec<u8> {
    let text = serde_json::to_vec(request).unwrap();
    let mut bytes = u32::try_from(text.len()).unwrap().to_le_bytes().to_vec();
    bytes.extend(text);
    for attachment in attachments {
        bytes.extend(u64::try_from(attachment.len()).unwrap().to_le_bytes());
        bytes.extend(attachment);
    }
    bytes
}

impl Running {
    /// The input stays open, as that of a pod does.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        // A runner may end before it has read everything.
        self.child.stdin.as_mut().unwrap().write_all(bytes).ok();
    }

    pub(crate) fn close_input(&mut self) {
        drop(self.child.stdin.take());
    }

    /// The runner's own process id, on this side of its namespace.
    pub(crate) fn pid(&self) -> Pid {
        let list = format!("/proc/{0}/task/{0}/children", self.child.id());
        let began = Instant::now();
        loop {
            let children = fs::read_to_string(&list).unwrap();
            if let Some(pid) = children.split_whitespace().next() {
                return Pid::from_raw(pid.parse().unwrap()).unwrap();
            }
            assert!(began.elapsed() < Duration::from_secs(20), "no runner");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    pub(crate) fn answer(mut self) -> Answer {
        // The input stays open to the end.
        let input = self.child.stdin.take();
        let output = self.child.wait_with_output().unwrap();
        drop(input);
        let text = String::from_utf8(output.stdout).unwrap();
        let events: Vec<Event> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
            .collect();
        for (index, event) in events.iter().enumerate() {
            assert_eq!(event.seq, index as u64 + 1, "numbers without a gap");
        }
        Answer {
            events,
            code: output.status.code().unwrap(),
            text,
        }
    }
}

impl Answer {
    pub(crate) fn outcome(&self) -> &Outcome {
        match &self.events.last().unwrap().kind {
            Kind::Result { outcome } => outcome,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn baked(&self) -> &Baked {
        match self.outcome() {
            Outcome::Baked(baked) => baked,
            other => panic!("{other:?}\n{}", self.shown()),
        }
    }

    pub(crate) fn failure(&self) -> &Failure {
        assert_ne!(self.code, 0);
        match self.outcome() {
            Outcome::Failed(failure) => failure,
            other => panic!("{other:?}"),
        }
    }

    /// The output of all steps, as it was before it became events.
    pub(crate) fn output(&self) -> String {
        let mut output = String::new();
        for event in &self.events {
            if let Kind::Output { text, more } = &event.kind {
                output.push_str(text);
                output.push_str(if *more { "" } else { "\n" });
            }
        }
        output
    }

    pub(crate) fn notices(&self) -> Vec<&str> {
        let notice = |event: &'_ Event| matches!(event.kind, Kind::Notice { .. });
        let events = self.events.iter().filter(|event| notice(event));
        events
            .map(|event| match &event.kind {
                Kind::Notice { text } => text.as_str(),
                _ => "",
            })
            .collect()
    }

    fn shown(&self) -> &str {
        &self.text[self
            .text
            .floor_char_boundary(self.text.len().saturating_sub(4000))..]
    }
}

pub(crate) fn step(command: &str) -> Step {
    Step {
        folder: String::new(),
        shell: Shell::Sh,
        command: command.to_owned(),
        timeout: Duration::from_mins(1),
        retry: 0,
    }
}

pub(crate) fn steps(steps: Vec<Step>) -> StepsRequest {
    StepsRequest {
        nonce: NONCE.to_owned(),
        steps,
        variables: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        secrets: Vec::new(),
        checkouts: Vec::new(),
        limit: Duration::from_mins(2),
    }
}

pub(crate) fn secret(name: &str, value: &str) -> Secret {
    Secret {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

/// How many processes of this machine have this word on their command lines.
pub(crate) fn processes_with(word: &str) -> usize {
    let all = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let has = |path: &Path| {
        let line = fs::read(path.join("cmdline")).unwrap_or_default();
        line.split(|&byte| byte == 0)
            .any(|part| part == word.as_bytes())
    };
    all.filter(|entry| has(&entry.path())).count()
}
