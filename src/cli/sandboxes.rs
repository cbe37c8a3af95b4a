//! `ps`, `rm` and `down`: the sandboxes that are kept.

use serde::Serialize;

use super::args::{DownArgs, PsArgs, RmArgs};
use super::backend::Chosen;
use super::failure::Failure;
use super::{project, report, ui};
use crate::backend::{Backend, Sandbox, SandboxId, SandboxState, is_sandbox_name};

/// `atelier.sandboxes/1`: fields in alphabetical order, oldest first.
#[derive(Debug, Serialize)]
struct Sandboxes {
    sandboxes: Vec<Row>,
    schema: &'static str,
}

/// `atelier.sandbox/1`.
#[derive(Debug, Serialize)]
struct One {
    #[serde(flatten)]
    sandbox: Row,
    schema: &'static str,
}

#[derive(Debug, Serialize)]
struct Row {
    created: String,
    key: String,
    /// The output of commands that nobody attends.
    log: Option<String>,
    name: String,
    node: String,
    /// `null` if it has ended, or if this user may not know.
    processes: Option<usize>,
    snapshot: String,
    state: &'static str,
}

impl From<&Sandbox> for Row {
    fn from(sandbox: &Sandbox) -> Self {
        Self {
            created: sandbox.created.clone(),
            key: sandbox.key.to_hex(),
            log: sandbox.log.as_ref().map(|log| log.display().to_string()),
            name: sandbox.id.0.clone(),
            node: sandbox.node.clone(),
            processes: sandbox.processes,
            snapshot: sandbox.key.snapshot_name(),
            state: state(sandbox.state),
        }
    }
}

pub(super) async fn ps(args: &PsArgs) -> Result<u8, Failure> {
    let backend = project::open(&args.store)?;
    let kept = kept(&backend).await?;
    if args.json {
        ui::print_json(&Sandboxes {
            sandboxes: kept.iter().map(Row::from).collect(),
            schema: "atelier.sandboxes/1",
        });
    } else {
        ui::print(&table(&kept));
    }
    tidy(&backend).await;
    Ok(0)
}

pub(super) async fn rm(args: &RmArgs) -> Result<u8, Failure> {
    let backend = project::open(&args.store)?;
    destroy(&backend, &args.names).await
}

pub(super) async fn down(args: &DownArgs) -> Result<u8, Failure> {
    let backend = project::open(&args.store)?;
    if !args.all && args.names.is_empty() {
        return Err(Failure::usage(
            "`down` does not say which sandbox",
            "name it, as `atelier ps` does, or end all with `atelier down --all`",
        ));
    }
    if !args.all {
        return destroy(&backend, &args.names).await;
    }
    for sandbox in kept(&backend).await? {
        backend.destroy(&sandbox.id).await?;
    }
    tidy(&backend).await;
    Ok(0)
}

/// All that are there, also after one that is not.
async fn destroy(backend: &Chosen, names: &[String]) -> Result<u8, Failure> {
    let mut missing = None;
    for name in names {
        if !backend.destroy(&SandboxId(name.clone())).await? {
            missing = missing.or(Some(name));
        }
    }
    tidy(backend).await;
    missing.map_or(Ok(0), |name| Err(unknown(name)))
}

/// What killed processes have left; what that costs is nobody's failure.
async fn tidy(backend: &Chosen) {
    backend.sweep().await.ok();
}

async fn kept(backend: &Chosen) -> Result<Vec<Sandbox>, Failure> {
    let mut all = backend.sandboxes().await?;
    all.retain(|sandbox| sandbox.name.is_some());
    Ok(all)
}

/// Tells scripts what has been started.
pub(super) async fn print_one(backend: &Chosen, id: &SandboxId) -> Result<(), Failure> {
    let all = backend.sandboxes().await?;
    if let Some(sandbox) = all.iter().find(|sandbox| sandbox.id == *id) {
        ui::print_json(&One {
            sandbox: sandbox.into(),
            schema: "atelier.sandbox/1",
        });
    }
    Ok(())
}

/// Before anything is baked for it. Whoever boots it asks again, and has the last word.
pub(super) async fn require_free(backend: &Chosen, name: &str) -> Result<(), Failure> {
    if !is_sandbox_name(name) {
        return Err(Failure::usage(
            format!("`{name}` cannot be a sandbox's name"),
            "up to 63 letters, digits, `-`, `_` and `.`, of which the first is a letter or a digit",
        ));
    }
    let running =
        |sandbox: &Sandbox| sandbox.id.0 == name && sandbox.state == SandboxState::Running;
    match backend.sandboxes().await?.iter().any(running) {
        true => Err(Failure::usage(
            format!("the name {name} is in use"),
            format!("choose another name, or remove the sandbox with `atelier rm {name}`"),
        )),
        false => Ok(()),
    }
}

pub(super) fn unknown(name: &str) -> Failure {
    Failure::usage(
        format!("there is no sandbox `{name}`"),
        "`atelier ps` lists those that are kept",
    )
}

fn state(state: SandboxState) -> &'static str {
    match state {
        SandboxState::Running => "running",
        SandboxState::Ended => "ended",
    }
}

fn table(kept: &[Sandbox]) -> String {
    let header = ["NAME", "NODE", "SNAPSHOT", "CREATED", "STATE", "PROCESSES"]
        .map(str::to_owned)
        .to_vec();
    let row = |sandbox: &Sandbox| {
        let row = Row::from(sandbox);
        vec![
            row.name,
            row.node,
            row.snapshot,
            row.created,
            row.state.to_owned(),
            row.processes
                .map_or("-".to_owned(), |count| count.to_string()),
        ]
    };
    let rows: Vec<_> = [header].into_iter().chain(kept.iter().map(row)).collect();
    report::table(&rows)
}
