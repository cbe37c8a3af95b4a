//! Repositories in the workspace: fetched as the caller, who may read them; checked out in the sandbox as `dev`, who
//! will own them.

use std::time::Duration;

use atelier_lang::graph::User;
use futures_util::future::try_join_all;

use super::log::Log;
use super::protocol::{Action, Process, Root, StdioKind};
use super::session::Session;
use super::store::{Scratch, failed};
use crate::backend::{BackendError, BakeError, Checkout, Class, Ending};
use crate::checkout::{self, REMOVED, Script, input};
use crate::git::{Git, GitError, Problem};
use crate::resolve::PinError;

/// Fetches all commits at once, into the scratch folder.
pub(super) async fn fetch(
    git: &Git,
    checkouts: &[Checkout],
    scratch: &Scratch,
    limit: Duration,
) -> Result<(), BakeError> {
    std::fs::create_dir(scratch.path("git"))
        .map_err(|error| failed("make a folder in the store", &error))?;
    try_join_all(checkouts.iter().enumerate().map(async |(index, checkout)| {
        let into = scratch.path(&format!("git/{index}"));
        let fetched = checkout::fetch(git, checkout, &into, limit).await;
        fetched.map_err(|error| broken(checkout, scratch, &error))
    }))
    .await?;
    Ok(())
}

/// What a failed call of git means. What fails in our own folder is no fault of the repository.
fn broken(checkout: &Checkout, scratch: &Scratch, error: &GitError) -> BakeError {
    match &error.problem {
        Problem::Io { path, source } if path.starts_with(scratch.path("git")) => {
            failed(&format!("fetch {}", input(checkout)), source).into()
        }
        problem => unfetched(checkout, &problem.to_string(), error.help()),
    }
}

fn unfetched(checkout: &Checkout, cause: &str, help: String) -> BakeError {
    let input = input(checkout);
    // Git says so in words alone.
    if cause.contains("No space left") {
        let message = format!("cannot fetch {input}: {cause}");
        let help = "free some room, or place the store elsewhere with --store DIR";
        return BackendError::new(Class::Full, message)
            .with_help(help)
            .into();
    }
    BakeError::Checkout(PinError {
        input,
        cause: cause.to_owned(),
        help,
    })
}

/// Checks a fetched repository out.
pub(super) async fn check_out(
    session: &mut Session,
    index: usize,
    checkout: &Checkout,
    scratch: &Scratch,
    log: &mut Log,
) -> Result<(), BakeError> {
    let fetched = scratch.path(&format!("git/{index}"));
    let from = format!("{}/{index}", session.repositories());
    let operation = format!("check out {}", checkout.path);
    for script in checkout::check_out(checkout, &fetched, &from, index) {
        let (ending, said) = run(session, script).await?;
        if !ending.success() {
            return Err(refused(log, &operation, &said).await);
        }
    }
    Ok(())
}

/// Checks that a repository in the workspace is whole; `false` if there is none any more.
pub(super) async fn verify(
    session: &mut Session,
    checkout: &Checkout,
    log: &mut Log,
) -> Result<bool, BakeError> {
    let (ending, said) = run(session, checkout::verify(&checkout.path)).await?;
    if ending == REMOVED {
        return Ok(false);
    }
    match ending.success() {
        true => Ok(true),
        false => {
            let operation = format!("verify the repository {}", checkout.path);
            Err(refused(log, &operation, &said).await)
        }
    }
}

/// How a script ended, and what it said.
async fn run(session: &mut Session, script: Script) -> Result<(Ending, Vec<u8>), BakeError> {
    let process = Process {
        root: Root::Tools,
        user: User::Dev,
        folder: "/home/dev".to_owned(),
        environment: checkout::environment(),
        action: Action::Run(script.program()),
        stdio: StdioKind::Frames,
    };
    let mut said = Vec::new();
    let ran = session.run(process, async |bytes| said.extend_from_slice(bytes));
    let ending = ran.await?;
    Ok((ending, said))
}

async fn refused(log: &mut Log, operation: &str, said: &[u8]) -> BakeError {
    log.output(said).await;
    log.flush();
    let mut said = String::from_utf8_lossy(said).trim().to_owned();
    // What git advises would not help.
    if said.contains("dubious ownership") {
        "it belongs to another user: have the root step give it back with `chown -R dev:dev`"
            .clone_into(&mut said);
    }
    let class = if said.contains("No space left") {
        Class::Full
    } else {
        Class::Denied
    };
    BackendError::new(class, format!("cannot {operation}: {said}")).into()
}
