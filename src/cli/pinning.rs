//! A project's inputs, pinned: by its lock as far as the command line lets it, else by the world as it is.

use std::io;
use std::path::PathBuf;

use atelier_lang::code;
use atelier_lang::diag::{self, Diagnostic};
use atelier_lang::document::LIMIT;
use atelier_lang::graph::{Base, Graph, NodeId};
use atelier_lang::source::{VirtualPath, World};

use super::args::ResolveArgs;
use super::failure::Failure;
use super::project::{self, Project};
use super::ui;
use crate::draft;
use crate::lock::{self, Lock, Locked, NotLocked};
use crate::pin::Secrets;
use crate::resolve::{OnlyInput, Pinned, resolve_all};
use crate::world::Disk;

/// What the command line says of pins.
pub(super) struct Pinning {
    pub secrets: Secrets,
    lock: LockUse,
}

/// The inputs of some nodes.
pub(super) struct Resolved {
    pub pinned: Pinned,
    /// What was found on the way and is no error; people have seen it.
    pub warnings: Vec<Diagnostic>,
}

/// What the lock is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LockUse {
    /// Its entries pin, and what has none floats.
    Pins,
    /// `--locked`: the same, and nothing may float.
    Decides,
    /// `--fresh`
    Ignored,
}

impl Pinning {
    pub(super) fn read(args: &ResolveArgs) -> Result<Self, Failure> {
        Ok(Self {
            secrets: project::secrets(&args.secrets)?,
            lock: match (args.locked, args.fresh) {
                (true, _) => LockUse::Decides,
                (false, true) => LockUse::Ignored,
                (false, false) => LockUse::Pins,
            },
        })
    }
}

impl Project {
    /// Pins all inputs of the nodes.
    pub(super) async fn resolve(
        &self,
        needed: &[NodeId],
        pinning: &Pinning,
    ) -> Result<Resolved, Failure> {
        let lock = match pinning.lock {
            LockUse::Pins | LockUse::Decides => self.lock()?,
            LockUse::Ignored => None,
        };
        let mut live = self.live(needed, &pinning.secrets)?;
        let is_host =
            |base: &Base| matches!(base, Base::Image(image) if self.config.is_host(image));
        if needed.iter().any(|&id| is_host(&self.graph.node(id).base)) {
            live = live.with_host_paths(self.config.host_paths()?);
        }
        let is_there = lock.is_some();
        let lock = lock.unwrap_or_default();
        let pins = Locked {
            lock: &lock,
            live: &live,
        };
        let missing = pins.missing(&self.graph, needed);
        if pinning.lock == LockUse::Decides && !missing.is_empty() {
            let label = |missing: &NotLocked| match is_there {
                true => self.unlocked(missing),
                false => format!("there is no {}", self.lock_name()),
            };
            return Err(Failure::not_locked(self.sources.clone(), missing, label));
        }
        for other in missing.iter().filter(|missing| missing.locked_as.is_some()) {
            let input = &other.input;
            ui::notice(&format!(
                "{input} is resolved anew, {}",
                self.unlocked(other)
            ));
        }
        self.pin_by(needed, &pins).await
    }

    /// Pins all inputs of the nodes by a lock, this project's or another one.
    pub(super) async fn pin_by(
        &self,
        needed: &[NodeId],
        pins: &Locked<'_>,
    ) -> Result<Resolved, Failure> {
        let pinned = resolve_all(&self.graph, needed, pins).await;
        for notice in self.registries.notices() {
            ui::notice(&notice);
        }
        let pinned = pinned.map_err(|errors| Failure::unresolved(self.sources.clone(), errors))?;
        for notice in pinned.notices() {
            ui::notice(notice);
        }
        let warnings = unmatched(&self.graph, needed, &pinned);
        ui::show_diagnostics(&self.sources, &warnings);
        Ok(Resolved { pinned, warnings })
    }

    /// Why an input has no entry.
    fn unlocked(&self, missing: &NotLocked) -> String {
        let name = self.lock_name();
        match &missing.locked_as {
            Some(other) => format!("{name} has it as {other}"),
            None => format!("not in {name}"),
        }
    }

    /// The project's lock, if there is one.
    pub(super) fn lock(&self) -> Result<Option<Lock>, Failure> {
        let is_absent = |error: io::Error| error.kind() == io::ErrorKind::NotFound;
        if self.lock_path().symlink_metadata().is_err_and(is_absent) {
            return Ok(None);
        }
        let name = self.lock_name();
        let read = match VirtualPath::new(&name) {
            Some(path) => Disk::new(&self.root).read(&path, LIMIT),
            None => return Ok(None),
        };
        Ok(Some(lock::read(&name, read)?))
    }

    /// Puts a lock in the place of the one that is there.
    pub(super) fn write_lock(&self, lock: &Lock) -> Result<(), Failure> {
        let text = lock.to_text();
        let name = self.lock_name();
        if text.len() as u64 > LIMIT {
            let text = format!("{name} would be larger than {} KiB", LIMIT >> 10);
            return Err(Failure::lock(text, "split the file in two"));
        }
        let path = self.lock_path();
        // What a symbolic link leads to is replaced, and the link stays.
        let path = path.canonicalize().unwrap_or(path);
        draft::replace(&path, text.as_bytes())
            .map_err(|error| Failure::machine(&format!("cannot write {name}: {error}")))
    }

    fn lock_path(&self) -> PathBuf {
        lock::beside(&self.file)
    }

    /// From the project's root, as people know it.
    pub(super) fn lock_name(&self) -> String {
        let path = self.lock_path();
        let inside = path.strip_prefix(&self.root).unwrap_or(&path);
        inside.to_string_lossy().into_owned()
    }
}

/// Patterns that name nothing at the pinned commit.
fn unmatched(graph: &Graph, needed: &[NodeId], pinned: &Pinned) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for repo in needed.iter().flat_map(|&id| &graph.node(id).repos) {
        let tree = OnlyInput::of(repo).and_then(|only| pinned.tree(&only));
        let (Some(only), Some(tree)) = (&repo.only, tree) else {
            continue;
        };
        let files = tree.unmatched[0].iter().map(|&index| &only.files[index]);
        let stubs = tree.unmatched[1].iter().map(|&index| &only.stubs[index]);
        for pattern in files.chain(stubs) {
            let message = format!("no path matches `{}`", pattern.value);
            let label = "nothing at the pinned commit";
            let warning = Diagnostic::error(code::ONLY, pattern.span, message, label)
                .help("check the pattern, or delete it")
                .warning();
            if !found.contains(&warning) {
                found.push(warning);
            }
        }
    }
    diag::presentable(found)
}
