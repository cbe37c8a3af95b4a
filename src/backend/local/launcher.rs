//! The process between atelier and a sandbox: it has one thread, a mount namespace of its own, and one child at a time,
//! the first process of a PID namespace. It does what it is told and decides nothing. (Without a sandbox, see
//! `direct.rs`.)
//!
//! Killed, by whatever, it takes the sandbox with it: its children die with their parent, and its mounts with their
//! namespace. So atelier's own death needs no clean-up but that of a folder.

use std::io;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use rustix::process::{
    Pid, Signal, WaitOptions, getppid, kill_process, set_parent_process_death_signal, waitpid,
};

use super::attendant::{self, Ends, Subject, send};
use super::limits::{Joined, Membership};
use super::place::Place;
use super::protocol::{self, Layout, Process, Refusal, Reply, Request};
use super::{init, keeper, store, userns, work};
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
    let Some((layout, _)) = attendant::receive::<Layout>(&mut socket)? else {
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
    while let Some((request, descriptors)) = attendant::receive(&mut socket)? {
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
            Request::Keep => return keeper::keep(socket, place, groups, descriptors),
            // It comes too late: the process it was for has ended.
            _ => continue,
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
    let mut ends = Ends::open(process.stdio, &root)?;
    let (report, child_report) = io::pipe().map_err(|error| Refusal::new("make a pipe", error))?;
    let pid = match place.fork(groups)? {
        Joined::Parent(pid) => pid,
        Joined::Child(joined) => {
            // The launcher alone reads it: that tells whether it is still there.
            drop(report);
            init::main(
                joined,
                &root,
                place,
                process,
                ends.pipe.take(),
                ends.terminal.as_ref(),
                child_report,
            )
        }
    };
    drop(child_report);
    let output = ends.keep_outer();
    let attended = attendant::attend(socket, Subject::Namespace(pid), output.as_ref());
    // Whatever happened, nothing of the tree is left when this returns.
    kill_process(pid, Signal::KILL).ok();
    waitpid(Some(pid), WaitOptions::empty()).map_err(|error| Refusal::new("wait", error))?;
    place.end_processes()?;
    let here = attended.map_err(|error| Refusal::new("attend the process", error))?;
    if let Some(output) = &output {
        attendant::drain(socket, output).map_err(|error| Refusal::new("read the output", error))?;
    }
    if here {
        init::read_report(report).map(Some)
    } else {
        Ok(None)
    }
}
