//! From the words of a command line to pinned nodes: the file is found, read, evaluated and resolved.

use std::path::{Path, PathBuf};

use atelier_lang::diag::Diagnostic;
use atelier_lang::evaluate;
use atelier_lang::graph::{Graph, NodeId};
use atelier_lang::source::Sources;

use super::args::{FileArgs, SandboxKind, StoreArgs};
use super::backend::Chosen;
use super::failure::Failure;
use super::place::Place;
use super::{config, ui};
use crate::backend::local::Isolation;
use crate::config::{Config, Origin};
use crate::git::Git;
use crate::pin::{self, Secrets};
use crate::registry::Registries;
use crate::resolve::live::Live;
use crate::world::Disk;

mod then;
mod unread;

pub(super) use then::Then;
use unread::Unread;

/// A file that has been evaluated.
pub(super) struct Project {
    /// Absolute.
    pub file: PathBuf,
    /// What the project may read lies below it.
    pub root: PathBuf,
    pub sources: Sources,
    pub graph: Graph,
    /// What was found in the file and is no error; people have seen it.
    pub warnings: Vec<Diagnostic>,
    pub config: Config,
    /// Where its snapshots are.
    pub store: PathBuf,
    pub isolation: Isolation,
    /// Where its images of registries come from.
    pub registries: Registries,
    /// Where it is the project of a revision: what else of that it takes.
    pub then: Option<Then>,
}

impl Project {
    /// Reads the configuration and evaluates `file`, or the prebuild.kdl of this folder or the nearest one above, up to
    /// the git root.
    pub(super) fn load(
        file: Option<PathBuf>,
        given: &FileArgs,
        args: &StoreArgs,
    ) -> Result<Self, Failure> {
        let project = Self::read(file, given, args)?;
        ui::show_diagnostics(&project.sources, &project.warnings);
        Ok(project)
    }

    /// The same without a word of what is no error.
    pub(super) fn read(
        file: Option<PathBuf>,
        given: &FileArgs,
        args: &StoreArgs,
    ) -> Result<Self, Failure> {
        let unread = Unread::of(Place::find(file)?, given, args)?;
        let (sources, outcome) = evaluate(&Disk::new(&unread.root), &unread.inputs);
        unread.read(args, sources, outcome)
    }

    /// The nodes that `targets` need, parents first.
    pub(super) fn select(&self, targets: &[String]) -> Result<Vec<NodeId>, Failure> {
        let unknown = |unknown: &str| self.no_target(unknown);
        let needed = self.graph.closure(targets).map_err(unknown)?;
        if needed.is_empty() {
            let text = format!("{} declares no prebuild", self.file.display());
            let help = "it is for other files to import: name one of them";
            return Err(Failure::usage(text, help));
        }
        Ok(needed)
    }

    pub(super) fn no_target(&self, unknown: &str) -> Failure {
        let nodes = self.graph.nodes.iter();
        let names: Vec<&str> = nodes.map(|node| node.name.value.as_str()).collect();
        let text = format!("{} has no target `{unknown}`", self.file.display());
        Failure::usage(text, format!("its targets: {}", names.join(", ")))
    }

    /// The prebuild of that name.
    pub(super) fn prebuild(&self, name: &str) -> Result<NodeId, Failure> {
        let is_group = self.graph.groups.contains_key(name);
        match self.graph.find(name) {
            Some(id) => Ok(id),
            None if is_group => Err(Failure::usage(
                format!("`{name}` is a group"),
                "name a prebuild",
            )),
            None => Err(self.no_target(name)),
        }
    }

    /// Git, as the configuration has it.
    pub(super) fn git(&self) -> Result<Git, Failure> {
        Ok(git(&self.store)?.with_hosts(self.config.git_hosts()))
    }

    /// Where the inputs of the nodes are looked for.
    pub(super) fn live(&self, needed: &[NodeId], secrets: &Secrets) -> Result<Live, Failure> {
        let folder = self.file.parent().unwrap_or(&self.root).to_owned();
        let live = Live::new(self.root.clone(), folder, &self.store, self.git()?);
        let mut live = live.with_registries(self.registries.clone());
        for (name, image) in &self.config.aliases {
            if image.origin != Origin::Default {
                let origin = self.config.describe(image.origin);
                live = live.with_alias(name.clone(), image.value.clone(), origin);
            }
        }
        Ok(self.with_credentials(live, needed, secrets))
    }

    /// The same for these nodes too.
    pub(super) fn with_credentials(
        &self,
        mut live: Live,
        needed: &[NodeId],
        secrets: &Secrets,
    ) -> Live {
        for repo in needed.iter().flat_map(|&id| &self.graph.node(id).repos) {
            if let Some(credential) = pin::credential(repo, secrets) {
                live = live.with_credential(repo.source.value.clone(), credential);
            }
        }
        live
    }
}

/// The machine's git, for what reaches no server.
pub(super) fn git(store: &Path) -> Result<Git, Failure> {
    Git::new(store, std::env::vars_os()).map_err(|error| Failure::machine(&error.to_string()))
}

/// Where the store is, for what concerns no project.
pub(super) fn store_path(args: &StoreArgs) -> Result<PathBuf, Failure> {
    config::store(&config::load(args, None)?)
}

/// Refuses options, those that are given, that need a sandbox where there is none.
pub(super) fn allow(args: &StoreArgs, options: &[(&str, bool)]) -> Result<(), Failure> {
    let mut given = options.iter().filter(|(_, is_given)| *is_given);
    match given.next() {
        Some((option, _)) if isolation(args).direct => Err(Failure::usage(
            format!("`{option}` needs a sandbox"),
            format!("leave out {option}, or --sandbox direct"),
        )),
        _ => Ok(()),
    }
}

fn registries(config: &Config, store: &Path) -> Registries {
    Registries::new(store, config.registry_settings(), std::env::vars_os())
}

pub(super) fn isolation(args: &StoreArgs) -> Isolation {
    Isolation {
        direct: args.sandbox == SandboxKind::Direct,
        accept_direct: args.accept_direct,
    }
}

/// Opens the store, for what runs no step of a file.
pub(super) fn open(args: &StoreArgs) -> Result<Chosen, Failure> {
    let config = config::load(args, None)?;
    let registries = registries(&config, &config::store(&config)?);
    Chosen::open(&config, isolation(args), registries)
}
