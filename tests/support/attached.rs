//! The program on a terminal of its own.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::processes::wait_until;
use crate::wrapped::started_by;

/// Longer than anything here takes.
const PATIENCE: Timespec = Timespec {
    tv_sec: 30,
    tv_nsec: 0,
};

pub(crate) struct Attached {
    /// The side of whoever looks at it.
    outer: Option<OwnedFd>,
    inner: File,
    child: Child,
    /// What it has printed.
    seen: String,
}

impl Attached {
    /// `signals` says with which dispositions it starts, as an option of `env`.
    pub(crate) fn start(command: &Command, signals: &str) -> Self {
        let outer = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&outer).unwrap();
        unlockpt(&outer).unwrap();
        let name = ptsname(&outer, Vec::new()).unwrap().into_string().unwrap();
        let mut options = File::options();
        options.read(true).write(true);
        let inner = options
            .custom_flags(OpenptFlags::NOCTTY.bits().cast_signed())
            .open(name)
            .unwrap();
        let mut command = started_by(&["env", signals, "setsid", "--ctty"], command);
        let end = || Stdio::from(inner.try_clone().unwrap());
        let child = command.stdin(end()).stdout(end()).stderr(end());
        let child = child.spawn().unwrap();
        Self {
            outer: Some(outer),
            inner,
            child,
            seen: String::new(),
        }
    }

    /// Waits until it prints this, and forgets what came before.
    pub(crate) fn until(&mut self, text: &str) -> String {
        let mut outer = File::from(self.outer.as_ref().unwrap().try_clone().unwrap());
        let mut buffer = [0; 1024];
        while !self.seen.contains(text) {
            // The test holds the other side too, so that this would not end by itself.
            let mut watched = [PollFd::new(&outer, PollFlags::IN)];
            let ready = poll(&mut watched, Some(&PATIENCE)).unwrap();
            assert_eq!(ready, 1, "waited in vain for {text}:\n{}", self.seen);
            let length = outer.read(&mut buffer).unwrap();
            assert!(length > 0, "{}", self.seen);
            self.seen
                .push_str(&String::from_utf8_lossy(&buffer[..length]));
        }
        let end = self.seen.find(text).unwrap() + text.len();
        self.seen.drain(..end).collect()
    }

    pub(crate) fn type_in(&self, text: &str) {
        let mut outer = File::from(self.outer.as_ref().unwrap().try_clone().unwrap());
        outer.write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(self.outer.as_ref().unwrap(), size).unwrap();
    }

    /// Closes the side of whoever looks at it.
    pub(crate) fn hang_up(&mut self) {
        drop(self.outer.take());
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub(crate) fn is_cooked(&self) -> bool {
        let modes = tcgetattr(&self.inner).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    pub(crate) fn wait(&mut self) -> Option<i32> {
        let mut ended = None;
        wait_until("it to end", || {
            ended = self.child.try_wait().unwrap();
            ended.is_some()
        });
        ended.unwrap().code()
    }

    /// Ticks of the processor that it has used.
    pub(crate) fn work(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        let fields: Vec<&str> = fields.split(' ').collect();
        [11, 12]
            .map(|at| fields[at].parse::<u64>().unwrap())
            .iter()
            .sum()
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // If the test has failed, nobody else ends it.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
