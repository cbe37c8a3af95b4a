//! A process that nobody attends, and that has secrets: what it prints goes to the sandbox's log through whoever has
//! started it, who stays for that and hides them.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::super::attendant::{Ends, send};
use super::super::init::{self, NotStarted};
use super::super::protocol::{Process, Refusal, Reply, StdioKind};
use super::Keeper;
use super::call::{enter, program, setting};
use crate::backend::Ending;
use crate::lines::mask::{LINE, Mask, Masked};
use crate::sys;

/// How long an unfinished line may wait for its end.
const PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};

/// `streams` are its input, which is empty, and its log, twice.
pub(super) fn serve(
    socket: &mut UnixStream,
    keeper: &Keeper,
    mut process: Process,
    mask: Mask,
    streams: Vec<OwnedFd>,
) -> io::Result<()> {
    let log = streams
        .into_iter()
        .nth(1)
        .ok_or(io::ErrorKind::InvalidInput)?;
    process.stdio = StdioKind::Frames;
    match start(keeper, &process) {
        Ok((reply, output)) => {
            send(socket, reply)?;
            // Nobody waits for it.
            sys::children_that_end(sys::Ended::Vanish);
            pass(&output, &mut File::from(log), Masked::new(mask))
        }
        Err(refusal) => send(socket, Reply::Refused(refusal)),
    }
}

fn start(keeper: &Keeper, process: &Process) -> Result<(Reply, OwnedFd), Refusal> {
    enter(keeper, process, Vec::new())?;
    let mut ends = Ends::open(process.stdio, Path::new("/"))?;
    let pipe = ends.pipe.take();
    let started = init::start(&setting(keeper), process, program(process)?, pipe, None);
    let reply = match started {
        Ok(_) => Reply::Started,
        Err(NotStarted(code)) => Reply::Ended(Ending::Exited(code)),
    };
    let output = ends.keep_outer();
    let output = output.ok_or_else(|| Refusal::new("make a pipe", io::ErrorKind::BrokenPipe))?;
    Ok((reply, output))
}

/// Until all who may write have ended.
fn pass(output: &OwnedFd, log: &mut File, mut masked: Masked) -> io::Result<()> {
    let mut buffer = vec![0; LINE];
    let mut waits = false;
    loop {
        let mut watched = [PollFd::new(output, PollFlags::IN)];
        let limit = waits.then_some(&PAUSE);
        let ready = match poll(&mut watched, limit) {
            Err(Errno::INTR) => continue,
            other => other?,
        };
        if ready == 0 {
            log.write_all(&masked.pause())?;
            waits = false;
            continue;
        }
        match rustix::io::read(output, &mut buffer) {
            Ok(0) => return log.write_all(&masked.finish()),
            Ok(length) => log.write_all(&masked.push(&buffer[..length]))?,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        waits = true;
    }
}
