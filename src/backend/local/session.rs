//! Atelier's side of a sandbox: starts the launcher, tells it what to run, reads what it says.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};

use super::limits::{ControlGroups, Group, Limits};
use super::protocol::{
    HEAD, Layout, Process, Ready, Reply, Request, Workspace, Written, body_length, decode_reply,
    encode_request,
};
use super::way::Way;
use super::{descriptors, launcher, refusal};
use crate::backend::{BackendError, Class, Ending};

/// A launcher with its file systems mounted. Dropped, it dies, and the sandbox with it.
pub(super) struct Session {
    // Closed before the launcher is waited for.
    pub(super) line: Line,
    launcher: Launcher,
    ready: Ready,
    /// What limits it; removed when the launcher is gone.
    pub(super) group: Group,
}

/// A connection to whoever runs processes in a sandbox.
pub(super) struct Line {
    pub(super) requests: Requests,
    pub(super) replies: Replies,
}

/// How long a launcher may take to end what it runs: as many processes as the limits allow, on a machine that they have
/// kept busy.
const FAREWELL: Duration = Duration::from_secs(20);

/// How long one may take that has a workspace to empty.
const TIDYING: Duration = Duration::from_mins(10);

pub(super) struct Requests(OwnedWriteHalf);

pub(super) struct Replies {
    from: OwnedReadHalf,
    /// What has come and is not a whole frame yet; a receive that is given up loses nothing.
    come: Vec<u8>,
}

impl Session {
    /// Starts a launcher and waits until the sandbox is mounted.
    ///
    /// Called on the main thread: the launcher dies with the thread that started it.
    pub(super) async fn start(
        mut layout: Layout,
        groups: &ControlGroups,
        limits: &Limits,
    ) -> Result<Self, BackendError> {
        let (ours, theirs) = StdStream::pair().map_err(|error| broken("make a socket", error))?;
        let launcher = Launcher::start(&theirs.into(), layout.way);
        let launcher = launcher.map_err(|error| broken("start the launcher", error))?;
        // While it starts.
        let group = groups.group(limits);
        layout.groups = group.folders();
        ours.set_nonblocking(true)
            .map_err(|error| broken("use a socket", error))?;
        let ours = UnixStream::from_std(ours).map_err(|error| broken("use a socket", error))?;
        let mut session = Self {
            line: Line::over(ours),
            launcher,
            ready: Ready {
                workspace: Workspace::Overlaid,
                repositories: String::new(),
            },
            group,
        };
        session.line.requests.send(&layout).await?;
        match session.line.replies.receive().await? {
            Reply::Ready(ready) => {
                session.ready = ready;
                Ok(session)
            }
            reply => Err(odd(&reply, "start a sandbox")),
        }
    }

    /// What the workspace is made of.
    pub(super) fn workspace(&self) -> Workspace {
        self.ready.workspace
    }

    /// Where processes with [`super::protocol::Root::Tools`] see the fetched repositories.
    pub(super) fn repositories(&self) -> &str {
        &self.ready.repositories
    }

    /// Runs one process tree to its end. `output` gets what it prints, as it comes. May be given up, if [`Self::kill`]
    /// follows.
    pub(super) async fn run(
        &mut self,
        process: Process,
        output: impl AsyncFnMut(&[u8]),
    ) -> Result<Ending, BackendError> {
        self.line.run(process, output).await
    }

    /// What was written outside of the workspace so far; `None` where nobody can tell.
    pub(super) async fn outside(&mut self) -> Result<Option<Written>, BackendError> {
        self.line.requests.send(&Request::Outside).await?;
        match self.line.replies.receive().await? {
            Reply::Outside(written) => Ok(written),
            reply => Err(odd(&reply, "look outside of the workspace")),
        }
    }

    /// Puts what is in the workspace where it is published from.
    pub(super) async fn capture(&mut self) -> Result<(), BackendError> {
        self.line.requests.send(&Request::Capture).await?;
        match self.line.replies.receive().await? {
            Reply::Captured => Ok(()),
            reply => Err(odd(&reply, "capture the workspace")),
        }
    }

    /// Has the sandbox kept by a process of its own, which holds `lock` and listens on `socket`. Returns the number of the
    /// sandbox's first process. Until [`Self::confirm`], the sandbox still ends with this value.
    pub(super) async fn keep(
        &mut self,
        lock: BorrowedFd<'_>,
        socket: BorrowedFd<'_>,
    ) -> Result<i32, BackendError> {
        let requests = &mut self.line.requests;
        requests.send_with(&Request::Keep, &[lock, socket]).await?;
        match self.line.replies.receive().await? {
            Reply::Kept(first) => Ok(first),
            reply => Err(odd(&reply, "keep the sandbox")),
        }
    }

    /// From here on the sandbox does without this value.
    pub(super) async fn confirm(
        &mut self,
        secrets: BTreeMap<String, String>,
    ) -> Result<(), BackendError> {
        self.line.requests.send(&Request::Confirm(secrets)).await?;
        self.group.leave();
        Ok(())
    }

    /// Waits until the launcher has left the sandbox to its keeper.
    pub(super) async fn part(mut self) -> Result<(), BackendError> {
        match self.launcher.process.wait().await {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(ended()),
            Err(error) => Err(broken("wait for the launcher", error)),
        }
    }

    /// Ends the process that runs, if one does, and reads on until it is gone.
    pub(super) async fn kill(&mut self) -> Result<(), BackendError> {
        let killed = async {
            self.line.requests.send(&Request::Kill).await?;
            while !matches!(
                self.line.replies.receive().await?,
                Reply::Ended(_) | Reply::Refused(_)
            ) {}
            Ok(())
        };
        let killed = tokio::time::timeout(FAREWELL, killed).await;
        // Something has stopped it; what it runs ends with it.
        killed.unwrap_or_else(|_| {
            self.launcher.process.start_kill().ok();
            Err(ended())
        })
    }

    /// Ends the sandbox; when this returns, its processes and mounts are gone.
    pub(super) async fn end(mut self) {
        drop(self.line);
        // Alone, it ends and reaps what it runs before it ends itself. Killed, it could not wait for that.
        let farewell = if self.launcher.tidies {
            TIDYING
        } else {
            FAREWELL
        };
        let ended = tokio::time::timeout(farewell, self.launcher.process.wait()).await;
        if ended.is_err() {
            self.launcher.process.kill().await.ok();
        }
    }
}

impl Line {
    pub(super) fn over(socket: UnixStream) -> Self {
        let (from, to) = socket.into_split();
        Self {
            requests: Requests(to),
            replies: Replies {
                from,
                come: Vec::new(),
            },
        }
    }

    /// Runs one process to its end. `output` gets what it prints, as it comes.
    pub(super) async fn run(
        &mut self,
        process: Process,
        mut output: impl AsyncFnMut(&[u8]),
    ) -> Result<Ending, BackendError> {
        self.requests.send(&Request::Run(Box::new(process))).await?;
        loop {
            match self.replies.receive().await? {
                Reply::Output(bytes) => output(&bytes).await,
                Reply::Ended(ending) => return Ok(ending),
                reply => return Err(odd(&reply, "run a process")),
            }
        }
    }
}

impl Requests {
    pub(super) async fn send(
        &mut self,
        message: &impl serde::Serialize,
    ) -> Result<(), BackendError> {
        self.send_with(message, &[]).await
    }

    /// Descriptors go with the message.
    pub(super) async fn send_with(
        &mut self,
        message: &impl serde::Serialize,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(), BackendError> {
        let frame = encode_request(message).map_err(|error| broken("encode a request", error))?;
        self.write(&frame, descriptors)
            .await
            .map_err(|error| unheard(&error))
    }

    async fn write(&mut self, frame: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut sent = 0;
        while sent == 0 && !descriptors.is_empty() {
            let socket: &UnixStream = self.0.as_ref();
            socket.writable().await?;
            let send = || descriptors::send(socket, frame, descriptors);
            match socket.try_io(Interest::WRITABLE, send) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => sent = other?,
            }
        }
        self.0.write_all(&frame[sent..]).await
    }
}

impl Replies {
    pub(super) async fn receive(&mut self) -> Result<Reply, BackendError> {
        loop {
            match take_frame(&mut self.come) {
                Ok(Some(reply)) => return Ok(reply),
                Ok(None) => {}
                Err(error) => return Err(broken("understand the launcher", error)),
            }
            match self.from.read_buf(&mut self.come).await {
                Ok(0) => return Err(ended()),
                Ok(_) => {}
                Err(error) => return Err(unheard(&error)),
            }
        }
    }
}

/// Takes the first frame out of `come`, if it is whole.
fn take_frame(come: &mut Vec<u8>) -> std::io::Result<Option<Reply>> {
    let Some(head) = come.first_chunk::<HEAD>().copied() else {
        return Ok(None);
    };
    let end = HEAD + body_length(head)?;
    if come.len() < end {
        return Ok(None);
    }
    let body = come[HEAD..end].to_vec();
    come.drain(..end);
    decode_reply(head, body).map(Some)
}

/// The launcher's process.
struct Launcher {
    process: Child,
    /// It ends by itself when its socket closes, and has to: killed, it would leave processes, and a workspace.
    tidies: bool,
}

impl Launcher {
    fn start(socket: &OwnedFd, way: Way) -> std::io::Result<Self> {
        // Nothing else is started between here and the end of this function: this thread starts all processes.
        rustix::io::fcntl_setfd(socket, rustix::io::FdFlags::empty())?;
        let tidies = way.is_direct();
        // It may outlive its caller, whose variables are nobody's business; some of them may be secrets.
        let path = std::env::var_os("PATH").map(|path| ("PATH", path));
        let process = Command::new("/proc/self/exe")
            .env_clear()
            .envs(path)
            .arg(launcher::ARGUMENT)
            .arg(socket.as_raw_fd().to_string())
            .arg(std::process::id().to_string())
            .stdin(Stdio::inherit())
            // A terminal's Ctrl-C is for atelier, which decides what becomes of the sandbox.
            .process_group(0)
            .kill_on_drop(!tidies)
            .spawn()?;
        Ok(Self { process, tidies })
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        // A dropped session's socket is closed by now. Who has no time for more leaves the rest to the launcher.
        let began = Instant::now();
        while self.tidies
            && matches!(self.process.try_wait(), Ok(None))
            && began.elapsed() < FAREWELL
        {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// What a reply means that is not the one hoped for.
pub(super) fn odd(reply: &Reply, operation: &str) -> BackendError {
    match reply {
        Reply::Refused(refused) => refusal::describe(refused),
        _ => broken(operation, "an odd reply"),
    }
}

/// The other side goes away at any time, and does not read first what was sent to it.
fn unheard(error: &io::Error) -> BackendError {
    use io::ErrorKind::{BrokenPipe, ConnectionReset};
    match error.kind() {
        BrokenPipe | ConnectionReset => ended(),
        _ => broken("talk to the launcher", error),
    }
}

fn ended() -> BackendError {
    let message = "the sandbox has ended: something killed it, or the machine is out of memory";
    BackendError::new(Class::Transient, message)
}

pub(super) fn broken(operation: &str, error: impl std::fmt::Display) -> BackendError {
    BackendError::new(Class::Bug, format!("cannot {operation}: {error}"))
}
