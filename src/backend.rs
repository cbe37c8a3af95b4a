//! What every backend does: find, bake, keep and boot snapshots. The laws are in `tests/conformance/`.
//!
//! A backend gets normalised requests, in which everything is decided: it knows nothing of files, plans or targets.

use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use atelier_lang::graph::{Cache, Resources, Shell, User};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::event::Sink;
use crate::git::Credential;
use crate::node::{ContentKey, ObjectId, TreeEntry};
use crate::resolve::{PinnedImage, RepoLocation};

pub mod kubernetes;
pub mod local;
pub mod memory;

/// Ends a bake or a boot that is under way; everything it started is gone when the call returns.
pub type Cancel = CancellationToken;

/// Stores snapshots by key, and makes and boots them.
pub trait Backend {
    /// The name in `--backend` and in JSON.
    fn name(&self) -> &'static str;

    /// Looks keys up, in the order asked. A backend that cannot be reached is an error, never a miss.
    async fn probe(&self, keys: &[ContentKey]) -> Result<Vec<Presence>, BackendError>;

    /// Bakes and publishes one node, or finds that another caller just did. Publishing is the last, atomic step.
    async fn bake(
        &self,
        request: &BakeRequest,
        events: &Sink,
        cancel: &Cancel,
    ) -> Result<Baked, BakeError>;

    /// All snapshots, oldest first.
    async fn list(&self) -> Result<Vec<Snapshot>, BackendError>;

    /// Removes a snapshot; its children stay whole. `false` if there was none.
    async fn remove(&self, key: ContentKey) -> Result<bool, BackendError>;

    /// Starts a sandbox with a copy-on-write view of a snapshot. One that is kept outlives this value and its process.
    ///
    /// A name in use is an error of [`Class::InUse`], unless it is that of a kept sandbox of the same snapshot which has
    /// ended: that one is started again on what it had written.
    async fn boot(&self, request: &SandboxRequest) -> Result<SandboxId, BackendError>;

    /// Runs a command in a sandbox and returns how it ended. In a kept one, several may run at a time, what they leave
    /// in the background goes on, and signals that this process gets are passed on to a command that has its streams.
    async fn exec(&self, sandbox: &SandboxId, command: &Exec) -> Result<Ending, BackendError>;

    /// Starts a command in a kept sandbox and leaves it to itself; its output goes to the sandbox's log. Returns how it
    /// ended if it could not be started.
    async fn start(
        &self,
        sandbox: &SandboxId,
        command: &Exec,
    ) -> Result<Option<Ending>, BackendError>;

    /// The sandboxes that anybody has kept, and those that this value has booted and not destroyed; oldest first.
    async fn sandboxes(&self) -> Result<Vec<Sandbox>, BackendError>;

    /// Ends a sandbox, whoever booted it, and forgets its writes. `false` if there was none.
    async fn destroy(&self, sandbox: &SandboxId) -> Result<bool, BackendError>;

    /// Removes what crashes have left behind; returns how many things that were.
    async fn sweep(&self) -> Result<usize, BackendError>;
}

/// What a probe found for a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Presence {
    Absent,
    Present(Box<Snapshot>),
    /// There is a record, but its data is gone or damaged: a miss, with what is wrong.
    Lost(String),
}

/// The record that is published together with the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    #[serde(with = "hex_key")]
    pub key: ContentKey,
    #[serde(with = "hex::serde")]
    pub preimage: Vec<u8>,
    /// The target it was baked for first; not part of its identity.
    pub node: String,
    #[serde(with = "hex_key::option")]
    pub parent: Option<ContentKey>,
    /// UTC, RFC 3339.
    pub created: String,
    pub durations: Durations,
    /// What this snapshot adds to its parent on disk, in bytes.
    pub bytes: u64,
    /// The commit of each repository, by path in the workspace.
    pub commits: BTreeMap<String, String>,
    /// The checks that passed before it was published.
    pub verified: Vec<String>,
}

/// Where the time of a bake went, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Durations {
    /// Repositories and files.
    pub checkout: f64,
    pub steps: f64,
    /// Flush, verification and publishing.
    pub publish: f64,
}

impl Durations {
    pub fn total(&self) -> f64 {
        self.checkout + self.steps + self.publish
    }
}

/// One node to bake, with everything decided.
#[derive(Debug)]
pub struct BakeRequest {
    pub key: ContentKey,
    pub preimage: Vec<u8>,
    pub node: String,
    /// The root file system; for a child, the one of the first ancestor.
    pub image: PinnedImage,
    pub parent: Option<ContentKey>,
    pub checkouts: Vec<Checkout>,
    pub files: Vec<WorkspaceFile>,
    pub steps: Vec<Step>,
    pub environment: Environment,
    pub caches: Vec<Cache>,
    pub resources: Resources,
    /// Fail if a step wrote outside of the workspace, where nothing is kept.
    pub strict_outside: bool,
    /// Bake although the key is present; the new snapshot replaces the old one when it is whole.
    pub force: bool,
}

/// One repository at one commit in the workspace.
#[derive(Clone, Debug)]
pub struct Checkout {
    /// Relative to /home/dev.
    pub path: String,
    pub location: RepoLocation,
    /// What becomes `origin`; empty for none.
    pub url: String,
    pub reference: String,
    pub commit: ObjectId,
    pub depth: u32,
    pub submodules: bool,
    pub lfs: bool,
    /// Which of its files are taken, without a `.git`; `None`: all of them, with it.
    pub only: Option<BTreeSet<TreeEntry>>,
    /// What ancestors took of the same repository, by paths in it: tracked files, if the commit has no such any more.
    pub taken: BTreeSet<String>,
    /// For the fetch alone.
    pub credential: Option<Credential>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkspaceFile {
    /// Relative to /home/dev.
    pub path: String,
    pub mode: u32,
    #[serde(with = "hex::serde")]
    pub content: Vec<u8>,
}

#[derive(Clone, Debug)]
pub struct Step {
    pub user: User,
    /// Relative to /home/dev.
    pub folder: String,
    pub shell: Shell,
    pub command: String,
    pub timeout: Duration,
    pub retry: u32,
}

impl Step {
    /// What is run: the shell, which gives up at the first failure, and the command.
    pub(crate) fn program(&self) -> Vec<String> {
        let shell: &[&str] = match self.shell {
            Shell::Bash => &["bash", "-euo", "pipefail", "-c"],
            Shell::Sh => &["sh", "-eu", "-c"],
        };
        let words = shell.iter().copied().chain([self.command.as_str()]);
        words.map(str::to_owned).collect()
    }
}

/// Variables and secrets of a bake's steps or of a sandbox, beyond those that are always there (cli.md).
#[derive(Clone, Debug, Default)]
pub struct Environment {
    pub variables: BTreeMap<String, String>,
    /// Folders before PATH, relative to /home/dev or absolute.
    pub path: Vec<String>,
    pub secrets: BTreeMap<String, SecretString>,
}

#[derive(Clone, Debug)]
pub struct SandboxRequest {
    pub key: ContentKey,
    pub image: PinnedImage,
    pub environment: Environment,
    pub resources: Resources,
    pub network: Network,
    /// The sandbox outlives the caller.
    pub keep: Option<Keep>,
}

/// How a sandbox is kept.
#[derive(Clone, Debug, Default)]
pub struct Keep {
    /// See [`is_sandbox_name`]; without one, the backend makes one up.
    pub name: Option<String>,
}

/// What of the network a sandbox sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// All that the machine sees.
    #[default]
    Host,
    /// A loopback device of its own.
    None,
}

/// Names a sandbox of a backend: that of a kept one is its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SandboxId(pub String);

/// A sandbox that is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Sandbox {
    pub id: SandboxId,
    /// `None` for one that ends with who booted it.
    pub name: Option<String>,
    /// The snapshot that it was booted from.
    pub key: ContentKey,
    /// That snapshot's target.
    pub node: String,
    /// UTC, RFC 3339.
    pub created: String,
    pub state: SandboxState,
    /// How many processes run in it, where that can be told.
    pub processes: Option<usize>,
    /// Where the output of what was started in it goes.
    pub log: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxState {
    Running,
    /// The machine was restarted, or something killed it. Its writes are there until it is destroyed.
    Ended,
}

/// Whether a kept sandbox can have this name: up to 63 letters, digits, `-`, `_` and `.`, of which the first is a letter
/// or a digit.
pub fn is_sandbox_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    name.len() <= 63
        && name.bytes().all(allowed)
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
}

#[derive(Clone, Debug)]
pub struct Exec {
    /// The program and its arguments; empty for a login shell.
    pub command: Vec<String>,
    /// Relative to /home/dev.
    pub folder: String,
    pub stdio: Stdio,
    /// What the sandbox's environment does not say itself, such as TERM.
    pub variables: BTreeMap<String, String>,
    /// For this command alone, over the sandbox's own.
    pub environment: Environment,
}

/// Where a command's input and output go.
#[derive(Clone, Debug)]
pub enum Stdio {
    /// The caller's own, a terminal or not.
    Inherit,
    /// No input; output is sent line by line.
    Events(Sink),
}

impl Stdio {
    /// Whether the command gets a terminal: the caller's own streams are one.
    pub fn is_terminal(&self) -> bool {
        let terminal = || std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        matches!(self, Self::Inherit) && terminal()
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    Exited(i32),
    Signalled(i32),
}

impl Ending {
    pub fn success(self) -> bool {
        self == Self::Exited(0)
    }

    /// What a shell would report: 128 and the signal's number after a signal.
    pub fn code(self) -> u8 {
        let code = match self {
            Self::Exited(code) => code,
            Self::Signalled(signal) => 128 + signal,
        };
        u8::try_from(code).unwrap_or(u8::MAX)
    }
}

/// A finished bake.
#[derive(Clone, Debug, PartialEq)]
pub enum Baked {
    Published(Box<Snapshot>),
    /// Somebody else published the same key while this call waited.
    Found(Box<Snapshot>),
}

/// Why a node was not baked. Nothing that satisfies its key is left.
#[derive(Debug, thiserror::Error)]
pub enum BakeError {
    #[error("step {} {ending}", index + 1)]
    Step {
        index: usize,
        ending: StepEnding,
        log: PathBuf,
    },
    /// A repository's commit or a registry's image could not be had.
    #[error(transparent)]
    Checkout(#[from] crate::resolve::PinError),
    #[error("the bake took longer than {} s in all", limit.as_secs())]
    Timeout { limit: Duration, log: PathBuf },
    /// What was written outside of the workspace, with the first names of it.
    #[error("{} outside of the workspace {} written", paths(*count), if *count == 1 { "was" } else { "were" })]
    Outside { count: usize, names: Vec<String> },
    /// Values of secrets are in the workspace: the names of the secrets, and where they were found.
    #[error("the workspace holds the value of {}", names.join(", "))]
    SecretInside {
        names: Vec<String>,
        paths: Vec<String>,
    },
    #[error("cancelled")]
    Cancelled,
    #[error(transparent)]
    Backend(#[from] BackendError),
}

fn paths(count: usize) -> String {
    match count {
        1 => "1 path".to_owned(),
        count => format!("{count} paths"),
    }
}

/// How a step failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepEnding {
    Failed(Ending),
    TimedOut(Duration),
    /// It was killed, or failed after a process of it was: its memory was used up. The limit, in bytes.
    OutOfMemory(u64),
}

impl std::fmt::Display for StepEnding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed(Ending::Exited(code)) => write!(f, "failed with exit status {code}"),
            Self::Failed(Ending::Signalled(signal)) => write!(f, "was ended by signal {signal}"),
            Self::TimedOut(limit) => write!(f, "ran into its time limit of {} s", limit.as_secs()),
            Self::OutOfMemory(limit) => {
                write!(f, "ran out of memory: its limit is {}", size(*limit))
            }
        }
    }
}

/// A size as a file has it: in the largest unit of which it is a whole number.
fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let whole = UNITS
        .into_iter()
        .find(|(unit, _)| bytes.is_multiple_of(*unit));
    match whole {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} B"),
    }
}

/// The backend or the machine failed.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct BackendError {
    pub class: Class,
    pub message: String,
    pub help: Option<String>,
}

/// What kind of failure it is, which decides what a caller can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// May work when tried again.
    Transient,
    /// The machine or cluster does not allow it.
    Denied,
    /// No room.
    Full,
    /// A snapshot, an image or a sandbox that was there is not.
    Lost,
    /// The caller wants what somebody else has, or what cannot be.
    InUse,
    /// A fault of atelier.
    Bug,
}

impl BackendError {
    pub fn new(class: Class, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            help: None,
        }
    }

    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

mod hex_key {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::node::ContentKey;

    pub(super) fn serialize<S: Serializer>(key: &ContentKey, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&key.to_hex())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<ContentKey, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }

    pub(super) mod option {
        use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

        use crate::node::ContentKey;

        #[expect(clippy::ref_option, reason = "the signature that serde calls")]
        pub(in super::super) fn serialize<S: Serializer>(
            key: &Option<ContentKey>,
            to: S,
        ) -> Result<S::Ok, S::Error> {
            key.map(ContentKey::to_hex).serialize(to)
        }

        pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
            from: D,
        ) -> Result<Option<ContentKey>, D::Error> {
            let text = Option::<String>::deserialize(from)?;
            text.map(|text| text.parse().map_err(D::Error::custom))
                .transpose()
        }
    }
}
