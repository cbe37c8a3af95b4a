//! One caller of a kept sandbox, served by a process of its own: a process is started in the sandbox and attended until
//! it ends or the caller goes away. What it leaves in the background goes on.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, waitpid};
use secrecy::SecretString;

use super::super::attendant::{self, Ends, Subject, send};
use super::super::environment;
use super::super::init::{self, NotStarted, Setting};
use super::super::protocol::{Action, Process, Refusal, Reply, Request, StdioKind};
use super::{Keeper, masked};
use crate::backend::Ending;
use crate::lines::mask::Mask;

pub(super) fn serve(socket: &mut UnixStream, keeper: &Keeper) -> io::Result<()> {
    let Some((request, streams)) = attendant::receive(socket)? else {
        return Ok(());
    };
    let reply = match request {
        Request::Run(process) => run(socket, keeper, &with(*process, &keeper.secrets), streams),
        Request::Start(process, secrets) => {
            let process = with(*process, &keeper.secrets);
            let mask = mask(keeper, &process, &secrets);
            match mask.is_empty() {
                true => start(keeper, &process, streams),
                false => return masked::serve(socket, keeper, process, mask, streams),
            }
        }
        Request::End => {
            keeper.first.kill();
            return Ok(());
        }
        _ => return Ok(()),
    };
    match reply.unwrap_or_else(|refusal| Some(Reply::Refused(refusal))) {
        Some(reply) => send(socket, reply),
        None => Ok(()),
    }
}

/// The sandbox's secrets are in the environment of all that runs in it, unless the caller has put something in their
/// place.
fn with(mut process: Process, secrets: &BTreeMap<String, String>) -> Process {
    for (name, value) in secrets {
        if !process.environment.iter().any(|(there, _)| there == name) {
            process.environment.push((name.clone(), value.clone()));
        }
    }
    process
}

/// What of a process's environment is to be in no log.
fn mask(keeper: &Keeper, process: &Process, names: &[String]) -> Mask {
    let variables = process.environment.iter();
    let own = variables.clone().filter(|(name, _)| names.contains(name));
    let values = keeper.secrets.values().chain(own.map(|(_, value)| value));
    let mut secrets: Vec<SecretString> = values.map(|value| value.as_str().into()).collect();
    let passwords = environment::passwords(variables.map(|(name, value)| (name, value)));
    secrets.extend(passwords.into_iter().map(|(_, value)| value));
    Mask::new(&secrets)
}

pub(super) fn program(process: &Process) -> Result<&[String], Refusal> {
    match &process.action {
        Action::Run(program) => Ok(program),
        Action::Write(_) => Err(Refusal::new("write a file", io::ErrorKind::Unsupported)),
    }
}

pub(super) fn setting(keeper: &Keeper) -> Setting<'static> {
    Setting {
        way: keeper.way,
        variable: None,
        groups: Some(Arc::clone(&keeper.groups)),
    }
}

/// `None` if the caller went away.
fn run(
    socket: &mut UnixStream,
    keeper: &Keeper,
    process: &Process,
    streams: Vec<OwnedFd>,
) -> Result<Option<Reply>, Refusal> {
    enter(keeper, process, streams)?;
    let mut ends = Ends::open(process.stdio, Path::new("/"))?;
    let (pipe, program) = (ends.pipe.take(), program(process)?);
    let started = init::start(
        &setting(keeper),
        process,
        program,
        pipe,
        ends.terminal.as_ref(),
    );
    let output = ends.keep_outer();
    let attended = match &started {
        Ok(pid) => attendant::attend(socket, Subject::Session(*pid), output.as_ref()),
        Err(NotStarted(_)) => Ok(true),
    };
    let ending = match (started, attended) {
        (Err(NotStarted(code)), _) => Ending::Exited(code),
        (Ok(pid), Ok(true)) => wait(pid)?,
        (Ok(pid), Ok(false) | Err(_)) => {
            hang_up(pid, process.stdio);
            return Ok(None);
        }
    };
    if let Some(output) = &output {
        attendant::drain_what_is_there(socket, output)
            .map_err(|error| Refusal::new("read the output", error))?;
    }
    Ok(Some(Reply::Ended(ending)))
}

/// Starts a process and leaves it to itself.
fn start(
    keeper: &Keeper,
    process: &Process,
    streams: Vec<OwnedFd>,
) -> Result<Option<Reply>, Refusal> {
    enter(keeper, process, streams)?;
    Ok(Some(
        match init::start(&setting(keeper), process, program(process)?, None, None) {
            Ok(_) => Reply::Started,
            Err(NotStarted(code)) => Reply::Ended(Ending::Exited(code)),
        },
    ))
}

/// Enters the sandbox, with the caller's streams in the place of this process's own.
pub(super) fn enter(
    keeper: &Keeper,
    process: &Process,
    streams: Vec<OwnedFd>,
) -> Result<(), Refusal> {
    if process.stdio == StdioKind::Inherit {
        let take = || {
            let [input, output, errors] =
                <[OwnedFd; 3]>::try_from(streams).map_err(|_| io::ErrorKind::InvalidInput)?;
            rustix::stdio::dup2_stdin(input)?;
            rustix::stdio::dup2_stdout(output)?;
            Ok::<_, io::Error>(rustix::stdio::dup2_stderr(errors)?)
        };
        take().map_err(|error| Refusal::new("take over the caller's streams", error))?;
    }
    keeper
        .first
        .enter()
        .map_err(|error| Refusal::new("enter the sandbox", error))
}

/// What a terminal does by itself when it goes away.
fn hang_up(pid: Pid, stdio: StdioKind) {
    if !matches!(stdio, StdioKind::Terminal(_)) {
        kill_process_group(pid, Signal::HUP).ok();
        kill_process_group(pid, Signal::CONT).ok();
    }
}

fn wait(pid: Pid) -> Result<Ending, Refusal> {
    loop {
        let waited = match waitpid(Some(pid), WaitOptions::empty()) {
            Err(rustix::io::Errno::INTR) => continue,
            other => other.map_err(|error| Refusal::new("wait for the process", error))?,
        };
        if let Some((_, status)) = waited {
            let exited = status.exit_status().map(Ending::Exited);
            let signalled = || status.terminating_signal().map(Ending::Signalled);
            if let Some(ending) = exited.or_else(signalled) {
                return Ok(ending);
            }
        }
    }
}
