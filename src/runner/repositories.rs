//! Repositories in a workspace: the scripts of the local backend, run with the git that is here.

use std::io;
use std::path::Path;

use super::process::{self, Process};
use super::protocol::{Class, Failure};
use super::{broken, machine};
use crate::backend::Ending;
use crate::backend::local::init;
use crate::checkout::{self as scripts, REMOVED, Script};

/// More of what a script said is of no use.
const SAID: usize = 64 << 10;

/// Whether there is all that verifying a repository takes.
pub(super) fn can_verify() -> bool {
    let environment = scripts::environment();
    ["git", "sh", "find"]
        .iter()
        .all(|program| init::find(program, &environment).is_ok())
}

/// Checks that a repository in the workspace is whole; `false` if there is none any more.
pub(super) async fn verify(workspace: &Path, path: &str) -> Result<bool, Failure> {
    let operation = format!("verify the repository {path}");
    let environment = scripts::environment();
    let program = scripts::verify(path).program();
    let ran = run(workspace, program, environment).await;
    let (ending, said) = ran.map_err(|error| broken(&operation, &error))?;
    match ending {
        REMOVED => Ok(false),
        Ending::Exited(0) => Ok(true),
        _ => Err(refused(ending, &said, &operation)),
    }
}

/// Puts a repository into the workspace. Small files that are gone in the end are made in a folder.
pub(super) async fn check_out(
    workspace: &Path,
    script: Script,
    temporary: &Path,
    operation: &str,
) -> Result<(), Failure> {
    let mut environment = scripts::environment();
    environment.push(("TMPDIR".to_owned(), temporary.display().to_string()));
    let ran = run(workspace, script.program(), environment).await;
    let (ending, said) = ran.map_err(|error| broken(operation, &error))?;
    match ending.success() {
        true => Ok(()),
        false => Err(refused(ending, &said, operation)),
    }
}

/// How a program ended, and what it said.
pub(super) async fn run(
    folder: &Path,
    program: Vec<String>,
    environment: Vec<(String, String)>,
) -> io::Result<(Ending, Vec<u8>)> {
    let process = Process {
        program,
        environment,
        folder: folder.to_owned(),
    };
    let mut said = Vec::new();
    let ran = process::run(&process, |bytes| {
        said.extend_from_slice(bytes);
        said.truncate(SAID);
    });
    let ending = ran.await?;
    Ok((ending, said))
}

pub(super) fn refused(ending: Ending, said: &[u8], operation: &str) -> Failure {
    let said = String::from_utf8_lossy(said).trim().to_owned();
    let class = match ending {
        _ if said.contains("No space left") => Class::Full,
        Ending::Exited(_) => Class::Denied,
        Ending::Signalled(_) => Class::Transient,
    };
    machine(class, format!("cannot {operation}: {said}"))
}
