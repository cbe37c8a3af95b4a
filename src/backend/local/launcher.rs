//! The process between atelier and a sandbox: it has one thread, a mount namespace of its own, and one child at a time,
//! the first process of a PID namespace. It does what it is told and decides nothing. (Without a sandbox, see
//! `direct.rs`.)
//!
//! Killed, by whatever, it takes the sandbox with it: its children die with their parent, and its mounts with their
//! namespace. So atelier's own death needs no clean-up but that of a folder.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getppid, kill_process, pidfd_open,
    set_parent_process_death_signal, waitpid,
};

use super::init;
use super::limits::{Joined, Membership};
use super::place::Place;
use super::protocol::{
    self, HEAD, Layout, Process, Refusal, Reply, Request, StdioKind, body_length, encode_reply,
};
use super::store;
use super::terminal::Terminal;
use super::{userns, work};
use crate::backend::Ending;
use crate::sys;

/// The hidden first argument that makes this program one of those that atelier starts for itself.
pub const ARGUMENT: &str = protocol::ARGUMENT;

/// Runs as a launcher, whose `arguments` are the socket's number and the parent's process id, or as one of the other
/// processes that this program starts for itself.
pub fn main(arguments: &[String]) -> ExitCode {
    if sys::keep_descriptors().is_err() {
        return ExitCode::FAILURE;
    }
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        [store::REAP] => store::empty_trash(),
        [work::WORK, parent] => number(parent).and_then(work::main),
        [socket, parent] => number(socket)
            .and_then(|socket| number(parent).and_then(|parent| serve(socket, parent))),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn number(word: &str) -> io::Result<i32> {
    word.parse().map_err(io::Error::other)
}

/// From here on the parent's death is this process's; `false` if it is dead already. Called again after a change of
/// identity, which makes the kernel forget.
pub(super) fn watch(parent: i32) -> io::Result<bool> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    Ok(getppid().map(Pid::as_raw_pid) == Some(parent))
}

fn serve(socket: i32, parent: i32) -> io::Result<()> {
    let mut socket = UnixStream::from(sys::inherited(socket));
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    sys::leave_keyring();
    let Some(layout) = receive::<Layout>(&mut socket)? else {
        return Ok(());
    };
    // As the caller, whose groups they are.
    let groups = Membership::open(&layout.groups)
        .and_then(|groups| userns::enter(layout.way).map(|()| groups));
    let groups = match groups {
        Ok(groups) => groups,
        Err(refusal) => return send(&mut socket, Reply::Refused(refusal)),
    };
    // Without a sandbox nothing ends and tidies up but this process, which hears of its parent's death from the socket.
    if !layout.way.is_direct() && !watch(parent)? {
        return Ok(());
    }
    let mut place = match Place::prepare(layout) {
        Ok(place) => place,
        Err(refusal) => return send(&mut socket, Reply::Refused(refusal)),
    };
    send(&mut socket, Reply::Ready(place.ready()))?;
    while let Some(request) = receive::<Request>(&mut socket)? {
        let reply = match request {
            Request::Run(process) => match run(&mut socket, &mut place, &groups, &process) {
                Ok(Some(ending)) => Reply::Ended(ending),
                Ok(None) => return Ok(()),
                Err(refusal) => Reply::Refused(refusal),
            },
            Request::Outside => Reply::Outside(place.outside()),
            Request::Capture => match place.capture() {
                Ok(()) => Reply::Captured,
                Err(refusal) => Reply::Refused(refusal),
            },
            // It comes too late: the process it was for has ended.
            Request::Input(_) | Request::Resize(_) | Request::Kill => continue,
        };
        send(&mut socket, reply)?;
    }
    Ok(())
}

/// Runs one process tree to its end; `None` if atelier went away.
fn run(
    socket: &mut UnixStream,
    place: &mut Place,
    groups: &Membership,
    process: &Process,
) -> Result<Option<Ending>, Refusal> {
    let root = place.root(process.root)?;
    let mut terminal = match process.stdio {
        StdioKind::Terminal(size) => Some(Terminal::open(&root, size)?),
        StdioKind::Frames | StdioKind::Inherit => None,
    };
    let (output, child_output) = match process.stdio {
        StdioKind::Frames => {
            Some(io::pipe().map_err(|error| Refusal::new("make a pipe", error))?).unzip()
        }
        StdioKind::Inherit | StdioKind::Terminal(_) => (None, None),
    };
    let (report, child_report) = io::pipe().map_err(|error| Refusal::new("make a pipe", error))?;
    let pid = match place.fork(groups)? {
        Joined::Parent(pid) => pid,
        Joined::Child(joined) => {
            let terminal = terminal.as_mut().and_then(Terminal::take_inner_side);
            // The launcher alone reads it: that tells whether it is still there.
            drop(report);
            init::main(
                joined,
                &root,
                place,
                process,
                child_output,
                terminal.as_ref(),
                child_report,
            )
        }
    };
    drop((child_output, child_report));
    if let Some(terminal) = &mut terminal {
        drop(terminal.take_inner_side());
    }
    let output = output
        .map(OwnedFd::from)
        .or_else(|| terminal.map(|terminal| terminal.outer));
    let attended = attend(socket, pid, output.as_ref());
    // Whatever happened, nothing of the tree is left when this returns.
    kill_process(pid, Signal::KILL).ok();
    waitpid(Some(pid), WaitOptions::empty()).map_err(|error| Refusal::new("wait", error))?;
    place.end_processes()?;
    let here = attended.map_err(|error| Refusal::new("attend the process", error))?;
    if let Some(output) = &output {
        drain(socket, output).map_err(|error| Refusal::new("read the output", error))?;
    }
    if here {
        init::read_report(report).map(Some)
    } else {
        Ok(None)
    }
}

/// Forwards output and requests until the process ends (`true`) or atelier goes away (`false`).
fn attend(socket: &mut UnixStream, pid: Pid, output: Option<&OwnedFd>) -> io::Result<bool> {
    let process = pidfd_open(pid, PidfdFlags::empty())?;
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
        if ready[1] && !handle(socket, pid, output)? {
            return Ok(false);
        }
        if ready[0] {
            return Ok(true);
        }
    }
}

/// Carries out one request; `false` if atelier went away.
fn handle(socket: &mut UnixStream, pid: Pid, terminal: Option<&OwnedFd>) -> io::Result<bool> {
    match (receive::<Request>(socket)?, terminal) {
        (None, _) => return Ok(false),
        (Some(Request::Kill), _) => kill_process(pid, Signal::KILL)?,
        (Some(Request::Input(bytes)), Some(terminal)) => {
            // A program that does not read must not stop its own end.
            rustix::io::write(terminal, &bytes).ok();
        }
        (Some(Request::Resize(size)), Some(terminal)) => {
            super::terminal::resize(terminal, size).unwrap_or(());
        }
        (Some(_), _) => {}
    }
    Ok(true)
}

/// Sends what can be read now; `false` at the end of the output.
fn forward(socket: &mut UnixStream, output: Option<&OwnedFd>) -> io::Result<bool> {
    let Some(output) = output else {
        return Ok(false);
    };
    let mut buffer = vec![0; 64 << 10];
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

/// Every writer is dead; a terminal's end shows as an error, a pipe's as nothing to read.
fn drain(socket: &mut UnixStream, output: &OwnedFd) -> io::Result<()> {
    while forward(socket, Some(output))? {}
    Ok(())
}

fn send(socket: &mut UnixStream, reply: Reply) -> io::Result<()> {
    socket.write_all(&encode_reply(reply)?)
}

/// `None` if the other side has closed.
fn receive<T: serde::de::DeserializeOwned>(socket: &mut UnixStream) -> io::Result<Option<T>> {
    let mut head = [0; HEAD];
    match socket.read_exact(&mut head) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let mut body = vec![0; body_length(head)?];
    socket.read_exact(&mut body)?;
    Ok(Some(serde_json::from_slice(&body)?))
}
