//! A process that is known by its number and the time it was started, so that nobody who gets the number later is taken
//! for it.

use std::fmt;
use std::fs;
use std::io;
use std::str::FromStr;

/// The first process of a kept sandbox, as the machine sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FirstProcess {
    pid: i32,
    /// Ticks since the machine was started.
    started: u64,
}

impl FirstProcess {
    pub(super) fn of(pid: i32) -> io::Result<Self> {
        let started = started(pid).ok_or(io::ErrorKind::NotFound)?;
        Ok(Self { pid, started })
    }

    /// Whether anything of it, or of its sandbox, is left.
    pub(super) fn is_there(self) -> bool {
        started(self.pid) == Some(self.started)
    }

    /// How many processes are in its PID namespace beside it; `None` if this user may not know.
    pub(super) fn family(self) -> Option<usize> {
        let entries = fs::read_dir(format!("/proc/{}/root/proc", self.pid)).ok()?;
        let processes = entries.flatten().filter(|entry| {
            let name = entry.file_name();
            name.to_str()
                .is_some_and(|name| name.parse::<u32>().is_ok())
        });
        let count = processes.count().checked_sub(1)?;
        self.is_there().then_some(count)
    }
}

/// The 22nd field of `stat`; the second may have anything in it, but ends with the last parenthesis. `None` for one that
/// only waits to be waited for: it has waited for all others of its namespace.
fn started(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    match fields.next()? {
        "Z" | "X" => None,
        _ => fields.nth(18)?.parse().ok(),
    }
}

impl fmt::Display for FirstProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.pid, self.started)
    }
}

impl FromStr for FirstProcess {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (pid, started) = text.split_once(' ').ok_or(())?;
        Ok(Self {
            pid: pid.parse().map_err(|_| ())?,
            started: started.parse().map_err(|_| ())?,
        })
    }
}
