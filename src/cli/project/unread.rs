//! A project whose file is not evaluated yet.

use std::path::PathBuf;

use atelier_lang::Inputs;
use atelier_lang::diag::{Diagnostic, Outcome, Severity};
use atelier_lang::graph::Graph;
use atelier_lang::source::Sources;

use super::{Project, isolation, registries};
use crate::cli::args::{FileArgs, StoreArgs};
use crate::cli::failure::Failure;
use crate::cli::place::Place;
use crate::cli::{config, exit, given};
use crate::config::Config;

pub(super) struct Unread {
    pub file: PathBuf,
    pub root: PathBuf,
    pub config: Config,
    pub store: PathBuf,
    /// What it is to be evaluated from.
    pub inputs: Inputs,
}

impl Unread {
    pub(super) fn of(place: Place, given: &FileArgs, args: &StoreArgs) -> Result<Self, Failure> {
        let config = config::load(args, Some(&place.root))?;
        let store = config::store(&config)?;
        let inputs = given::to(place.inputs(), given)?;
        let Place { file, root, .. } = place;
        Ok(Self {
            file,
            root,
            config,
            store,
            inputs,
        })
    }

    /// The project, of what the file was evaluated to.
    pub(super) fn read(
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
