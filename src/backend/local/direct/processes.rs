//! The processes of steps, without a namespace that ends them: found, killed and waited for.

use std::fs;
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};

/// Between two looks at what is there.
const PAUSE: Duration = Duration::from_millis(1);

/// What was killed takes less than this to go.
const PATIENCE: Duration = Duration::from_secs(30);

/// Ends all children of this process, and theirs, which it adopts as their parents end, until there is none.
pub(crate) fn end_children() -> io::Result<()> {
    let began = Instant::now();
    loop {
        for child in children()? {
            kill_process(child, Signal::KILL).ok();
        }
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => break,
                Err(Errno::CHILD) => return Ok(()),
                Err(errno) => return Err(errno.into()),
            }
        }
        give_up_after(began)?;
        sleep(PAUSE);
    }
}

/// Ends all processes that have `variable` with this value in their environment: those of a launcher that was killed.
pub(super) fn end_marked(variable: &str, value: &str) -> io::Result<()> {
    let word = format!("{variable}={value}");
    let began = Instant::now();
    loop {
        let marked: Vec<Pid> = all()?
            .into_iter()
            .filter(|pid| *pid != getpid() && has_word(*pid, &word))
            .collect();
        if marked.is_empty() {
            return Ok(());
        }
        for pid in marked {
            kill_process(pid, Signal::KILL).ok();
        }
        give_up_after(began)?;
        sleep(PAUSE);
    }
}

fn give_up_after(began: Instant) -> io::Result<()> {
    match began.elapsed() < PATIENCE {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "they do not end, though they were killed",
        )),
    }
}

/// The direct children of this process, which has one thread.
fn children() -> io::Result<Vec<Pid>> {
    let me = getpid();
    let list = format!("/proc/self/task/{}/children", me.as_raw_pid());
    match fs::read_to_string(list) {
        Ok(list) => Ok(list.split_whitespace().filter_map(pid).collect()),
        // Not every kernel keeps that list.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(all()?
            .into_iter()
            .filter(|pid| parent(*pid) == Some(me))
            .collect()),
        Err(error) => Err(error),
    }
}

fn all() -> io::Result<Vec<Pid>> {
    let names = fs::read_dir("/proc")?.map(|entry| entry.map(|entry| entry.file_name()));
    let names = names.collect::<io::Result<Vec<_>>>()?;
    Ok(names
        .iter()
        .filter_map(|name| pid(name.to_str()?))
        .collect())
}

fn pid(text: &str) -> Option<Pid> {
    Pid::from_raw(text.parse().ok()?)
}

fn has_word(pid: Pid, word: &str) -> bool {
    // What cannot be read is not ours, or gone.
    let variables = fs::read(format!("/proc/{}/environ", pid.as_raw_pid())).unwrap_or_default();
    variables
        .split(|&byte| byte == 0)
        .any(|variable| variable == word.as_bytes())
}

fn parent(process: Pid) -> Option<Pid> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_pid())).ok()?;
    // A name may contain anything, also parentheses.
    let (_, rest) = stat.rsplit_once(')')?;
    pid(rest.split_whitespace().nth(1)?)
}
