//! `plan` and `build`: one way to the plan, and then it is printed or carried out.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::pin::pin as pin_future;

use atelier_lang::diag::Diagnostic;
use atelier_lang::graph::NodeId;
use atelier_lang::source::Sources;

use super::args::{BuildArgs, PlanArgs};
use super::backend::Chosen;
use super::failure::{self, Failure};
use super::history::History;
use super::interrupt::Interrupts;
use super::pinning::{Pinning, Resolved};
use super::place::Words;
use super::project::{self, Project};
use super::report::{self, Node, Plan};
use super::{exit, given, progress, refusal, ui};
use crate::backend::local::Isolation;
use crate::backend::{Backend, BakeRequest, Cancel};
use crate::event;
use crate::pin::{PinnedNode, Secrets};
use crate::plan::{Action, Candidate, Reason};
use crate::realise::{self, Ended, Options, Work};
use crate::resolve::live::Live;

/// A plan for some nodes, and what a later command needs to act on it.
pub(super) struct Planned<'g> {
    pub nodes: Vec<PinnedNode<'g>>,
    pub actions: Vec<Action>,
    /// What was found in the file once its inputs were known, and is no error.
    pub warnings: Vec<Diagnostic>,
    pub backend: Chosen,
    pub history: History,
    /// What was asked of the world, and is not asked again.
    pub live: Live,
}

/// What the command line gives to bakes.
pub(super) struct Given<'a> {
    pub secrets: &'a Secrets,
    pub variables: &'a BTreeMap<String, String>,
    pub strict_outside: bool,
}

/// How the nodes ended, and whether the user stopped it.
pub(super) struct Realised {
    pub ends: Vec<Ended>,
    pub interrupted: bool,
}

/// Resolves the nodes, looks their keys up and decides. Ctrl-C ends it at once, with all that it started.
pub(super) async fn prepare<'g>(
    project: &'g Project,
    needed: &[NodeId],
    force: &[String],
    pinning: &Pinning,
    interrupts: &mut Interrupts,
) -> Result<Planned<'g>, Failure> {
    let cancel = Cancel::new();
    let work = async {
        tokio::select! {
            planned = resolve_and_plan(project, needed, force, pinning) => planned,
            () = cancel.cancelled() => Err(Failure::interrupted()),
        }
    };
    interruptible(&cancel, interrupts, work).await
}

async fn resolve_and_plan<'g>(
    project: &'g Project,
    needed: &[NodeId],
    force: &[String],
    pinning: &Pinning,
) -> Result<Planned<'g>, Failure> {
    if let Some(unknown) = force.iter().find(|name| project.graph.find(name).is_none()) {
        return Err(Failure::usage(
            format!("there is no target `{unknown}` to force"),
            "name a prebuild of the file",
        ));
    }
    let registries = project.registries.clone();
    let backend = Chosen::open(&project.config, project.isolation, registries)?;
    let live = project.world(needed, &pinning.secrets)?;
    let Resolved { pinned, warnings } = project.resolve(needed, pinning, &live).await?;
    let nodes = project.pin(needed, &pinned)?;
    refusal::check(&backend, &project.sources, &nodes)?;
    let history = History::of(&project.store, &project.file);
    let candidates: Vec<Candidate> = nodes
        .iter()
        .map(|node| candidate(node, force, &history))
        .collect();
    let keys: Vec<_> = candidates.iter().map(|candidate| candidate.key).collect();
    let presence = backend.probe(&keys).await?;
    let actions = crate::plan::plan(&candidates, presence);
    Ok(Planned {
        nodes,
        actions,
        warnings,
        backend,
        history,
        live,
    })
}

fn candidate(node: &PinnedNode<'_>, force: &[String], history: &History) -> Candidate {
    let name = node.node.name.value.clone();
    let last = history.recall(&name).preimage;
    Candidate {
        forced: force.contains(&name),
        last: (!last.is_empty()).then_some(last),
        key: node.key,
        preimage: node.preimage.clone(),
        name,
    }
}

impl Planned<'_> {
    /// The plan as data.
    pub(super) fn report(&self) -> Vec<Node> {
        let rows = self.nodes.iter().zip(&self.actions);
        rows.map(|(node, action)| {
            let parent = node
                .parent
                .map(|parent| self.nodes[parent].node.name.value.as_str());
            let name = &node.node.name.value;
            let estimate = match action {
                Action::Reuse(_) => None,
                Action::Bake(_) => self.history.recall(name).seconds,
            };
            Node::planned(name, node.key, parent, action, estimate)
        })
        .collect()
    }

    /// Whether anything is to be baked.
    pub(super) fn has_misses(&self) -> bool {
        let is_bake = |action: &Action| matches!(action, Action::Bake(_));
        self.actions.iter().any(is_bake)
    }

    /// What a build comes to that may bake nothing.
    fn leave(&self) -> Vec<Ended> {
        let ended = |action: &Action| match action {
            Action::Reuse(snapshot) => Ended::Reused(snapshot.clone()),
            Action::Bake(_) => Ended::Skipped,
        };
        self.actions.iter().map(ended).collect()
    }

    fn print_results(&self, ends: &[Ended]) {
        let nodes = self.report().into_iter().zip(ends);
        let nodes = nodes.map(|(node, ended)| node.ended(ended)).collect();
        ui::print_json(&Plan::new(self.backend.name(), nodes));
    }

    /// Names what is not cached; returns the exit code.
    fn refuse(&self, json: bool) -> u8 {
        if json {
            self.print_results(&self.leave());
        }
        for (node, action) in self.nodes.iter().zip(&self.actions) {
            if let Action::Bake(_) = action {
                let reason = report::reason_line(action);
                ui::say(format_args!(
                    "{} is not cached: {reason}",
                    node.node.name.value
                ));
            }
        }
        exit::MISSES
    }

    /// Bakes what the plan says, until it is done or the user interrupts.
    pub(super) async fn realise(
        &self,
        given: &Given<'_>,
        options: Options,
        interrupts: &mut Interrupts,
    ) -> Result<Realised, Failure> {
        self.require_secrets(given.secrets)?;
        let work: Vec<Work> = self
            .nodes
            .iter()
            .zip(&self.actions)
            .map(|(node, action)| Work {
                action: action.clone(),
                parent: node.parent,
                request: BakeRequest {
                    strict_outside: given.strict_outside,
                    ..node.bake_request(
                        node.parent.map(|parent| self.nodes[parent].key),
                        given.secrets,
                        given.variables,
                        matches!(action, Action::Bake(Reason::Forced)),
                    )
                },
            })
            .collect();
        if self.has_misses() {
            // Housekeeping: what it leaves costs room, and no build.
            if let Err(error) = self.backend.sweep().await {
                ui::notice(&error.message);
            }
        }
        let cancel = Cancel::new();
        let (sink, events) = event::channel();
        let realised = async {
            // Dropped at the end, which ends the display.
            let sink = sink;
            realise::realise(&self.backend, &work, options, &sink, &cancel).await
        };
        let shown = progress::show(events);
        let (ends, logs) =
            interruptible(&cancel, interrupts, async { tokio::join!(realised, shown) }).await;
        self.remember(&ends, &logs);
        Ok(Realised {
            ends,
            interrupted: cancel.is_cancelled(),
        })
    }

    /// What the next plan compares with, and what `log` finds. A store that cannot be written to has said so already.
    fn remember(&self, ends: &[Ended], logs: &BTreeMap<String, PathBuf>) {
        for (node, ended) in self.nodes.iter().zip(ends) {
            let name = &node.node.name.value;
            let mut memory = self.history.recall(name);
            let old = memory.clone();
            if let Ended::Reused(snapshot) | Ended::Baked(snapshot) = ended {
                memory.preimage.clone_from(&node.preimage);
                memory.seconds = Some(snapshot.durations.total());
            }
            memory.log = logs.get(name).cloned().or(memory.log);
            if memory != old {
                self.history.remember(name, memory).ok();
            }
        }
    }

    fn require_secrets(&self, secrets: &Secrets) -> Result<(), Failure> {
        let baked = self
            .nodes
            .iter()
            .zip(&self.actions)
            .filter(|(_, action)| matches!(action, Action::Bake(_)));
        for (node, _) in baked {
            if let Some(name) = node.missing_secrets(secrets).first() {
                let text = format!("{} needs the secret {name} to bake", node.node.name.value);
                return Err(Failure::usage(
                    text,
                    format!("give it with --secret {name}=env:{name} or --secret {name}=file:PATH"),
                ));
            }
        }
        Ok(())
    }
}

impl Realised {
    /// Says what failed and what was skipped; returns the exit code, which is the first failure's.
    pub(super) fn conclude(&self, sources: &Sources, nodes: &[PinnedNode<'_>]) -> u8 {
        let mut code = None;
        for (node, ended) in nodes.iter().zip(&self.ends) {
            let Ended::Failed(error) = ended else {
                continue;
            };
            let (diagnostic, exit) = failure::diagnose(node.node, error);
            ui::show_diagnostics(sources, &[diagnostic]);
            code = code.or(Some(exit));
        }
        let left = |ended: &Ended| matches!(ended, Ended::Skipped | Ended::Cancelled);
        let skipped: Vec<&str> = nodes
            .iter()
            .zip(&self.ends)
            .filter(|(_, ended)| left(ended))
            .map(|(node, _)| node.node.name.value.as_str())
            .collect();
        if !skipped.is_empty() {
            ui::notice(&format!("not baked: {}", skipped.join(", ")));
        }
        if self.interrupted {
            exit::INTERRUPTED
        } else {
            code.unwrap_or(0)
        }
    }
}

pub(super) async fn build(args: BuildArgs) -> Result<u8, Failure> {
    let mut interrupts = Interrupts::watch()?;
    let words = Words::read(&args.words)?;
    let pinning = Pinning::read(&args.resolve)?;
    let variables = given::variables(&args.env)?;
    let strict = ("--strict-outside", args.strict_outside);
    project::allow(&args.store, &[strict])?;
    let project = Project::load(words.file, &args.resolve.file, &args.store)?;
    let needed = project.select(&words.targets)?;
    let planned = prepare(&project, &needed, &args.force, &pinning, &mut interrupts).await?;
    if args.cached_only && planned.has_misses() {
        return Ok(planned.refuse(args.json));
    }
    let options = Options {
        jobs: jobs(args.jobs, project.isolation),
        keep_going: args.keep_going,
    };
    let given = Given {
        secrets: &pinning.secrets,
        variables: &variables,
        strict_outside: args.strict_outside,
    };
    let realised = planned.realise(&given, options, &mut interrupts).await?;
    if args.json {
        planned.print_results(&realised.ends);
    }
    Ok(realised.conclude(&project.sources, &planned.nodes))
}

pub(super) async fn plan(args: PlanArgs) -> Result<u8, Failure> {
    let mut interrupts = Interrupts::watch()?;
    let words = Words::read(&args.words)?;
    let pinning = Pinning::read(&args.resolve)?;
    let project = Project::load(words.file, &args.resolve.file, &args.store)?;
    let needed = project.select(&words.targets)?;
    let planned = prepare(&project, &needed, &args.force, &pinning, &mut interrupts).await?;
    if args.json {
        ui::print_json(&Plan::new(planned.backend.name(), planned.report()));
    } else {
        ui::print(&table(&planned));
    }
    Ok(if args.exit_code && planned.has_misses() {
        exit::MISSES
    } else {
        0
    })
}

fn table(planned: &Planned<'_>) -> String {
    let header = ["NODE", "SNAPSHOT", "ACTION", "REASON"]
        .map(str::to_owned)
        .to_vec();
    let row = |(node, action): (Node, &Action)| {
        vec![
            node.name,
            node.snapshot,
            node.action.to_owned(),
            report::reason_line(action),
        ]
    };
    let rows = planned.report().into_iter().zip(&planned.actions).map(row);
    report::table(&[header].into_iter().chain(rows).collect::<Vec<_>>())
}

fn jobs(given: Option<u16>, isolation: Isolation) -> usize {
    if isolation.direct {
        if given.is_some_and(|given| given > 1) {
            ui::notice("without a sandbox one bake runs at a time: -j is 1");
        }
        return 1;
    }
    let processors = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    given.map_or_else(processors, usize::from)
}

/// Lets `work` go on to its end; the first Ctrl-C or SIGTERM cancels what runs, and then it ends soon.
pub(super) async fn interruptible<T>(
    cancel: &Cancel,
    interrupts: &mut Interrupts,
    work: impl Future<Output = T>,
) -> T {
    let mut work = pin_future!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            () = interrupts.next() => cancel.cancel(),
        }
    }
}
