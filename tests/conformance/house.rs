//! The backends under test, and short words for what the laws do with them.

use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio as Pipe};
use std::time::Duration;

use atelier::backend::local::{Isolation, Local};
use atelier::backend::memory::Memory;
use atelier::backend::{
    Backend, BackendError, BakeError, BakeRequest, Baked, Cancel, Ending, Environment, Exec, Keep,
    Network, Presence, SandboxId, SandboxRequest, Snapshot, Stdio,
};
use atelier::event::{Events, Kind, Sink, channel};
use atelier::node::ContentKey;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::processes::{find, is_running, wait_until};
use crate::requests::request;

/// The hidden argument with which this program bakes until it is killed.
pub(crate) const CRASH: &str = "__crash";

/// A backend with an empty store.
pub(crate) trait House {
    type Backend: Backend;

    fn backend(&self) -> &Self::Backend;

    /// The same store as another process sees it.
    fn other(&self) -> &Self::Backend;

    /// In seconds: longer than it takes until a command runs in a sandbox.
    fn pause(&self) -> f64 {
        0.3
    }

    /// Takes a snapshot's data away and leaves its record.
    fn lose(&self, key: ContentKey);

    /// Ends a bake half-way, as a power cut would.
    async fn crash(&self);

    /// Ends a kept sandbox as a machine that is switched off does.
    fn end(&self, sandbox: &SandboxId);

    /// What is in the store that no snapshot and no sandbox needs.
    fn litter(&self) -> Vec<String>;
}

pub(crate) struct InMemory(Memory);

impl InMemory {
    pub(crate) fn new() -> Self {
        Self(Memory::default())
    }
}

impl House for InMemory {
    type Backend = Memory;

    fn backend(&self) -> &Memory {
        &self.0
    }

    fn other(&self) -> &Memory {
        &self.0
    }

    fn lose(&self, key: ContentKey) {
        self.0.lose(key);
    }

    async fn crash(&self) {
        let request = request("crash", None, &["echo started && sleep 60"]);
        let mut caller = Caller::new();
        let cancel = Cancel::new();
        let bake = self.0.bake(&request, &caller.sink, &cancel);
        tokio::select! {
            _ = bake => panic!("it ended"),
            () = caller.events.until("started") => {}
        }
    }

    fn end(&self, sandbox: &SandboxId) {
        self.0.end(sandbox);
    }

    fn litter(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The variable that makes all laws of the embedded backend run without a sandbox.
pub(crate) const DIRECT: &str = "ATELIER_LAWS_DIRECT";

pub(crate) fn isolation() -> Isolation {
    Isolation {
        direct: std::env::var_os(DIRECT).is_some(),
        accept_direct: false,
    }
}

/// The embedded backend.
pub(crate) struct OnDisk {
    store: TempDir,
    one: Local,
    other: Local,
}

impl OnDisk {
    pub(crate) fn new() -> Self {
        // Another user than the one who builds the tests may have no way there.
        let store = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .or_else(|_| tempfile::tempdir())
            .unwrap();
        let open = || Local::open(&store.path().join("store"), isolation()).unwrap();
        let (one, other) = (open(), open());
        Self { store, one, other }
    }

    pub(crate) fn root(&self) -> std::path::PathBuf {
        self.store.path().join("store")
    }

    /// The layers of a snapshot, lowest first, relative to the store.
    pub(crate) fn layers_of(&self, key: ContentKey) -> Vec<String> {
        layers_of(&self.root().join(format!("s/{}.json", key.to_hex())))
    }

    /// The layer that a snapshot adds.
    pub(crate) fn layer_of(&self, key: ContentKey) -> std::path::PathBuf {
        self.root().join(self.layers_of(key).pop().unwrap())
    }

    /// A process of its own with a bake in it, the bake's step, and the word that is in the command lines of both.
    pub(crate) fn bake_for_ever(&self) -> (Child, u32, String) {
        let marker = crate::processes::marker();
        let child = Command::new(std::env::current_exe().unwrap())
            .arg(CRASH)
            .arg(self.root())
            .arg(&marker)
            .stderr(Pipe::null())
            .spawn()
            .unwrap();
        // The step's own command line, and not only the one of its caller.
        let mut step = None;
        wait_until("the step to run", || {
            step = find(&format!("sleep\0{marker}"));
            step.is_some()
        });
        (child, step.unwrap(), marker)
    }

    fn layers(&self) -> Vec<String> {
        let records = names(&self.root().join("s"));
        records
            .iter()
            .flat_map(|name| layers_of(&self.root().join("s").join(name)))
            .collect()
    }
}

impl House for OnDisk {
    type Backend = Local;

    fn backend(&self) -> &Local {
        &self.one
    }

    fn other(&self) -> &Local {
        &self.other
    }

    fn lose(&self, key: ContentKey) {
        let record = self.root().join(format!("s/{}.json", key.to_hex()));
        let layer = layers_of(&record).pop().unwrap();
        std::fs::remove_dir_all(self.root().join(layer)).unwrap();
    }

    async fn crash(&self) {
        let (mut child, _, marker) = self.bake_for_ever();
        child.kill().unwrap();
        child.wait().unwrap();
        wait_gone(&marker);
    }

    fn end(&self, sandbox: &SandboxId) {
        let first = self.root().join("k").join(&sandbox.0).join("first");
        let first = std::fs::read_to_string(first).unwrap();
        let (first, _) = first.split_once(' ').unwrap();
        let stat = std::fs::read_to_string(format!("/proc/{first}/stat")).unwrap();
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        let keeper = fields.split(' ').nth(1).unwrap().parse().unwrap();
        kill_process(Pid::from_raw(keeper).unwrap(), Signal::KILL).unwrap();
        let ended = || !Path::new(&format!("/proc/{first}")).exists();
        wait_until("the sandbox to end with its keeper", ended);
    }

    fn litter(&self) -> Vec<String> {
        let used = self.layers();
        let layers = names(&self.root().join("l"))
            .into_iter()
            .map(|name| format!("l/{name}"));
        let scratch = ["w", "k"].into_iter().flat_map(|folder| {
            let names = names(&self.root().join(folder)).into_iter();
            names.map(move |name| format!("{folder}/{name}"))
        });
        layers
            .filter(|layer| !used.contains(layer))
            .chain(scratch)
            .collect()
    }
}

pub(crate) fn wait_gone(marker: &str) {
    wait_until("the sandbox to end with its caller", || !is_running(marker));
}

/// What this program does with [`CRASH`].
pub(crate) async fn bake_for_ever(store: &str, marker: &str) -> ExitCode {
    let local = Local::open(Path::new(store), isolation()).unwrap();
    let step = format!("echo half > f && sleep {marker}");
    bake(&local, &request("crash", None, &[&step]))
        .await
        .unwrap();
    ExitCode::FAILURE
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn layers_of(record: &Path) -> Vec<String> {
    let record: serde_json::Value =
        serde_json::from_slice(&std::fs::read(record).unwrap()).unwrap();
    let layers = record["layers"].as_array().unwrap().iter();
    layers
        .map(|layer| layer["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Somebody who listens to a bake.
pub(crate) struct Caller {
    pub(crate) sink: Sink,
    pub(crate) events: Heard,
}

pub(crate) struct Heard(Events);

impl Caller {
    pub(crate) fn new() -> Self {
        let (sink, events) = channel();
        Self {
            sink: sink.of("node"),
            events: Heard(events),
        }
    }
}

impl Heard {
    /// Waits for a line of output.
    pub(crate) async fn until(&mut self, line: &str) {
        let wanted = Kind::Output(line.to_owned());
        let heard = async {
            while let Some(event) = self.0.recv().await {
                if event.kind == wanted {
                    return;
                }
            }
            panic!("the bake ended without printing {line}");
        };
        tokio::time::timeout(Duration::from_secs(30), heard)
            .await
            .expect("a line in time");
    }

    /// The notices that have come and were not taken yet.
    pub(crate) fn notices(&mut self) -> Vec<String> {
        let mut notices = Vec::new();
        while let Some(event) = self.0.try_recv() {
            if let Kind::Notice(notice) = event.kind {
                notices.push(notice);
            }
        }
        notices
    }

    /// The lines of output that have come and were not taken yet, without the log's own headlines.
    pub(crate) fn output(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(event) = self.0.try_recv() {
            if let Kind::Output(line) = event.kind {
                lines.push(line);
            }
        }
        lines.retain(|line| !line.starts_with("==> ") && !line.starts_with("--> "));
        lines
    }
}

pub(crate) async fn bake(
    backend: &impl Backend,
    request: &BakeRequest,
) -> Result<Baked, BakeError> {
    backend
        .bake(request, &Caller::new().sink, &Cancel::new())
        .await
}

/// Bakes what is not there yet.
pub(crate) async fn publish(backend: &impl Backend, request: &BakeRequest) -> Snapshot {
    match bake(backend, request).await.unwrap() {
        Baked::Published(snapshot) => *snapshot,
        Baked::Found(_) => panic!("{} was there", request.node),
    }
}

pub(crate) async fn presence(backend: &impl Backend, key: ContentKey) -> Presence {
    backend.probe(&[key]).await.unwrap().pop().unwrap()
}

pub(crate) async fn is_present(backend: &impl Backend, key: ContentKey) -> bool {
    matches!(presence(backend, key).await, Presence::Present(_))
}

/// No snapshot satisfies the request's key, and a bake of it works.
pub(crate) async fn assert_absent_and_bakeable(backend: &impl Backend, request: BakeRequest) {
    assert_eq!(presence(backend, request.key).await, Presence::Absent);
    assert_eq!(backend.list().await.unwrap(), []);
    let mut request = request;
    request.steps.truncate(1);
    "echo right > f".clone_into(&mut request.steps[0].command);
    publish(backend, &request).await;
    assert_eq!(content(backend, &request, "f").await, ["right"]);
}

pub(crate) fn sandbox_request(request: &BakeRequest) -> SandboxRequest {
    SandboxRequest {
        key: request.key,
        image: request.image.clone(),
        environment: Environment::default(),
        resources: request.resources.clone(),
        network: Network::Host,
        keep: None,
    }
}

/// Boots a sandbox that stays.
pub(crate) async fn keep(
    backend: &impl Backend,
    request: &BakeRequest,
    name: Option<&str>,
) -> Result<SandboxId, BackendError> {
    let mut request = sandbox_request(request);
    let name = name.map(str::to_owned);
    request.keep = Some(Keep { name });
    backend.boot(&request).await
}

pub(crate) async fn boot(backend: &impl Backend, request: &BakeRequest) -> SandboxId {
    backend.boot(&sandbox_request(request)).await.unwrap()
}

/// Runs a command in a sandbox; returns how it ended and what it printed.
pub(crate) async fn sh(
    backend: &impl Backend,
    sandbox: &SandboxId,
    command: &str,
) -> (Ending, Vec<String>) {
    let mut caller = Caller::new();
    let exec = exec(command, Stdio::Events(caller.sink.clone()));
    let ending = backend.exec(sandbox, &exec).await.unwrap();
    (ending, caller.events.output())
}

pub(crate) fn exec(command: &str, stdio: Stdio) -> Exec {
    Exec {
        command: ["sh", "-c", command].map(str::to_owned).to_vec(),
        folder: String::new(),
        stdio,
        variables: std::collections::BTreeMap::new(),
        environment: Environment::default(),
    }
}

/// A file of a snapshot, in a sandbox of its own.
pub(crate) async fn content(
    backend: &impl Backend,
    request: &BakeRequest,
    path: &str,
) -> Vec<String> {
    let sandbox = boot(backend, request).await;
    let (ending, lines) = sh(backend, &sandbox, &format!("cat {path}")).await;
    backend.destroy(&sandbox).await.unwrap();
    assert!(ending.success(), "{path} is not there");
    lines
}
