//! `up`: bake what is missing, boot a sandbox from the snapshot, run a command or a shell in it, and forget it.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use atelier_lang::graph::NodeId;

use super::args::UpArgs;
use super::build::{Given, Planned, prepare};
use super::failure::Failure;
use super::interrupt::Interrupts;
use super::project::{self, Project, Words};
use super::ui;
use crate::backend::{Backend, Exec, Stdio};
use crate::plan::Action;
use crate::realise::Options;

pub(super) async fn up(args: UpArgs) -> Result<u8, Failure> {
    let mut interrupts = Interrupts::watch()?;
    let words = Words::read(&args.words)?;
    let secrets = project::secrets(&args.secrets)?;
    let variables = project::variables(&args.env)?;
    project::allow(&args.store, args.strict_outside)?;
    let project = Project::load(words.file, &args.store)?;
    let target = the_one(&project, &words.targets)?;
    let needed = project.select(&[target])?;
    let planned = prepare(&project, &needed, &[], &secrets, &mut interrupts).await?;
    if planned
        .actions
        .iter()
        .any(|action| matches!(action, Action::Bake(_)))
    {
        let options = Options {
            jobs: 1,
            keep_going: false,
        };
        let given = Given {
            secrets: &secrets,
            variables: &variables,
            strict_outside: args.strict_outside,
        };
        let realised = planned.realise(&given, options, &mut interrupts).await?;
        match realised.conclude(&project.sources, &planned.nodes) {
            0 => {}
            code => return Ok(code),
        }
    }
    let Some(node) = planned.nodes.last() else {
        return Err(Failure::machine("there is nothing to boot"));
    };
    let request = node.sandbox_request(&secrets, &variables);
    let sandbox = tokio::select! {
        sandbox = planned.backend.boot(&request) => sandbox?,
        () = interrupts.next() => return Err(Failure::interrupted()),
    };
    planned
        .backend
        .notices()
        .iter()
        .for_each(|text| ui::notice(text));
    let exec = Exec {
        command: args.command,
        folder: String::new(),
        stdio: Stdio::Inherit,
        variables: terminal_variables(),
    };
    let ending = run(&planned, &sandbox, &exec, &mut interrupts).await;
    planned.backend.destroy(&sandbox).await?;
    planned
        .backend
        .notices()
        .iter()
        .for_each(|text| ui::notice(text));
    // Those that were killed left theirs; what that costs is nobody's failure.
    planned.backend.sweep().await.ok();
    ending
}

/// The command's own status. Signals are for the command, which decides what they mean; atelier outlives it.
async fn run(
    planned: &Planned<'_>,
    sandbox: &crate::backend::SandboxId,
    exec: &Exec,
    interrupts: &mut Interrupts,
) -> Result<u8, Failure> {
    tokio::select! {
        ending = planned.backend.exec(sandbox, exec) => Ok(ending?.code()),
        () = interrupts.next() => Err(Failure::interrupted()),
    }
}

/// The target to boot: the one that is named, or the only one there is.
fn the_one(project: &Project, targets: &[String]) -> Result<String, Failure> {
    let name = |id: NodeId| project.graph.node(id).name.value.clone();
    match (targets, project.graph.default.as_slice()) {
        ([target], _) if project.graph.find(target).is_some() => Ok(target.clone()),
        ([], [only]) => Ok(name(*only)),
        ([], several) => {
            let names = several
                .iter()
                .map(|&id| name(id))
                .collect::<Vec<_>>()
                .join(", ");
            Err(Failure::usage(
                "the file has several targets",
                format!("say which to boot: {names}"),
            ))
        }
        ([group], _) if project.graph.groups.contains_key(group) => Err(Failure::usage(
            format!("`{group}` is a group"),
            "boot one of its members",
        )),
        ([unknown], _) => Err(project
            .select(std::slice::from_ref(unknown))
            .err()
            .unwrap_or_else(|| {
                Failure::usage(
                    format!("there is no target `{unknown}`"),
                    "name a prebuild of the file",
                )
            })),
        ([_, second, ..], _) => Err(Failure::usage(
            format!("`{second}` is a second target"),
            "boot one at a time",
        )),
    }
}

fn terminal_variables() -> BTreeMap<String, String> {
    let term = std::env::var("TERM")
        .ok()
        .filter(|_| std::io::stdin().is_terminal());
    term.map(|term| ("TERM".to_owned(), term))
        .into_iter()
        .collect()
}
