//! The first process of a kept sandbox: it gives the namespaces their content, and then is there until it is killed, so
//! that they are. Orphans end without anybody waiting for them.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal, set_dumpable_behavior,
};
use rustix::thread::move_into_link_name_space;

use super::super::protocol::{Layout, Refusal, encode_request};
use super::super::{attendant, descriptors, init};
use crate::backend::Network;
use crate::sys;

/// Seen from the keeper.
pub(super) struct First {
    pub pid: Pid,
    /// Can be read when it has ended, and all that the sandbox ran with it.
    pub process: OwnedFd,
    namespaces: Vec<OwnedFd>,
}

impl First {
    pub(super) fn start(root: &Path, layout: &Layout) -> Result<Self, Refusal> {
        let pair = UnixStream::pair().map_err(|error| Refusal::new("make a socket", error))?;
        let (mut report, child_report) = pair;
        let forked = sys::fork_into_namespaces(None, init::namespaces(layout.network));
        let pid = match forked.map_err(|error| Refusal::new("create namespaces", error))? {
            sys::Fork::Parent(pid) => pid,
            sys::Fork::Child => {
                drop(report);
                main(root, layout, child_report)
            }
        };
        drop(child_report);
        let process = pidfd_open(pid, PidfdFlags::empty());
        let process = process.map_err(|error| Refusal::new("watch the first process", error))?;
        let killed = || Refusal::new("start the first process", io::ErrorKind::BrokenPipe);
        match attendant::receive(&mut report) {
            Ok(Some((None, namespaces))) => Ok(Self {
                pid,
                process,
                namespaces,
            }),
            Ok(Some((Some(refusal), _))) => Err(refusal),
            Ok(None) | Err(_) => Err(killed()),
        }
    }

    /// Moves this process into the sandbox, but for its process id, which only its children have there.
    pub(super) fn enter(&self) -> rustix::io::Result<()> {
        self.namespaces
            .iter()
            .try_for_each(|namespace| move_into_link_name_space(namespace.as_fd(), None))
    }

    /// Ends everything in the sandbox.
    pub(super) fn kill(&self) {
        pidfd_send_signal(&self.process, Signal::KILL).ok();
    }
}

/// Never returns: this is the child of a fork.
fn main(root: &Path, layout: &Layout, mut report: UnixStream) -> ! {
    if !init::watch_launcher(&report) {
        sys::exit_now(1);
    }
    let prepared = init::settle(root, layout).and_then(|()| {
        namespaces(layout.network).map_err(|error| Refusal::new("open the namespaces", error))
    });
    if tell(&report, prepared).is_err() {
        sys::exit_now(1);
    }
    // Until it has been heard.
    report.read_to_end(&mut Vec::new()).ok();
    // Where there is one user only, the sandbox's processes could otherwise look into this one.
    let hidden = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    sys::children_that_end(sys::Ended::Vanish);
    sys::close_everything();
    while hidden.is_ok() {
        rustix::event::pause();
    }
    sys::exit_now(1)
}

/// This process's, which only it may open wherever the keeper has changed who it is.
fn namespaces(network: Network) -> rustix::io::Result<Vec<OwnedFd>> {
    // The mount namespace comes last: what enters it leaves /proc behind.
    let own_network = (network == Network::None).then_some("net");
    let names = own_network.into_iter().chain(["ipc", "uts", "pid", "mnt"]);
    let namespace = |name| {
        let path = format!("/proc/self/ns/{name}");
        open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
    };
    names.map(namespace).collect()
}

fn tell(report: &UnixStream, prepared: Result<Vec<OwnedFd>, Refusal>) -> io::Result<()> {
    let (namespaces, refusal) = match prepared {
        Ok(namespaces) => (namespaces, None),
        Err(refusal) => (Vec::new(), Some(refusal)),
    };
    let namespaces: Vec<_> = namespaces.iter().map(AsFd::as_fd).collect();
    // A socket that is empty takes it as a whole.
    descriptors::send(report, &encode_request(&refusal)?, &namespaces).map(drop)
}
