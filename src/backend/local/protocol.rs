//! What atelier and a sandbox's launcher, or who keeps a sandbox, say to each other over a socket: frames of a length, a kind and a body.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use atelier_lang::graph::User;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::way::Way;
use crate::backend::{Ending, Network, WorkspaceFile};
use crate::resolve::host::HostPath;

/// The hidden first argument that makes this program one of those that atelier starts for itself.
pub(super) const ARGUMENT: &str = "__sandbox";

/// The largest frame that is taken; files of a bake are the largest thing that is sent.
const LIMIT: u32 = 256 << 20;

/// The file systems of a sandbox. Names are relative to the store, so that many layers fit in one mount call.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Layout {
    pub way: Way,
    pub store: PathBuf,
    /// The folder that belongs to this sandbox alone, relative to the store.
    pub scratch: String,
    /// The folder that takes the writes to the workspace, relative to the store, if it is not `scratch`: it may hold those
    /// of an earlier start.
    pub writes: Option<String>,
    pub root: RootLayers,
    /// The trees of the workspace's layers, lowest first.
    pub workspace: Vec<String>,
    /// Kept folders, by where they are mounted: relative to /home/dev, or absolute.
    pub caches: Vec<CacheMount>,
    pub hostname: String,
    pub network: Network,
    /// Control groups that limit what runs in it.
    pub groups: Vec<GroupFolder>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct GroupFolder {
    pub version: Version,
    pub path: PathBuf,
}

/// Of control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Version {
    One,
    Two,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CacheMount {
    /// From the store on.
    pub source: String,
    pub target: String,
}

/// What a sandbox's root file system is made of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum RootLayers {
    /// The machine's own system folders; `hidden` are absolute paths below /etc, `extra` what is shown beside.
    Host {
        hidden: Vec<PathBuf>,
        extra: Vec<HostPath>,
    },
    /// The trees of unpacked image layers, lowest first, relative to the store.
    Image(Vec<String>),
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    Run(Box<Process>),
    /// Input for the process that runs; only with a terminal.
    Input(Vec<u8>),
    Resize(WindowSize),
    /// Ends the process that runs, with everything it started.
    Kill,
    /// Tells what was written outside of the workspace.
    Outside,
    /// Puts what is in the workspace where it is published from, if it is not there.
    Capture,
    /// For the process that runs in a kept sandbox, and the jobs of its session.
    Signal(i32),
    /// Makes the launcher one that keeps the sandbox. With it come the lock of the sandbox's folder, and the socket on
    /// which to listen.
    Keep,
    /// From here on the sandbox does without who started it. The values of secrets, by name.
    Confirm(BTreeMap<String, String>),
    /// Runs a process in a kept sandbox, and does not wait for its end. Its streams come with it. Which of its variables are
    /// secrets, beside the sandbox's own.
    Start(Box<Process>, Vec<String>),
    /// Ends a kept sandbox.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WindowSize {
    pub rows: u16,
    pub columns: u16,
}

/// One process tree in the sandbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Process {
    pub root: Root,
    pub user: User,
    /// Absolute, in the sandbox.
    pub folder: String,
    pub environment: Vec<(String, String)>,
    pub action: Action,
    pub stdio: StdioKind,
}

/// Which root file system a process sees; /home/dev is the same in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Root {
    /// The node's image.
    Image,
    /// The machine's own programs, for what atelier itself does: an image needs no git.
    Tools,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Action {
    /// A program, found on the environment's PATH, and its arguments.
    Run(Vec<String>),
    /// A file to write below /home/dev.
    Write(WorkspaceFile),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum StdioKind {
    /// No input; output comes back in frames.
    Frames,
    /// The launcher's own, which are those of atelier; in a kept sandbox, those that come with the request.
    Inherit,
    /// A new terminal of this size; input and output go through frames.
    Terminal(WindowSize),
}

#[derive(Debug)]
pub(super) enum Reply {
    /// The workspace is there, and processes can be run.
    Ready(Ready),
    /// The sandbox can be kept; its first process, as the machine sees it.
    Kept(i32),
    /// The process runs.
    Started,
    Output(Vec<u8>),
    Ended(Ending),
    /// `None` if it is not known.
    Outside(Option<Written>),
    Captured,
    /// The machine said no.
    Refused(Refusal),
}

/// What a launcher has prepared.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ready {
    pub workspace: Workspace,
    /// Where processes with [`Root::Tools`] see the fetched repositories.
    pub repositories: String,
}

/// What a sandbox's workspace is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Workspace {
    /// A new layer over those of the snapshot.
    Overlaid,
    /// A copy of them: overlays cannot be mounted here. In bytes; cloned ones share their room.
    Copied { copied: u64, cloned: u64 },
    /// A folder of the machine, filled from them; there is no sandbox.
    Direct,
}

/// What was written outside of the workspace.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Written {
    pub count: usize,
    /// The first of them, as the sandbox sees them.
    pub names: Vec<String>,
}

/// An operation that failed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Refusal {
    /// Such as `mount /proc`.
    pub operation: String,
    /// The error number, if it was the kernel that said no.
    pub errno: Option<i32>,
    pub cause: String,
}

/// The replies that travel as JSON; output goes as it is.
#[derive(Serialize, Deserialize)]
enum Message {
    Ready(Ready),
    Kept(i32),
    Started,
    Ended(Ending),
    Outside(Option<Written>),
    Captured,
    Refused(Refusal),
}

const JSON: u8 = b'j';
const OUTPUT: u8 = b'o';

/// The length of a frame's head: a little-endian length and a kind.
pub(super) const HEAD: usize = 5;

impl Refusal {
    pub(super) fn new(operation: impl Into<String>, error: impl Into<io::Error>) -> Self {
        let error = error.into();
        // An error that has been given a place has lost its number.
        let of_kind = || match error.kind() {
            io::ErrorKind::StorageFull => Some(Errno::NOSPC.raw_os_error()),
            io::ErrorKind::QuotaExceeded => Some(Errno::DQUOT.raw_os_error()),
            _ => None,
        };
        Self {
            operation: operation.into(),
            errno: error.raw_os_error().or_else(of_kind),
            cause: error.to_string(),
        }
    }
}

/// The length of the body that follows a head.
pub(super) fn body_length(head: [u8; HEAD]) -> io::Result<usize> {
    let [a, b, c, d, _] = head;
    match u32::from_le_bytes([a, b, c, d]) {
        length if length <= LIMIT => Ok(length as usize),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a frame that is too large",
        )),
    }
}

fn frame(kind: u8, body: &[u8]) -> io::Result<Vec<u8>> {
    let length = u32::try_from(body.len())
        .ok()
        .filter(|length| *length <= LIMIT);
    let length = length.ok_or(io::ErrorKind::InvalidInput)?;
    let mut frame = length.to_le_bytes().to_vec();
    frame.push(kind);
    frame.extend_from_slice(body);
    Ok(frame)
}

pub(super) fn encode_request(message: &impl Serialize) -> io::Result<Vec<u8>> {
    frame(JSON, &serde_json::to_vec(message)?)
}

pub(super) fn encode_reply(reply: Reply) -> io::Result<Vec<u8>> {
    let message = match reply {
        Reply::Output(bytes) => return frame(OUTPUT, &bytes),
        Reply::Ready(ready) => Message::Ready(ready),
        Reply::Kept(first) => Message::Kept(first),
        Reply::Started => Message::Started,
        Reply::Ended(ending) => Message::Ended(ending),
        Reply::Outside(written) => Message::Outside(written),
        Reply::Captured => Message::Captured,
        Reply::Refused(refusal) => Message::Refused(refusal),
    };
    frame(JSON, &serde_json::to_vec(&message)?)
}

pub(super) fn decode_reply(head: [u8; HEAD], body: Vec<u8>) -> io::Result<Reply> {
    if head[HEAD - 1] == OUTPUT {
        return Ok(Reply::Output(body));
    }
    Ok(match serde_json::from_slice(&body)? {
        Message::Ready(ready) => Reply::Ready(ready),
        Message::Kept(first) => Reply::Kept(first),
        Message::Started => Reply::Started,
        Message::Ended(ending) => Reply::Ended(ending),
        Message::Outside(written) => Reply::Outside(written),
        Message::Captured => Reply::Captured,
        Message::Refused(refusal) => Reply::Refused(refusal),
    })
}
