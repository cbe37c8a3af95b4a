//! Work on the store that needs the rights of a sandbox's root, since what a step made may belong to other ids and be
//! closed to the caller: done by a short process, which enters a user namespace where the caller is not root.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Stdio;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;

use super::image::{self, LayoutPlace};
use super::launcher;
use super::protocol::{self, Refusal};
use super::session::describe;
use super::userns;
use super::way::Way;
use crate::backend::{BackendError, Class};
use crate::oci::Digest;

/// The second hidden argument of a process that works.
pub(super) const WORK: &str = "work";

/// What is to be done. Paths are absolute.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Job {
    /// Unpacks a layer of an image into an empty folder; see `unpack_layer`.
    Unpack {
        layout: LayoutPlace,
        digest: [u8; 32],
        into: PathBuf,
        below: Vec<PathBuf>,
    },
}

#[derive(Serialize, Deserialize)]
struct Order {
    way: Way,
    job: Job,
}

/// Has a process do a job, and returns what it says. Given up, the process dies.
pub(super) async fn have_done<T: DeserializeOwned>(way: Way, job: Job) -> Result<T, BackendError> {
    let order = serde_json::to_vec(&Order { way, job }).map_err(broken)?;
    let mut command = tokio::process::Command::new("/proc/self/exe");
    command
        .args([protocol::ARGUMENT, WORK, &std::process::id().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let mut child = command.spawn().map_err(broken)?;
    let mut stdin = child.stdin.take().ok_or_else(|| broken("no pipe"))?;
    stdin.write_all(&order).await.map_err(broken)?;
    drop(stdin);
    let output = child.wait_with_output().await.map_err(broken)?;
    let said: Result<Result<T, Refusal>, _> = serde_json::from_slice(&output.stdout);
    match said {
        Ok(done) => done.map_err(|refusal| describe(&refusal)),
        Err(_) => Err(BackendError::new(
            Class::Transient,
            format!("work on the store was ended ({})", output.status),
        )),
    }
}

fn broken(error: impl std::fmt::Display) -> BackendError {
    BackendError::new(Class::Bug, format!("cannot have work done: {error}"))
}

/// Runs as the process that works: an order comes from stdin, and what came of it goes to stdout.
pub(super) fn main(parent: i32) -> io::Result<()> {
    let order: Order = serde_json::from_reader(io::stdin().lock())?;
    let entered = userns::enter(order.way);
    if !launcher::watch(parent)? {
        return Ok(());
    }
    let said = entered.and_then(|()| work(order.way, order.job));
    let said = serde_json::to_vec(&said)?;
    io::stdout().lock().write_all(&said)
}

fn work(way: Way, job: Job) -> Result<serde_json::Value, Refusal> {
    match job {
        Job::Unpack {
            layout,
            digest,
            into,
            below,
        } => {
            image::unpack_one(way, &layout, &Digest(digest), &into, &below)?;
            Ok(serde_json::Value::Null)
        }
    }
}
