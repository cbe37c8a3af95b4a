//! Where a launcher's processes run: in a sandbox, or on the machine itself.

use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use super::direct::Direct;
use super::init::{self, Setting};
use super::limits::{Joined, Membership};
use super::mounts::Mounts;
use super::protocol::{Layout, Ready, Refusal, Root, Written};
use crate::sys;

pub(super) enum Place {
    Sandbox(Mounts),
    Machine(Direct),
}

impl Place {
    pub(super) fn prepare(layout: Layout) -> Result<Self, Refusal> {
        match layout.way.is_direct() {
            true => Direct::prepare(layout).map(Self::Machine),
            false => Mounts::prepare(layout).map(Self::Sandbox),
        }
    }

    pub(super) fn ready(&self) -> Ready {
        match self {
            Self::Sandbox(mounts) => Ready {
                workspace: mounts.workspace(),
                repositories: Mounts::REPOSITORIES.to_owned(),
            },
            Self::Machine(direct) => direct.ready(),
        }
    }

    pub(super) fn layout(&self) -> &Layout {
        match self {
            Self::Sandbox(mounts) => mounts.layout(),
            Self::Machine(direct) => direct.layout(),
        }
    }

    /// Where a process's root is.
    pub(super) fn root(&mut self, root: Root) -> Result<PathBuf, Refusal> {
        match self {
            Self::Sandbox(mounts) => mounts.root(root),
            Self::Machine(_) => Ok(PathBuf::from("/")),
        }
    }

    /// Forks the first process of the next tree into the control groups.
    pub(super) fn fork(&self, groups: &Membership) -> Result<Joined, Refusal> {
        let (forked, operation) = match self {
            Self::Sandbox(mounts) => {
                let others = init::namespaces(mounts.layout().network);
                let fork = |group: Option<BorrowedFd<'_>>| sys::fork_into_namespaces(group, others);
                (groups.fork(fork), "create namespaces")
            }
            Self::Machine(_) => (groups.fork(sys::fork_into_group), "start a process"),
        };
        forked.map_err(|error| Refusal::new(operation, error))
    }

    /// For processes whose parent is in the control groups.
    pub(super) fn setting(&self) -> Setting<'_> {
        Setting {
            way: self.layout().way,
            variable: match self {
                Self::Sandbox(_) => None,
                Self::Machine(direct) => Some(direct.variable()),
            },
            groups: None,
        }
    }

    /// Ends what a tree has left, after its first process. In a sandbox the kernel has done it.
    pub(super) fn end_processes(&self) -> Result<(), Refusal> {
        match self {
            Self::Sandbox(_) => Ok(()),
            Self::Machine(direct) => direct.end_processes(),
        }
    }

    /// What was written outside of the workspace; `None` where nobody can tell.
    pub(super) fn outside(&self) -> Option<Written> {
        match self {
            Self::Sandbox(mounts) => Some(mounts.outside()),
            Self::Machine(_) => None,
        }
    }

    /// Puts what is in the workspace where it is published from.
    pub(super) fn capture(&mut self) -> Result<(), Refusal> {
        match self {
            // It has been written there.
            Self::Sandbox(_) => Ok(()),
            Self::Machine(direct) => direct.capture(),
        }
    }
}
