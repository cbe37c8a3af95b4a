//! `exec`: a command, or a shell, in a sandbox that is kept.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use super::args::ExecArgs;
use super::backend::Chosen;
use super::failure::Failure;
use super::interrupt::Interrupts;
use super::{given, input, project, sandboxes};
use crate::backend::{Backend, Environment, Exec, SandboxId, SandboxState, Stdio};

pub(super) async fn exec(args: ExecArgs) -> Result<u8, Failure> {
    let environment = Environment {
        variables: given::variables(&args.env)?,
        secrets: given::secrets(&args.secrets)?.into_iter().collect(),
        path: Vec::new(),
    };
    input::lend()?;
    let backend = project::open(&args.store)?;
    let sandbox = running(&backend, &args.name).await?;
    let exec = Exec {
        command: args.command,
        folder: folder(args.folder)?,
        stdio: Stdio::Inherit,
        variables: terminal_variables(),
        environment,
    };
    // Without a terminal, signals are for the command, and the backend passes them on.
    if !exec.stdio.is_terminal() {
        return Ok(backend.exec(&sandbox, &exec).await?.code());
    }
    let mut interrupts = Interrupts::watch()?;
    tokio::select! {
        ending = backend.exec(&sandbox, &exec) => Ok(ending?.code()),
        () = interrupts.next() => Err(Failure::interrupted()),
    }
}

async fn running(backend: &Chosen, name: &str) -> Result<SandboxId, Failure> {
    let all = backend.sandboxes().await?;
    let Some(sandbox) = all
        .into_iter()
        .find(|sandbox| sandbox.name.as_deref() == Some(name))
    else {
        return Err(sandboxes::unknown(name));
    };
    match sandbox.state {
        SandboxState::Running => Ok(sandbox.id),
        SandboxState::Ended => Err(Failure::usage(
            format!("sandbox {name} has ended"),
            format!(
                "start it again with `atelier up -d --name {name}`, which keeps what it has written"
            ),
        )),
    }
}

/// Relative to /home/dev, whichever way it is written.
fn folder(folder: Option<String>) -> Result<String, Failure> {
    let Some(folder) = folder else {
        return Ok(String::new());
    };
    let inside = match folder.strip_prefix("/home/dev") {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => rest.trim_start_matches('/'),
        _ => &folder,
    };
    match inside.starts_with('/') {
        true => Err(Failure::usage(
            format!("`--in {folder}` is outside of /home/dev"),
            "name a folder in /home/dev",
        )),
        false => Ok(inside.to_owned()),
    }
}

/// What a terminal's programs need to know of it.
pub(super) fn terminal_variables() -> BTreeMap<String, String> {
    let term = std::env::var("TERM")
        .ok()
        .filter(|_| std::io::stdin().is_terminal());
    term.map(|term| ("TERM".to_owned(), term))
        .into_iter()
        .collect()
}
