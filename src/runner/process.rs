//! One process tree at a time, and its end.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process_group, setsid, wait};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::signal::unix::{SignalKind, signal};

use crate::backend::Ending;
use crate::backend::local::{direct::processes, init};
use crate::sys;

/// So much is read at once.
const PIECE: usize = 64 << 10;

pub(super) struct Process {
    pub program: Vec<String>,
    /// All of it.
    pub environment: Vec<(String, String)>,
    pub folder: PathBuf,
}

/// Runs a process to its end, in a session of its own and with nothing to read, and hands on what it says. Nothing of it is
/// left then. Given up, it goes on until [`end_all`].
pub(super) async fn run(process: &Process, mut said: impl FnMut(&[u8])) -> io::Result<Ending> {
    let (reader, writer) = io::pipe()?;
    let mut reader = pipe::Receiver::from_owned_fd(reader.into())?;
    let mut ended = signal(SignalKind::child())?;
    let child = match start(process, writer) {
        Ok(child) => child,
        Err(NotStarted { code, text }) => {
            said(text.as_bytes());
            return Ok(Ending::Exited(code));
        }
    };
    let mut piece = vec![0; PIECE];
    let mut open = true;
    let ending = loop {
        tokio::select! {
            read = reader.read(&mut piece), if open => match read? {
                0 => open = false,
                length => said(&piece[..length]),
            },
            _ = ended.recv() => {
                if let Some(ending) = reap(child)? {
                    break ending;
                }
            }
        }
    };
    end_all()?;
    while open {
        match reader.read(&mut piece).await? {
            0 => open = false,
            length => said(&piece[..length]),
        }
    }
    Ok(ending)
}

/// What a shell says of a program that it cannot start: 127 if there is none, else 126.
struct NotStarted {
    code: i32,
    text: String,
}

fn start(process: &Process, output: io::PipeWriter) -> Result<Pid, NotStarted> {
    launch(process, output).map_err(|error| {
        let name = process.program.first().map_or("", String::as_str);
        let folder = process.folder.display();
        NotStarted {
            code: match error.kind() {
                io::ErrorKind::NotFound => 127,
                _ => 126,
            },
            text: format!("cannot start {name} in {folder}: {error}\n"),
        }
    })
}

fn launch(process: &Process, output: io::PipeWriter) -> io::Result<Pid> {
    let (name, arguments) = process
        .program
        .split_first()
        .ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(init::find(name, &process.environment)?);
    command
        .args(arguments)
        .env_clear()
        .envs(process.environment.iter().cloned())
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output);
    // Nothing is allocated between fork and exec: another thread may be doing so.
    let folder = CString::new(process.folder.as_os_str().as_bytes())?;
    sys::before_exec(&mut command, move || {
        setsid()?;
        rustix::process::umask(Mode::from_raw_mode(0o022));
        Ok(rustix::process::chdir(folder.as_c_str())?)
    });
    let child = command.spawn()?;
    Ok(Pid::from_raw(child.id().cast_signed()).ok_or(io::ErrorKind::Other)?)
}

/// Waits for all that has ended, and tells how `child` did if it is among them.
fn reap(child: Pid) -> io::Result<Option<Ending>> {
    let mut ending = None;
    loop {
        let (pid, status) = match wait(WaitOptions::NOHANG) {
            Ok(Some(ended)) => ended,
            Err(Errno::INTR) => continue,
            Ok(None) | Err(Errno::CHILD) => return Ok(ending),
            Err(error) => return Err(error.into()),
        };
        if pid == child {
            let exited = status.exit_status().map(Ending::Exited);
            ending = exited.or_else(|| status.terminating_signal().map(Ending::Signalled));
        }
    }
}

/// Ends all processes that this one has started, and theirs, and waits for them.
pub(super) fn end_all() -> io::Result<()> {
    if getpid().is_init() {
        // Group 1 is everybody in this namespace of processes, at once: none can start another one meanwhile.
        match kill_process_group(Pid::INIT, Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => return Err(error.into()),
        }
    }
    processes::end_children()
}
