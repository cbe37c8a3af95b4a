//! From the words of a command line to pinned nodes: the file is found, read, evaluated and resolved.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use atelier_lang::diag::Diagnostic;
use atelier_lang::graph::{Graph, NodeId};
use atelier_lang::source::Sources;
use atelier_lang::{Inputs, evaluate};
use secrecy::SecretString;

use super::args::{EnvArgs, FileArgs, SandboxKind, SecretArgs, StoreArgs};
use super::failure::Failure;
use super::{config, exit, ui};
use crate::backend::local::{Isolation, Local};
use crate::config::{Config, Origin};
use crate::git::Git;
use crate::pin::{self, Secrets};
use crate::registry::Registries;
use crate::resolve::live::Live;
use crate::world::Disk;

mod place;
mod then;

use place::Place;
pub(super) use then::Then;

const FILE: &str = "prebuild.kdl";

/// A file that has been evaluated.
pub(super) struct Project {
    /// Absolute.
    pub file: PathBuf,
    /// What the project may read lies below it.
    pub root: PathBuf,
    /// What it was evaluated from.
    inputs: Inputs,
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

/// The words of `[FILE] [TARGET…]`.
pub(super) struct Words {
    pub file: Option<PathBuf>,
    pub targets: Vec<String>,
}

impl Words {
    /// What contains `/` or ends in .kdl is the file, all else are targets.
    pub(super) fn read(words: &[String]) -> Result<Self, Failure> {
        let is_file = |word: &&String| {
            word.contains('/')
                || Path::new(word)
                    .extension()
                    .is_some_and(|ending| ending == "kdl")
        };
        let (files, targets): (Vec<&String>, Vec<&String>) = words.iter().partition(is_file);
        if let [_, second, ..] = files.as_slice() {
            let text = format!("`{second}` is a second file");
            return Err(Failure::usage(
                text,
                "give one file; targets contain no `/`",
            ));
        }
        Ok(Self {
            file: files.first().map(PathBuf::from),
            targets: targets.into_iter().cloned().collect(),
        })
    }
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
        let place = Place::find(file, given, args)?;
        let (sources, outcome) = evaluate(&Disk::new(&place.root), &place.inputs);
        place.project(args, sources, outcome)
    }

    /// The graph as it is on every machine: a platform that the file does not state is empty. Its nodes are the same.
    pub(super) fn evaluate_anywhere(&self) -> Result<(Sources, Graph), Failure> {
        let inputs = Inputs {
            platform: String::new(),
            ..self.inputs.clone()
        };
        let (sources, outcome) = evaluate(&Disk::new(&self.root), &inputs);
        match outcome.value {
            Some(graph) => Ok((sources, graph)),
            None => Err(Failure::File {
                sources,
                diagnostics: outcome.diagnostics,
                exit: exit::FILE,
            }),
        }
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
pub(super) fn open(args: &StoreArgs) -> Result<Local, Failure> {
    Ok(Local::open(&store_path(args)?, isolation(args))?)
}

/// Reads the values that `--secret` names.
pub(super) fn secrets(args: &SecretArgs) -> Result<Secrets, Failure> {
    let mut secrets = Secrets::new();
    for word in &args.secrets {
        // What stands there may be the value itself.
        let name = word.split('=').next().unwrap_or_default();
        let form = || {
            Failure::usage(
                format!("`--secret {name}=…` does not say where the value is"),
                "write --secret NAME=env:VARIABLE or NAME=file:PATH",
            )
        };
        let (name, source) = word.split_once('=').ok_or_else(form)?;
        let value = match source.split_once(':') {
            Some(("env", variable)) => std::env::var(variable).map_err(|_| {
                let text = format!("secret {name}: the variable {variable} is not set");
                Failure::usage(text, "set it, or name another one")
            })?,
            Some(("file", path)) => std::fs::read_to_string(path).map_err(|error| {
                Failure::usage(
                    format!("secret {name}: cannot read {path}: {error}"),
                    "name a file that you may read",
                )
            })?,
            _ => return Err(form()),
        };
        let value = value.trim_end_matches(['\n', '\r']);
        secrets.insert(name.to_owned(), SecretString::from(value));
    }
    Ok(secrets)
}

/// Reads `--env NAME=VALUE`.
pub(super) fn variables(args: &EnvArgs) -> Result<BTreeMap<String, String>, Failure> {
    let pair = |word: &String| match word.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Failure::usage(
            format!("`--env {word}` is not understood"),
            "write --env NAME=VALUE",
        )),
    };
    args.env.iter().map(pair).collect()
}

/// Where the file and its project are.
pub(super) fn locate(file: Option<PathBuf>) -> Result<(PathBuf, PathBuf), Failure> {
    let file = match file {
        Some(file) => std::path::absolute(&file).unwrap_or(file),
        None => nearest()?,
    };
    let folder = file.parent().unwrap_or(Path::new("/"));
    let folder = folder.canonicalize().unwrap_or(folder.to_owned());
    let named = file.clone();
    let file = match file.canonicalize() {
        Ok(file) if file.is_dir() => file.join(FILE),
        Ok(file) => file,
        Err(error) => {
            let text = format!("cannot read {}: {error}", file.display());
            return Err(Failure::usage(
                text,
                "name a file, or run this where a prebuild.kdl is",
            ));
        }
    };
    // A link that was cloned may lead to what is none of the project's business, and errors show parts of it.
    let is_link = named.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
    if is_link && !file.starts_with(project_root(&folder)) {
        let text = format!(
            "{} is a link that leads out of the project",
            named.display()
        );
        return Err(Failure::usage(text, "name the file that it leads to"));
    }
    let root = project_root(file.parent().unwrap_or(Path::new("/")));
    Ok((file, root))
}

fn nearest() -> Result<PathBuf, Failure> {
    let here = here()?;
    for folder in here.ancestors() {
        if folder.join(FILE).is_file() {
            return Ok(folder.join(FILE));
        }
        if folder.join(".git").exists() {
            break;
        }
    }
    let text = format!(
        "there is no {FILE} in {} or above it, up to the git root",
        here.display()
    );
    Err(Failure::usage(
        text,
        "write one, or name a file: atelier build path/to/prebuild.kdl",
    ))
}

fn here() -> Result<PathBuf, Failure> {
    std::env::current_dir()
        .map_err(|error| Failure::machine(&format!("cannot tell the current folder: {error}")))
}

/// The root of the project that the current folder lies in.
pub(super) fn root_here() -> Result<PathBuf, Failure> {
    Ok(project_root(&here()?))
}

/// The git root that holds a folder, else the folder itself.
fn project_root(folder: &Path) -> PathBuf {
    let root = folder
        .ancestors()
        .find(|folder| folder.join(".git").exists());
    root.unwrap_or(folder).to_owned()
}

/// This machine's, as images name it.
fn platform() -> String {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("linux/{architecture}")
}
