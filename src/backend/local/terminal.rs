//! A terminal inside a sandbox: made from the sandbox's own devpts, so that programs can name it.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::protocol::{Refusal, WindowSize};

pub(super) struct Terminal {
    /// The side that is read and written from outside.
    pub outer: OwnedFd,
    inner: Option<OwnedFd>,
}

impl Terminal {
    /// Opens a terminal in the sandbox whose root is at `root`. By the name that is open to all, on machines too.
    pub(super) fn open(root: &Path, size: WindowSize) -> Result<Self, Refusal> {
        let refused = |error| Refusal::new("open a terminal", error);
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let outer = open(root.join("dev/ptmx"), flags, Mode::empty()).map_err(refused)?;
        unlockpt(&outer).map_err(refused)?;
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let inner = ioctl_tiocgptpeer(&outer, flags).map_err(refused)?;
        resize(&outer, size).map_err(refused)?;
        Ok(Self {
            outer,
            inner: Some(inner),
        })
    }

    /// The side that the process gets; nobody else may keep it open.
    pub(super) fn take_inner_side(&mut self) -> Option<OwnedFd> {
        self.inner.take()
    }
}

pub(super) fn resize(terminal: &OwnedFd, size: WindowSize) -> rustix::io::Result<()> {
    let size = Winsize {
        ws_row: size.rows,
        ws_col: size.columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(terminal, size)
}
