//! `up`: bake what is missing, boot a sandbox from the snapshot, run a command or a shell in it, and forget it. Or keep it.

use std::collections::BTreeMap;

use atelier_lang::graph::NodeId;

use super::args::{EmitForm, NetworkKind, UpArgs};
use super::backend::Chosen;
use super::build::{Given, Planned, prepare};
use super::exec::terminal_variables;
use super::failure::Failure;
use super::interrupt::Interrupts;
use super::pinning::Pinning;
use super::place::Words;
use super::project::{self, Project};
use super::{given, input, sandboxes, ui};
use crate::backend::kubernetes::emit::{self, Form};
use crate::backend::{Backend, Environment, Exec, Keep, Network, SandboxId, SandboxRequest, Stdio};
use crate::pin::Secrets;
use crate::realise::Options;

pub(super) async fn up(args: UpArgs) -> Result<u8, Failure> {
    let mut interrupts = Interrupts::watch()?;
    let words = Words::read(&args.words)?;
    let pinning = Pinning::read(&args.resolve)?;
    let variables = given::variables(&args.env)?;
    allow(&args)?;
    let project = Project::load(words.file, &args.resolve.file, &args.store)?;
    let target = the_one(&project, &words.targets)?;
    let needed = project.select(&[target])?;
    let planned = prepare(&project, &needed, &[], &pinning, &mut interrupts).await?;
    if let Some(form) = args.emit {
        let request = request(&planned, &args, &pinning.secrets, &variables)?;
        return emit(&planned, &request, form).await;
    }
    if planned.has_misses() {
        if let Some(name) = &args.name {
            sandboxes::require_free(&planned.backend, name).await?;
        }
        let given = Given {
            secrets: &pinning.secrets,
            variables: &variables,
            strict_outside: args.strict_outside,
        };
        match bake(&project, &planned, &given, &mut interrupts).await? {
            0 => {}
            code => return Ok(code),
        }
    }
    let request = request(&planned, &args, &pinning.secrets, &variables)?;
    input::lend_if(!args.detach)?;
    let sandbox = tokio::select! {
        sandbox = planned.backend.boot(&request) => sandbox?,
        () = interrupts.next() => return Err(Failure::interrupted()),
    };
    say_notices(&planned);
    let exec = Exec {
        command: args.command,
        folder: String::new(),
        stdio: Stdio::Inherit,
        variables: terminal_variables(),
        environment: Environment::default(),
    };
    let ending = match args.detach {
        true => leave(&planned.backend, &sandbox, exec, args.json).await,
        false => {
            let ending = run(&planned, &sandbox, &exec, &mut interrupts).await;
            planned.backend.destroy(&sandbox).await?;
            say_notices(&planned);
            ending
        }
    };
    // Those that were killed left theirs; what that costs is nobody's failure.
    planned.backend.sweep().await.ok();
    ending
}

fn request(
    planned: &Planned<'_>,
    args: &UpArgs,
    secrets: &Secrets,
    variables: &BTreeMap<String, String>,
) -> Result<SandboxRequest, Failure> {
    let Some(node) = planned.nodes.last() else {
        return Err(Failure::machine("there is nothing to boot"));
    };
    let mut request = node.sandbox_request(secrets, variables);
    request.network = match args.network {
        NetworkKind::Host => Network::Host,
        NetworkKind::None => Network::None,
    };
    request.keep = args.detach.then(|| Keep {
        name: args.name.clone(),
    });
    Ok(request)
}

/// Prints what would be created.
async fn emit(
    planned: &Planned<'_>,
    request: &SandboxRequest,
    form: EmitForm,
) -> Result<u8, Failure> {
    let Chosen::Kubernetes(cluster) = &planned.backend else {
        let help = "add --backend kubernetes";
        return Err(Failure::usage("`--emit` is for a cluster", help));
    };
    let form = match form {
        EmitForm::Manifest => Form::Manifest,
        EmitForm::AgentSandbox => Form::AgentSandbox,
    };
    if planned.has_misses() {
        ui::notice(
            "its snapshot is not there yet: bake it with `atelier build --backend kubernetes`",
        );
    }
    let secrets = request.environment.secrets.keys();
    let secrets: Vec<&str> = secrets.map(String::as_str).collect();
    if !secrets.is_empty() {
        ui::notice(&format!(
            "the values of secrets are not in it: {}",
            secrets.join(", ")
        ));
    }
    ui::print_json(&Box::pin(emit::emit(cluster, request, form)).await?);
    Ok(0)
}

/// Refuses what cannot be had without a sandbox, before anything is done.
fn allow(args: &UpArgs) -> Result<(), Failure> {
    let no_network = matches!(args.network, NetworkKind::None);
    let of_sandboxes = [
        ("--strict-outside", args.strict_outside),
        ("--detach", args.detach),
        ("--network none", no_network),
    ];
    project::allow(&args.store, &of_sandboxes)
}

fn say_notices(planned: &Planned<'_>) {
    for text in planned.backend.notices() {
        ui::notice(&text);
    }
}

/// Returns the exit code of who fails.
async fn bake(
    project: &Project,
    planned: &Planned<'_>,
    given: &Given<'_>,
    interrupts: &mut Interrupts,
) -> Result<u8, Failure> {
    let options = Options {
        jobs: 1,
        keep_going: false,
    };
    let realised = planned.realise(given, options, interrupts).await?;
    Ok(realised.conclude(&project.sources, &planned.nodes))
}

/// Says what was started, and has it do something if it is to.
async fn leave(
    backend: &Chosen,
    sandbox: &SandboxId,
    mut exec: Exec,
    json: bool,
) -> Result<u8, Failure> {
    // Nobody sits at a terminal.
    exec.variables.clear();
    let started = match exec.command.is_empty() {
        true => None,
        false => backend.start(sandbox, &exec).await?,
    };
    match json {
        true => sandboxes::print_one(backend, sandbox).await?,
        false => ui::print(&format!("{}\n", sandbox.0)),
    }
    let Some(ending) = started else {
        return Ok(0);
    };
    ui::notice(&format!(
        "sandbox {} is there, but its command could not be started: see its log",
        sandbox.0
    ));
    Ok(ending.code())
}

/// The command's own status. Signals are for the command, which decides what they mean; atelier outlives it.
async fn run(
    planned: &Planned<'_>,
    sandbox: &SandboxId,
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
