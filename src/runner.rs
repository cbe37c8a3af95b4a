//! The program that stands beside the steps where atelier itself cannot be, such as in a pod; see [`protocol`].
//!
//! It knows nothing of who calls it and why, and needs nothing of where it is: `steps` works in an image that holds what the
//! steps need and nothing else, and without any right beyond those of its user.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use rustix::fs::Mode;
use rustix::process::{DumpableBehavior, getpid, set_child_subreaper, set_dumpable_behavior};
use rustix::thread::set_no_new_privs;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::sys;
use events::Events;
use protocol::{Class, Failure, Outcome, TERMINATED};

pub mod attachment;
mod checkout;
mod events;
mod input;
mod memory;
mod process;
pub mod protocol;
mod repositories;
mod steps;
mod verify;
mod volume;

/// Runs beside the steps of a bake, where atelier itself cannot be. It reads a request from its standard input and writes
/// events, as lines of JSON, to its standard output.
#[derive(Parser)]
#[command(name = "atelier-runner", version)]
struct Call {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a workspace ready for its steps
    Checkout {
        /// The file system that holds the workspace, in `ws`
        #[arg(long, value_name = "DIR")]
        volume: PathBuf,
        /// The file system of a parent, whose workspace is copied first
        #[arg(long, value_name = "DIR")]
        parent: Option<PathBuf>,
        /// Put this program into a folder, for who is to run the steps
        #[arg(long, value_name = "DIR")]
        copy_to: Option<PathBuf>,
    },
    /// Run steps, and describe what they made of the workspace
    Steps {
        /// The file system that holds the workspace, in `ws`
        #[arg(long, value_name = "DIR")]
        volume: PathBuf,
        /// Where the steps see the workspace
        #[arg(long, value_name = "DIR", default_value = protocol::HOME)]
        workspace: PathBuf,
    },
    /// Compare a workspace with its description
    Verify {
        /// The file system that holds the workspace, in `ws`
        #[arg(long, value_name = "DIR")]
        volume: PathBuf,
    },
}

/// Runs the program.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let call = match Call::try_parse_from(arguments) {
        Ok(call) => call,
        Err(error) => {
            error.print().ok();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let mut events = Events::new(std::io::stdout());
    let outcome = match prepare().and_then(|()| runtime()) {
        Ok(runtime) => {
            let outcome = runtime.block_on(call.command.answer(&mut events));
            // A thread may still wait for input that nobody sends.
            runtime.shutdown_background();
            outcome
        }
        Err(error) => Outcome::Failed(broken("start", &error)),
    };
    let code = match &outcome {
        Outcome::Failed(Failure::Terminated) => TERMINATED,
        Outcome::Failed(_) => 1,
        Outcome::CheckedOut(_) | Outcome::Baked(_) | Outcome::Verified(_) => 0,
    };
    events.result(outcome);
    ExitCode::from(code)
}

/// Of this process, before it knows a secret.
fn prepare() -> std::io::Result<()> {
    sys::keep_descriptors()?;
    rustix::process::umask(Mode::from_raw_mode(0o022));
    // Steps have the same user, and must not read what is in its memory, nor write to where its events go.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    set_child_subreaper(Some(getpid()))?;
    Ok(set_no_new_privs(true)?)
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build()
}

impl Command {
    async fn answer(self, events: &mut Events) -> Outcome {
        let ended = match (
            signal(SignalKind::terminate()),
            signal(SignalKind::interrupt()),
        ) {
            (Ok(terminate), Ok(interrupt)) => ended(terminate, interrupt),
            (Err(error), _) | (_, Err(error)) => {
                return Outcome::Failed(broken("wait for signals", &error));
            }
        };
        let outcome = tokio::select! {
            biased;
            () = ended => Err(Failure::Terminated),
            outcome = Box::pin(self.work(events)) => outcome,
        };
        // Whatever happened, nothing goes on after the result.
        let cleared = process::end_all();
        let cleared = cleared.map_err(|error| broken("end what was started", &error));
        match outcome.and_then(|outcome| cleared.map(|()| outcome)) {
            Ok(outcome) => outcome,
            Err(failure) => Outcome::Failed(failure),
        }
    }

    async fn work(self, events: &mut Events) -> Result<Outcome, Failure> {
        match self {
            Self::Checkout {
                volume,
                parent,
                copy_to,
            } => checkout::answer(&volume, parent.as_deref(), copy_to, events).await,
            Self::Steps { volume, workspace } => steps::answer(&volume, &workspace, events).await,
            Self::Verify { volume } => verify::answer(&volume, events).await,
        }
    }
}

async fn ended(mut terminate: Signal, mut interrupt: Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// Gives `work` as long as a request allows.
async fn within(
    limit: Duration,
    work: impl Future<Output = Result<Outcome, Failure>>,
) -> Result<Outcome, Failure> {
    match tokio::time::timeout(limit, Box::pin(work)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Failure::Timeout { limit }),
    }
}

/// A failure of the machine, as far as the error tells.
fn broken(operation: &str, error: &std::io::Error) -> Failure {
    use std::io::ErrorKind;
    let class = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Class::Full,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Class::Denied,
        ErrorKind::InvalidData | ErrorKind::InvalidInput => Class::Bug,
        _ => Class::Transient,
    };
    machine(class, format!("cannot {operation}: {error}"))
}

fn machine(class: Class, message: impl Into<String>) -> Failure {
    Failure::Machine {
        class,
        message: message.into(),
        help: (class == Class::Full).then(|| "give it more room".to_owned()),
    }
}

/// Has a thread do what keeps a processor or a disk busy, so that a signal is heard meanwhile.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(error) => Err(machine(Class::Bug, error.to_string())),
    })
}
