//! Where a project is: its file, which is not evaluated yet, and what that is evaluated with.

use std::collections::BTreeMap;
use std::path::PathBuf;

use atelier_lang::diag::{Diagnostic, Outcome, Severity};
use atelier_lang::graph::Graph;
use atelier_lang::source::{Sources, VirtualPath};
use atelier_lang::{Inputs, Limits};

use super::then::once;
use super::{Project, isolation, locate, platform, registries};
use crate::cli::args::{FileArgs, LimitsKind, StoreArgs};
use crate::cli::failure::Failure;
use crate::cli::{config, exit};
use crate::config::Config;
use crate::stdlib;

/// A project whose file is not evaluated yet.
pub(super) struct Place {
    pub file: PathBuf,
    pub root: PathBuf,
    pub config: Config,
    pub store: PathBuf,
    pub inputs: Inputs,
}

impl Place {
    pub(super) fn find(
        file: Option<PathBuf>,
        given: &FileArgs,
        args: &StoreArgs,
    ) -> Result<Self, Failure> {
        Self::of(locate(file)?, given, args)
    }

    /// The same of a file that may have been there once.
    pub(super) fn find_once(
        file: Option<PathBuf>,
        given: &FileArgs,
        args: &StoreArgs,
    ) -> Result<Self, Failure> {
        match file {
            Some(file) if file.symlink_metadata().is_err() => Self::of(once(&file), given, args),
            file => Self::find(file, given, args),
        }
    }

    fn of(
        (file, root): (PathBuf, PathBuf),
        given: &FileArgs,
        args: &StoreArgs,
    ) -> Result<Self, Failure> {
        let config = config::load(args, Some(&root))?;
        let store = config::store(&config)?;
        let inside = file.strip_prefix(&root).unwrap_or(&file);
        let inside = inside.to_string_lossy();
        let Some(inside) = VirtualPath::new(&inside) else {
            let text = format!("`{inside}` is no file");
            return Err(Failure::usage(text, "name a file"));
        };
        let inputs = Inputs {
            params: params(given)?,
            limits: match given.limits {
                LimitsKind::Normal => Limits::NORMAL,
                LimitsKind::Large => Limits::LARGE,
            },
            std: stdlib::FILES,
            ..Inputs::new(inside, platform())
        };
        Ok(Self {
            file,
            root,
            config,
            store,
            inputs,
        })
    }

    pub(super) fn project(
        self,
        args: &StoreArgs,
        sources: Sources,
        outcome: Outcome<Graph>,
    ) -> Result<Project, Failure> {
        let diagnostics = outcome.diagnostics;
        let is_error = |found: &Diagnostic| found.severity == Severity::Error;
        match outcome.value {
            Some(graph) if !diagnostics.iter().any(is_error) => Ok(Project {
                file: self.file,
                root: self.root,
                inputs: self.inputs,
                sources,
                graph,
                warnings: diagnostics,
                registries: registries(&self.config, &self.store),
                config: self.config,
                store: self.store,
                isolation: isolation(args),
                then: None,
            }),
            _ => Err(Failure::File {
                sources,
                diagnostics,
                exit: exit::FILE,
            }),
        }
    }
}

/// Reads `--param NAME=VALUE`.
fn params(args: &FileArgs) -> Result<BTreeMap<String, String>, Failure> {
    let mut params = BTreeMap::new();
    for word in &args.params {
        let Some((name, value)) = word.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(Failure::usage(
                format!("`--param {word}` is not understood"),
                "write --param NAME=VALUE",
            ));
        };
        if params.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(Failure::usage(
                format!("`--param {name}` is given twice"),
                "give it once",
            ));
        }
    }
    Ok(params)
}
