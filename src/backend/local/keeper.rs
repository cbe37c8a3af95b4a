//! The process that keeps a sandbox: forked by a launcher that has mounted everything, it outlives the launcher, the
//! terminal and atelier. It listens on a socket in the sandbox's folder, and forks an attendant for each caller.
//!
//! Keeper and attendants stay outside of the sandbox's PID namespace, whose first process does nothing but be there. So
//! the sandbox's processes can neither see them nor signal or trace them, whoever they run as, and the values of secrets
//! are in no memory of the sandbox but that of its commands. Killed, the keeper takes the sandbox with it.

use std::collections::BTreeMap;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::net::{SocketFlags, accept_with, listen};
use rustix::process::{
    Signal, WaitOptions, getpid, getppid, set_child_subreaper, set_parent_process_death_signal,
    setsid, waitpid,
};

use super::attendant::{self, send};
use super::init;
use super::limits::Membership;
use super::mounts::Mounts;
use super::place::Place;
use super::protocol::{Refusal, Reply, Request, Root};
use super::way::Way;
use crate::sys;

mod call;
mod first;
mod masked;

use first::First;

/// So many callers may wait to be let in.
const QUEUE: i32 = 128;

/// How long callers may take to hear that the sandbox has ended.
const FAREWELL: Duration = Duration::from_secs(1);

/// After a caller could not be let in, for lack of descriptors or memory.
const PAUSE: Duration = Duration::from_millis(100);

struct Keeper {
    /// Held as long as the sandbox runs; attendants let go of it.
    lock: Option<OwnedFd>,
    listener: Option<OwnedFd>,
    first: First,
    /// How `dev` is made in the sandbox.
    way: Way,
    /// What limits the sandbox's commands. Who keeps them, and the first process, stay out of that.
    groups: Arc<Membership>,
    /// Who may call: whoever the sandbox was started by.
    owner: u32,
    secrets: BTreeMap<String, String>,
}

/// Makes this launcher's sandbox one that is kept. Returns when atelier has confirmed that, and fails if it has not.
pub(super) fn keep(
    mut socket: UnixStream,
    place: Place,
    groups: Membership,
    descriptors: Vec<OwnedFd>,
) -> io::Result<()> {
    let Place::Sandbox(mounts) = place else {
        let refusal = Refusal::new("keep what is no sandbox", io::ErrorKind::Unsupported);
        return send(&mut socket, Reply::Refused(refusal));
    };
    let (mut confirmed, confirm) = io::pipe()?;
    match sys::fork()? {
        sys::Fork::Parent(_) => {
            drop((socket, mounts, groups, descriptors, confirm));
            confirmed.read_exact(&mut [0])
        }
        sys::Fork::Child => {
            drop(confirmed);
            let kept = live(socket, mounts, groups, descriptors, confirm);
            sys::exit_now(i32::from(kept.is_err()))
        }
    }
}

fn live(
    mut socket: UnixStream,
    mut mounts: Mounts,
    groups: Membership,
    descriptors: Vec<OwnedFd>,
    mut confirm: PipeWriter,
) -> io::Result<()> {
    // Until atelier confirms, this process ends with the launcher, and the launcher with atelier.
    if !init::watch_launcher(&confirm) {
        return Ok(());
    }
    setsid()?;
    let null = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    drop(null);
    // What an attendant leaves behind is this one's: the machine's own first process may be one that waits for nothing.
    set_child_subreaper(Some(getpid()))?;
    let owner = sys::peer(&socket)?.uid;
    let first = match begin(&mut mounts) {
        Ok(first) => first,
        Err(refusal) => return send(&mut socket, Reply::Refused(refusal)),
    };
    let confirmed = prepare(&mut socket, descriptors, &first);
    let Ok(Some((lock, listener, secrets))) = confirmed else {
        first.kill();
        waitpid(Some(first.pid), WaitOptions::empty())?;
        return confirmed.map(drop);
    };
    set_parent_process_death_signal(None)?;
    sys::children_that_end(sys::Ended::Vanish);
    confirm.write_all(&[1])?;
    drop((socket, confirm));
    let keeper = Keeper {
        lock: Some(lock),
        listener: Some(listener),
        first,
        way: mounts.layout().way,
        groups: Arc::new(groups),
        owner,
        secrets,
    };
    serve(keeper)
}

fn begin(mounts: &mut Mounts) -> Result<First, Refusal> {
    let root = mounts.root(Root::Image)?;
    First::start(&root, mounts.layout())
}

type Confirmed = (OwnedFd, OwnedFd, BTreeMap<String, String>);

/// Listens, and says so; `None` if atelier went away before it confirmed.
fn prepare(
    socket: &mut UnixStream,
    descriptors: Vec<OwnedFd>,
    first: &First,
) -> io::Result<Option<Confirmed>> {
    let [lock, listener] =
        <[OwnedFd; 2]>::try_from(descriptors).map_err(|_| io::ErrorKind::InvalidInput)?;
    // By this process: a caller asks the socket who keeps the sandbox.
    listen(&listener, QUEUE)?;
    send(socket, Reply::Kept(first.pid.as_raw_pid()))?;
    Ok(match attendant::receive(socket)? {
        Some((Request::Confirm(secrets), _)) => Some((lock, listener, secrets)),
        _ => None,
    })
}

/// Lets callers in until the first process has ended, and with it everything in the sandbox.
fn serve(mut keeper: Keeper) -> io::Result<()> {
    // Attendants inherit the writing end: it is closed when the last of them has ended.
    let (attended, attending) = io::pipe()?;
    while let Some(listener) = &keeper.listener {
        let mut watched = [
            PollFd::new(&keeper.first.process, PollFlags::IN),
            PollFd::new(listener, PollFlags::IN),
        ];
        match poll(&mut watched, None) {
            Err(rustix::io::Errno::INTR) => continue,
            other => other?,
        };
        let [ended, called] = watched.map(|fd| !fd.revents().is_empty());
        if ended {
            break;
        }
        if called && admit(&mut keeper).is_err() {
            std::thread::sleep(PAUSE);
        }
    }
    keeper.listener = None;
    drop(attending);
    let patience = Timespec::try_from(FAREWELL).ok();
    wait_for_the_last(&attended, patience.as_ref());
    Ok(())
}

fn wait_for_the_last(attended: &PipeReader, patience: Option<&Timespec>) {
    poll(&mut [PollFd::new(attended, PollFlags::IN)], patience).ok();
}

/// Forks an attendant for the next caller.
fn admit(keeper: &mut Keeper) -> io::Result<()> {
    let Some(listener) = &keeper.listener else {
        return Ok(());
    };
    let caller = match accept_with(listener, SocketFlags::CLOEXEC) {
        // It did not wait.
        Err(rustix::io::Errno::CONNABORTED | rustix::io::Errno::INTR) => return Ok(()),
        other => UnixStream::from(other?),
    };
    // The folder is its owner's alone; this holds also if somebody loosens that.
    if sys::peer(&caller)?.uid != keeper.owner {
        return Ok(());
    }
    let parent = getpid();
    match sys::fork() {
        Ok(sys::Fork::Parent(_)) => Ok(()),
        Ok(sys::Fork::Child) => {
            keeper.lock = None;
            keeper.listener = None;
            let watched = set_parent_process_death_signal(Some(Signal::KILL));
            sys::children_that_end(sys::Ended::Wait);
            let mut caller = caller;
            let served = watched.is_ok()
                && getppid() == Some(parent)
                && call::serve(&mut caller, keeper).is_ok();
            sys::exit_now(i32::from(!served))
        }
        Err(error) => {
            let mut caller = caller;
            send(
                &mut caller,
                Reply::Refused(Refusal::new("start a process", error)),
            )
        }
    }
}
