//! What the evaluation of an open document tells.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use atelier_lang::code;
use atelier_lang::diag::Diagnostic;
use atelier_lang::doc::{self, DocData};
use atelier_lang::graph::Graph;
use atelier_lang::index::Index;
use atelier_lang::source::{ReadError, Sources, VirtualPath, World};
use atelier_lang::span::FileId;
use atelier_lang::{Inputs, Missing, analyse};

use super::documents::ITSELF;
use crate::cli::place;
use crate::world::Disk;

/// The texts of open documents, by their paths.
pub(super) type Texts = BTreeMap<PathBuf, String>;

/// What a document is to its project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The file that is evaluated.
    Main,
    /// One that others import: what it does not use itself, they may.
    Imported,
}

pub(super) struct Analysis {
    pub(super) role: Role,
    /// The project's.
    root: PathBuf,
    inputs: Inputs,
    pub(super) sources: Sources,
    pub(super) index: Index,
    pub(super) found: Vec<Diagnostic>,
    /// `None` where there are errors.
    pub(super) graph: Option<Graph>,
}

/// A project's files, those that are open as they are in the editor.
struct Overlay<'a> {
    root: &'a Path,
    texts: &'a Texts,
}

impl World for Overlay<'_> {
    fn read(&self, path: &VirtualPath, limit: u64) -> Result<Vec<u8>, ReadError> {
        let Some(text) = self.texts.get(&self.root.join(path.as_str())) else {
            return Disk::new(self.root).read(path, limit);
        };
        match text.len() as u64 {
            size if size > limit => Err(ReadError::TooLarge { size }),
            _ => Ok(text.clone().into_bytes()),
        }
    }
}

/// Whether the project's own file, in the folder of a document or above it, needs the document.
pub(super) fn is_needed(path: &Path, texts: &Texts) -> bool {
    let Some(folder) = path.parent() else {
        return false;
    };
    let root = place::project_root(folder);
    let above = folder
        .ancestors()
        .take_while(|folder| folder.starts_with(&root));
    let mut files = above.map(|folder| folder.join(place::FILE));
    let main = files.find(|file| texts.contains_key(file) || file.is_file());
    let analysis = main.and_then(|main| Analysis::of(&main, Role::Main, texts));
    analysis.is_some_and(|analysis| analysis.reads(path))
}

impl Analysis {
    /// `None` for a path that leads nowhere.
    pub(super) fn of(path: &Path, role: Role, texts: &Texts) -> Option<Self> {
        let root = place::project_root(path.parent()?);
        let inside = path.strip_prefix(&root).ok()?.to_str()?;
        let inputs = Inputs {
            missing: Missing::Open,
            ..place::inputs(VirtualPath::new(inside)?)
        };
        let world = Overlay { root: &root, texts };
        let (sources, outcome, index) = analyse(&world, &inputs);
        let mut found = outcome.diagnostics;
        if role == Role::Imported {
            found.retain(|found| found.code != code::UNUSED);
        }
        Some(Self {
            role,
            sources,
            index,
            found,
            graph: outcome.value,
            inputs,
            root,
        })
    }

    /// Whether a file is among those that were read, or that should have been.
    pub(super) fn reads(&self, path: &Path) -> bool {
        let inside = path.strip_prefix(&self.root).ok().and_then(Path::to_str);
        inside.is_some_and(|inside| self.sources.files().any(|name| name == inside))
    }

    /// Whether the document could be read to its end.
    pub(super) fn is_readable(&self) -> bool {
        self.index.knows(ITSELF)
    }

    /// What the file can use.
    pub(super) fn doc(&self, texts: &Texts) -> Option<DocData> {
        let world = Overlay {
            root: &self.root,
            texts,
        };
        let (_, outcome) = doc::doc(&world, &self.inputs);
        outcome.value
    }

    /// What a file is called in all evaluations; one of the library has no folder.
    pub(super) fn name(&self, file: FileId) -> PathBuf {
        let name = self.sources.name(file);
        match self.sources.is_library(file) {
            true => PathBuf::from(name),
            false => self.root.join(name),
        }
    }

    /// Where a file of the evaluation is; one of the library is put where an editor can read it.
    pub(super) fn path(&self, file: FileId) -> Option<PathBuf> {
        match self.sources.is_library(file) {
            true => library(self.sources.name(file), self.sources.text(file)),
            false => Some(self.name(file)),
        }
    }
}

/// A copy of a file of the library, in the folder for what can be made again.
fn library(name: &str, text: &str) -> Option<PathBuf> {
    let folders = etcetera::choose_base_strategy().ok()?;
    let version = concat!("std-", env!("CARGO_PKG_VERSION"));
    let folder = etcetera::BaseStrategy::cache_dir(&folders)
        .join("atelier")
        .join(version);
    let path = folder.join(Path::new(name).file_name()?);
    if std::fs::read_to_string(&path).ok().as_deref() != Some(text) {
        std::fs::create_dir_all(&folder).ok()?;
        crate::draft::replace(&path, text.as_bytes()).ok()?;
    }
    Some(path)
}
