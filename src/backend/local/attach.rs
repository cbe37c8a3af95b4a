//! The caller's terminal on a terminal in the sandbox: keys in, output out, the window's size kept equal. Or the caller's
//! streams as they are, and its signals.

use std::fs::File;
use std::future::poll_fn;
use std::io;
use std::os::fd::BorrowedFd;
use std::task::Poll;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::protocol::{Process, Reply, Request, WindowSize};
use super::session::{self, Line};
use crate::backend::{BackendError, Class, Ending};
use crate::sys;

/// The caller's terminal in raw mode; dropped, it is as it was.
pub(crate) struct RawTerminal {
    terminal: AsyncFd<File>,
    before: Termios,
}

/// Runs a process on a new terminal, which is joined to the caller's until it ends.
pub(super) async fn run(
    line: &mut Line,
    process: impl FnOnce(WindowSize) -> Process,
) -> Result<Ending, BackendError> {
    let terminal = RawTerminal::open().map_err(|error| unusable(&error))?;
    let mut resized = signal(SignalKind::window_change()).map_err(|error| unusable(&error))?;
    let size = terminal.size().map_err(|error| unusable(&error))?;
    line.requests
        .send(&Request::Run(Box::new(process(size))))
        .await?;
    let mut open = true;
    loop {
        tokio::select! {
            reply = line.replies.receive() => match reply? {
                Reply::Output(bytes) => show(rustix::stdio::stdout(), &bytes).map_err(|error| unusable(&error))?,
                Reply::Ended(ending) => return Ok(ending),
                reply => return Err(session::odd(&reply, "run a process")),
            },
            keys = terminal.keys(), if open => {
                let keys = keys.map_err(|error| unusable(&error))?;
                // Its other side has gone away; what runs may go on without it.
                open = !keys.is_empty();
                line.requests.send(&Request::Input(keys)).await?;
            }
            _ = resized.recv() => {
                let size = terminal.size().map_err(|error| unusable(&error))?;
                line.requests.send(&Request::Resize(size)).await?;
            }
        }
    }
}

/// Runs a process of a kept sandbox with the caller's own streams. What the caller is told by signals, it is told.
pub(super) async fn lend(line: &mut Line, process: Process) -> Result<Ending, BackendError> {
    let mut heard = signals().map_err(|error| unusable(&error))?;
    let own = [
        rustix::stdio::stdin(),
        rustix::stdio::stdout(),
        rustix::stdio::stderr(),
    ];
    let request = Request::Run(Box::new(process));
    line.requests.send_with(&request, &own).await?;
    loop {
        tokio::select! {
            reply = line.replies.receive() => match reply? {
                Reply::Ended(ending) => return Ok(ending),
                reply => return Err(session::odd(&reply, "run a process")),
            },
            number = next(&mut heard) => {
                line.requests.send(&Request::Signal(number)).await?;
            }
        }
    }
}

/// Signals that ask a process to stop, but for those that the caller has this one ignore.
pub(crate) fn signals() -> io::Result<Vec<(i32, Signal)>> {
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::quit(),
        SignalKind::hangup(),
    ];
    let heard = kinds.into_iter().map(|kind| kind.as_raw_value());
    heard
        .filter(|number| !sys::is_ignored(*number))
        .map(|number| Ok((number, signal(SignalKind::from_raw(number))?)))
        .collect()
}

pub(crate) async fn next(heard: &mut [(i32, Signal)]) -> i32 {
    poll_fn(|context| {
        let mut heard = heard.iter_mut();
        match heard
            .find_map(|(number, signal)| signal.poll_recv(context).is_ready().then_some(*number))
        {
            Some(number) => Poll::Ready(number),
            None => Poll::Pending,
        }
    })
    .await
}

impl RawTerminal {
    pub(crate) fn open() -> io::Result<Self> {
        // Opened anew, so that waiting for keys without blocking is not shared with the caller's shell.
        let file = File::options().read(true).write(true).open("/dev/tty")?;
        fcntl_setfl(&file, fcntl_getfl(&file)? | OFlags::NONBLOCK)?;
        let before = tcgetattr(&file)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&file, OptionalActions::Now, &raw)?;
        Ok(Self {
            terminal: sys::watch(file)?,
            before,
        })
    }

    pub(crate) fn size(&self) -> io::Result<WindowSize> {
        let size = tcgetwinsize(self.terminal.get_ref())?;
        Ok(WindowSize {
            rows: size.ws_row,
            columns: size.ws_col,
        })
    }

    pub(crate) async fn keys(&self) -> io::Result<Vec<u8>> {
        loop {
            let mut ready = self.terminal.readable().await?;
            let mut buffer = vec![0; 4096];
            let read =
                |terminal: &AsyncFd<File>| Ok(rustix::io::read(terminal.get_ref(), &mut buffer)?);
            if let Ok(length) = ready.try_io(read) {
                buffer.truncate(length?);
                return Ok(buffer);
            }
        }
    }
}

pub(crate) fn show(to: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        tcsetattr(self.terminal.get_ref(), OptionalActions::Now, &self.before).ok();
    }
}

fn unusable(error: &io::Error) -> BackendError {
    BackendError::new(Class::Denied, format!("cannot use the terminal: {error}"))
}
