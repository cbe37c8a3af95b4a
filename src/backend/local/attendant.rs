//! Whoever sits between one caller and one process: forwards output and requests until either ends. A launcher does it
//! for what it starts; in a kept sandbox, a process of its own does it for each caller.

use std::io::{self, PipeWriter, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};

use super::descriptors;
use super::protocol::{HEAD, Refusal, Reply, Request, StdioKind, body_length, encode_reply};
use super::terminal::Terminal;

/// What a signal or a request is for.
#[derive(Clone, Copy)]
pub(super) enum Subject {
    /// The first process of a PID namespace, with all that is in it.
    Namespace(Pid),
    /// The first process of a session, and its jobs.
    Session(Pid),
}

impl Subject {
    pub(super) fn pid(self) -> Pid {
        let (Self::Namespace(pid) | Self::Session(pid)) = self;
        pid
    }

    fn signal(self, signal: Signal) -> rustix::io::Result<()> {
        match self {
            Self::Namespace(pid) => kill_process(pid, signal),
            Self::Session(leader) => kill_process_group(leader, signal),
        }
    }
}

/// The ends of what a process reads and writes that is not the caller's own.
pub(super) struct Ends {
    /// Read, and for a terminal written, by the attendant.
    outer: Option<OwnedFd>,
    /// For the process; nobody else may keep it open.
    pub pipe: Option<PipeWriter>,
    pub terminal: Option<OwnedFd>,
}

impl Ends {
    /// A terminal is of the sandbox whose root is at `root`.
    pub(super) fn open(stdio: StdioKind, root: &Path) -> Result<Self, Refusal> {
        let mut ends = Self {
            outer: None,
            pipe: None,
            terminal: None,
        };
        match stdio {
            StdioKind::Frames => {
                let (outer, inner) =
                    io::pipe().map_err(|error| Refusal::new("make a pipe", error))?;
                ends.outer = Some(outer.into());
                ends.pipe = Some(inner);
            }
            StdioKind::Terminal(size) => {
                let mut terminal = Terminal::open(root, size)?;
                ends.terminal = terminal.take_inner_side();
                ends.outer = Some(terminal.outer);
            }
            StdioKind::Inherit => {}
        }
        Ok(ends)
    }

    /// Closes the process's ends.
    pub(super) fn keep_outer(self) -> Option<OwnedFd> {
        self.outer
    }
}

/// Forwards output and requests until the process ends (`true`) or the caller goes away (`false`).
pub(super) fn attend(
    socket: &mut UnixStream,
    subject: Subject,
    output: Option<&OwnedFd>,
) -> io::Result<bool> {
    let process = pidfd_open(subject.pid(), PidfdFlags::empty())?;
    let mut output = output;
    loop {
        let mut watched = vec![
            PollFd::new(&process, PollFlags::IN),
            PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN),
        ];
        watched.extend(output.map(|output| PollFd::new(output, PollFlags::IN)));
        match poll(&mut watched, None) {
            Err(rustix::io::Errno::INTR) => continue,
            other => other?,
        };
        let ready: Vec<bool> = watched.iter().map(|fd| !fd.revents().is_empty()).collect();
        if ready.get(2) == Some(&true) && !forward(socket, output)? {
            output = None;
        }
        if ready[1] && !handle(socket, subject, output)? {
            return Ok(false);
        }
        if ready[0] {
            return Ok(true);
        }
    }
}

/// Carries out one request; `false` if the caller went away.
fn handle(
    socket: &mut UnixStream,
    subject: Subject,
    terminal: Option<&OwnedFd>,
) -> io::Result<bool> {
    let Some((request, _)) = receive::<Request>(socket)? else {
        return Ok(false);
    };
    match (request, terminal) {
        (Request::Kill, _) => subject.signal(Signal::KILL)?,
        (Request::Signal(number), _) => {
            if let Some(signal) = Signal::from_named_raw(number) {
                // It may have ended just now.
                subject.signal(signal).ok();
            }
        }
        (Request::Input(bytes), Some(terminal)) => {
            // A program that does not read must not stop its own end.
            rustix::io::write(terminal, &bytes).ok();
        }
        (Request::Resize(size), Some(terminal)) => {
            super::terminal::resize(terminal, size).unwrap_or(());
        }
        _ => {}
    }
    Ok(true)
}

/// Sends what can be read now; `false` at the end of the output.
fn forward(socket: &mut UnixStream, output: Option<&OwnedFd>) -> io::Result<bool> {
    let Some(output) = output else {
        return Ok(false);
    };
    let mut buffer = vec![0; PIECE];
    match rustix::io::read(output, &mut buffer) {
        Ok(0) | Err(rustix::io::Errno::IO) => Ok(false),
        Ok(length) => {
            buffer.truncate(length);
            send(socket, Reply::Output(buffer))?;
            Ok(true)
        }
        Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

const PIECE: usize = 64 << 10;

/// More than a pipe or a terminal can hold.
const HELD: usize = (2 << 20) / PIECE;

/// Every writer is dead; a terminal's end shows as an error, a pipe's as nothing to read.
pub(super) fn drain(socket: &mut UnixStream, output: &OwnedFd) -> io::Result<()> {
    while forward(socket, Some(output))? {}
    Ok(())
}

/// What was written by now: what runs on in the background may hold the other end open for ever.
pub(super) fn drain_what_is_there(socket: &mut UnixStream, output: &OwnedFd) -> io::Result<()> {
    let now = Timespec::default();
    for _ in 0..HELD {
        let mut watched = [PollFd::new(output, PollFlags::IN)];
        let ready = match poll(&mut watched, Some(&now)) {
            Err(rustix::io::Errno::INTR) => continue,
            other => other?,
        };
        if ready == 0 || !forward(socket, Some(output))? {
            break;
        }
    }
    Ok(())
}

pub(super) fn send(socket: &mut UnixStream, reply: Reply) -> io::Result<()> {
    socket.write_all(&encode_reply(reply)?)
}

/// One message, and the descriptors that came with it; `None` if the other side has closed.
pub(super) fn receive<T: serde::de::DeserializeOwned>(
    socket: &mut UnixStream,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut head = [0; HEAD];
    let mut come = Vec::new();
    let mut length = 0;
    while length < HEAD {
        match descriptors::receive(&*socket, &mut head[length..], &mut come) {
            Ok(0) => return Ok(None),
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    let mut body = vec![0; body_length(head)?];
    socket.read_exact(&mut body)?;
    Ok(Some((serde_json::from_slice(&body)?, come)))
}
