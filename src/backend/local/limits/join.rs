//! The launcher's side: what it starts is put into the sandbox's control groups.
//!
//! It enters no group itself. A group that has used up its memory or its processes must not end who watches over it. And
//! the first process of a tree enters by itself, alone, or is born inside: to move a process from outside, the kernel first
//! waits for all the processors, which takes longer than all the rest of a start.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, openat};

use super::super::protocol::{GroupFolder, Refusal, Version};
use crate::sys::Fork;

/// The groups of a sandbox, held against a sweep for as long as the launcher lives.
pub(in super::super) struct Membership(Vec<Door>);

struct Door {
    version: Version,
    folder: File,
    /// Takes who enters. What counts is who opened it.
    list: OwnedFd,
}

/// Which side of a fork this is, and whether the child is in the groups.
pub(in super::super) enum Joined {
    Child(Result<(), Refusal>),
    Parent(rustix::process::Pid),
}

impl Membership {
    pub(in super::super) fn open(folders: &[GroupFolder]) -> Result<Self, Refusal> {
        let doors = folders.iter().map(Door::open).collect::<io::Result<_>>();
        doors
            .map(Self)
            .map_err(|error| Refusal::new("open a control group", error))
    }

    /// Moves this process, which has one thread, into the groups.
    pub(in super::super) fn enter(&self) -> io::Result<()> {
        self.0.iter().try_for_each(Door::enter)
    }

    /// Forks into the groups, by a call that makes namespaces too, or none.
    pub(in super::super) fn fork(
        &self,
        fork: impl Fn(Option<BorrowedFd<'_>>) -> io::Result<Fork>,
    ) -> io::Result<Joined> {
        let unified = self.0.iter().find(|door| door.version == Version::Two);
        let inside = unified.and_then(|door| fork(Some(door.folder.as_fd())).ok());
        // A kernel or a filter without clone3 leaves it to the child.
        let (fork, is_inside) = match inside {
            Some(fork) => (fork, true),
            None => (fork(None)?, false),
        };
        Ok(match fork {
            Fork::Parent(pid) => Joined::Parent(pid),
            Fork::Child => {
                let outside = |door: &&Door| !(is_inside && door.version == Version::Two);
                let entered = self.0.iter().filter(outside).try_for_each(Door::enter);
                Joined::Child(entered.map_err(|error| Refusal::new("enter a control group", error)))
            }
        })
    }
}

impl Door {
    fn open(group: &GroupFolder) -> io::Result<Self> {
        let folder = File::open(&group.path)?;
        flock(&folder, FlockOperation::LockShared)?;
        // A thread moves alone, which the kernel does at once; version 2 has no list of threads from elsewhere.
        let list = match group.version {
            Version::One => "tasks",
            Version::Two => "cgroup.procs",
        };
        let list = openat(
            &folder,
            list,
            OFlags::WRONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        Ok(Self {
            version: group.version,
            folder,
            list,
        })
    }

    /// Moves this process, which has one thread.
    fn enter(&self) -> io::Result<()> {
        rustix::io::write(&self.list, b"0")?;
        Ok(())
    }
}
