//! What a backend and the runner say to each other.
//!
//! The runner is a program that stands beside the steps, in a pod or wherever else atelier itself cannot be. It is called in
//! one of three ways, each of which reads one request from its standard input and writes events to its standard output:
//!
//! ```text
//! atelier-runner checkout --volume DIR [--parent DIR] [--copy-to DIR]    a CheckoutRequest
//! atelier-runner steps    --volume DIR [--workspace DIR]                 a StepsRequest
//! atelier-runner verify   --volume DIR                                   a VerifyRequest
//! ```
//!
//! **The volume** is a file system that is the caller's own, to be written by the user that the runner runs as. It holds the
//! workspace in [`WORKSPACE`], and in [`MANIFEST`] its description once the steps are done. Both have to be seen by `steps`
//! as well: it is given the whole volume at DIR, and the workspace alone, without what a driver adds to it, at
//! `--workspace` (`/home/dev`), where the steps work. Whatever else `checkout` and `steps` find in the volume they remove
//! (`lost+found` alone stays, which cannot be). Caches may be mounted in the folder given as `--workspace`: what is described
//! and published is the one below DIR. With `--parent`, the workspace of another volume is copied into it first, as it is.
//!
//! **A request** is a length in four little-endian bytes, and JSON. In a [`CheckoutRequest`] the attachments follow, each a
//! length in eight little-endian bytes, and that many bytes. What comes after that is not read, and the end is not waited for.
//! The first event is [`Kind::Request`], with the request's nonce: it alone proves that all of it has arrived.
//!
//! **Events** are lines of JSON, numbered from 1 on without a gap. Secrets are masked in all of them. None is longer than
//! [`LONGEST_LINE`], which what keeps logs takes as one line. The last one is [`Kind::Result`]: a runner that ends without it
//! was killed. It exits with 0 for success, 1 for a result that is [`Outcome::Failed`], 143 if it was asked to end by SIGTERM
//! (the result is then [`Failure::Terminated`]), and 2, without any event, if it was called in a way that it does not know.
//!
//! Once its result is written, nothing that a step started is running, and what is in the volume has been flushed.
//!
//! A request may hold secrets, so it cannot be printed.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::backend::{Ending, WorkspaceFile};

/// Of the workspace in the volume.
pub const WORKSPACE: &str = "ws";

/// Of the workspace's manifest in the volume: compressed, as in a store of the local backend.
pub const MANIFEST: &str = "manifest";

/// Where the workspace is while steps run, unless `--workspace` says otherwise.
pub const HOME: &str = "/home/dev";

/// The largest request without its attachments, in bytes.
pub const LARGEST_REQUEST: u32 = 64 << 20;

/// The largest sum of a request's attachments, in bytes. What is larger has to be pushed somewhere first.
pub const LARGEST_ATTACHMENTS: u64 = 256 << 20;

/// Container runtimes cut longer lines, in bytes.
pub const LONGEST_LINE: usize = 16 << 10;

/// The exit code of a runner that was asked to end.
pub const TERMINATED: u8 = 143;

/// To make the workspace ready for its steps: in an empty volume, or in one that holds the workspace of a parent.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckoutRequest {
    pub nonce: String,
    pub checkouts: Vec<Checkout>,
    pub files: Vec<WorkspaceFile>,
    /// Folders of the workspace that something will be mounted on, such as a cache: made as the user's own.
    #[serde(default)]
    pub folders: Vec<String>,
    pub network: Network,
    /// For the whole of this request.
    pub limit: Duration,
    /// How many attachments follow.
    pub attachments: usize,
}

/// How servers are reached.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Variables such as `HTTPS_PROXY`, which may hold logins.
    pub variables: BTreeMap<String, String>,
    /// By host, with `:port` unless that is the usual one.
    pub hosts: BTreeMap<String, Host>,
    /// Certificates in PEM that vouch for the other ones; without them, those of the image that the runner is in.
    pub certificates: Option<String>,
}

/// How one server of repositories is reached; see [`crate::git::Host`].
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// What stands beside a token.
    pub user: Option<String>,
    /// Certificates in PEM: they alone vouch for it.
    pub certificates: Option<String>,
}

/// One repository at one commit; see [`crate::backend::Checkout`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkout {
    /// In the workspace.
    pub path: String,
    /// What becomes `origin`, and where the commit is fetched unless it is attached; empty for none.
    pub url: String,
    pub reference: String,
    /// In hexadecimal digits.
    pub commit: String,
    pub depth: u32,
    pub submodules: bool,
    pub lfs: bool,
    pub only: Option<Vec<Entry>>,
    pub taken: Vec<String>,
    /// For the fetch alone.
    pub credential: Option<Login>,
    /// Which attachment holds what has been fetched already, by [`super::attachment::pack`]: a repository that the runner
    /// cannot reach, such as one on the caller's disk.
    pub attachment: Option<usize>,
}

/// One path of a commit's tree; see [`crate::node::TreeEntry`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub path: String,
    pub mode: String,
    /// In hexadecimal digits; `None` for a stub.
    pub object: Option<String>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// Without one, the one of the server.
    pub user: Option<String>,
    pub token: String,
}

/// To run steps in a workspace that is checked out, as the user that the runner runs as, and to describe what they made of
/// it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepsRequest {
    pub nonce: String,
    pub steps: Vec<Step>,
    /// The whole environment of a step, secrets included: nothing is added to it.
    pub variables: Vec<(String, String)>,
    /// What is masked in events, and searched for in the workspace: also logins that no step gets.
    pub secrets: Vec<Secret>,
    /// The repositories that have to be whole when the steps are done, by their paths in the workspace.
    pub checkouts: Vec<String>,
    /// For the whole of this request.
    pub limit: Duration,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// In the workspace; empty for its root.
    pub folder: String,
    pub shell: Shell,
    pub command: String,
    pub timeout: Duration,
    pub retry: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shell {
    Bash,
    Sh,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Secret {
    /// What people call it, such as `secret TOKEN` or `the login of https://…`.
    pub name: String,
    pub value: String,
}

/// To compare a workspace with its manifest. The volume may be read-only.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifyRequest {
    pub nonce: String,
    /// The digest of the manifest, in hexadecimal digits: that of [`Baked::manifest`].
    pub manifest: String,
    /// The repositories that have to be whole, by their paths in the workspace.
    pub checkouts: Vec<String>,
    /// For the whole of this request.
    pub limit: Duration,
}

/// One line of a runner's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// From 1 on.
    pub seq: u64,
    #[serde(flatten)]
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// The whole request has arrived.
    Request { nonce: String },
    /// A phase begins, in words for people.
    Phase { text: String },
    /// One line of output, without its line end; or, with `more`, a piece of one that goes on in the next such event.
    Output {
        text: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        more: bool,
    },
    /// Something to know that is no failure.
    Notice { text: String },
    /// One try of a step has ended, and nothing of it is running.
    Step {
        /// From 0 on.
        index: usize,
        ending: StepEnding,
        seconds: f64,
    },
    /// The end.
    Result { outcome: Outcome },
}

/// How a try of a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepEnding {
    Ended(Ending),
    /// After so long.
    TimedOut(Duration),
    /// A process of it was killed, however it ended itself: its memory was used up. The limit, in bytes.
    OutOfMemory(u64),
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    CheckedOut(CheckedOut),
    Baked(Baked),
    /// The workspace is as its manifest says. The checks that were made, in words for people.
    Verified(Vec<String>),
    Failed(Failure),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckedOut {
    /// How long it took once the request was there.
    pub seconds: f64,
}

/// What the steps made of the workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baked {
    /// The digest of its manifest, in hexadecimal digits.
    pub manifest: String,
    /// What it uses of the disk.
    pub bytes: u64,
    pub steps_seconds: f64,
    /// The end of what steps left, flush, checks and description.
    pub describe_seconds: f64,
    /// The checks that passed, in words for people.
    pub verified: Vec<String>,
}

/// Why a request came to nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// A step failed in its last try.
    Step { index: usize, ending: StepEnding },
    /// A repository's commit could not be had: see [`crate::resolve::PinError`].
    Checkout {
        input: String,
        cause: String,
        help: String,
    },
    /// The limit of the whole request was reached.
    Timeout { limit: Duration },
    /// Values of secrets are in the workspace: the names of the secrets, and where they were found.
    SecretInside {
        names: Vec<String>,
        paths: Vec<String>,
    },
    /// The workspace is not as its manifest says: how many differences there are, and the first ones in words.
    Damaged { count: usize, first: Vec<String> },
    /// The runner was asked to end.
    Terminated,
    /// The machine, the volume or the request is not as it has to be.
    Machine {
        class: Class,
        message: String,
        help: Option<String>,
    },
}

/// See [`crate::backend::Class`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    Transient,
    Denied,
    Full,
    Lost,
    InUse,
    Bug,
}
