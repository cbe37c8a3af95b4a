//! A project's inputs, pinned: by its lock as far as the command line lets it, else by the world as it is.

use std::io;
use std::path::{Path, PathBuf};

use atelier_lang::code;
use atelier_lang::diag::{self, Diagnostic};
use atelier_lang::document::LIMIT;
use atelier_lang::graph::{Base, Graph, NodeId};
use atelier_lang::source::{ReadError, Sources, VirtualPath, World};

use super::args::ResolveArgs;
use super::failure::Failure;
use super::project::{Project, Then};
use super::{given, ui};
use crate::draft;
use crate::lock::{self, Lock, Locked, NotLocked};
use crate::pin::{self, PinnedNode, Secrets};
use crate::resolve::live::Live;
use crate::resolve::{OnlyInput, Pinned, resolve_all};
use crate::revision::Revised;
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
            secrets: given::secrets(&args.secrets)?,
            lock: match (args.locked, args.fresh) {
                (true, _) => LockUse::Decides,
                (false, true) => LockUse::Ignored,
                (false, false) => LockUse::Pins,
            },
        })
    }
}

/// A lock to pin by, and what people call its file.
#[derive(Clone)]
pub(super) struct LockFile {
    pub name: String,
    /// `None` if there is none.
    pub lock: Option<Lock>,
}

impl Project {
    /// Pins all inputs of the nodes by the project's lock, as far as the command line lets it, and by the world.
    pub(super) async fn resolve(
        &self,
        needed: &[NodeId],
        pinning: &Pinning,
        live: &Live,
    ) -> Result<Resolved, Failure> {
        let file = self.lock_file(pinning)?;
        let pinned = self.resolve_by(needed, pinning, file, live).await?;
        for notice in pinned.notices() {
            ui::notice(notice);
        }
        let warnings = unmatched(&self.graph, &self.sources, needed, &pinned);
        ui::show_diagnostics(&self.sources, &warnings);
        Ok(Resolved { pinned, warnings })
    }

    /// The project's lock, as far as the command line lets it pin.
    pub(super) fn lock_file(&self, pinning: &Pinning) -> Result<LockFile, Failure> {
        Ok(LockFile {
            name: match &self.then {
                Some(then) => then.of(&self.lock_name()),
                None => self.lock_name(),
            },
            lock: match pinning.lock {
                LockUse::Pins | LockUse::Decides => self.lock()?,
                LockUse::Ignored => None,
            },
        })
    }

    /// The same by a lock that may be another one, and without a word of what was found.
    pub(super) async fn resolve_by(
        &self,
        needed: &[NodeId],
        pinning: &Pinning,
        file: LockFile,
        live: &Live,
    ) -> Result<Pinned, Failure> {
        let LockFile { name, lock } = file;
        let is_there = lock.is_some();
        let lock = lock.unwrap_or_default();
        let pins = Locked { lock: &lock, live };
        let missing = pins.missing(&self.graph, needed);
        if pinning.lock == LockUse::Decides && !missing.is_empty() {
            let label = |missing: &NotLocked| match is_there {
                true => unlocked(missing, &name),
                false => format!("there is no {name}"),
            };
            return Err(Failure::not_locked(self.sources.clone(), missing, label));
        }
        for other in missing.iter().filter(|missing| missing.locked_as.is_some()) {
            let (input, unlocked) = (&other.input, unlocked(other, &name));
            ui::notice(&format!("{input} is resolved anew, {unlocked}"));
        }
        let (graph, now) = (&self.graph, &pins);
        let pinned = match &self.then {
            Some(Then { revision, .. }) => {
                resolve_all(graph, needed, &Revised { revision, now }).await
            }
            None => resolve_all(graph, needed, now).await,
        };
        for notice in self.registries.notices() {
            ui::notice(&notice);
        }
        pinned.map_err(|errors| Failure::unresolved(self.sources.clone(), errors))
    }

    /// The nodes with their keys.
    pub(super) fn pin<'g>(
        &'g self,
        needed: &[NodeId],
        pinned: &Pinned,
    ) -> Result<Vec<PinnedNode<'g>>, Failure> {
        pin::pin(&self.graph, needed, pinned).map_err(|faults| {
            let errors = faults.into_iter().map(|fault| (fault.span, fault.error));
            Failure::unresolved(self.sources.clone(), errors.collect())
        })
    }

    /// Where the inputs of the nodes are looked for, image `host` among them.
    pub(super) fn world(&self, needed: &[NodeId], secrets: &Secrets) -> Result<Live, Failure> {
        self.with_host_paths(self.live(needed, secrets)?, needed)
    }

    /// The same world for the nodes of this project too.
    pub(super) fn join_world(
        &self,
        live: Live,
        needed: &[NodeId],
        secrets: &Secrets,
    ) -> Result<Live, Failure> {
        self.with_host_paths(self.with_credentials(live, needed, secrets), needed)
    }

    fn with_host_paths(&self, live: Live, needed: &[NodeId]) -> Result<Live, Failure> {
        let is_host =
            |base: &Base| matches!(base, Base::Image(image) if self.config.is_host(image));
        match needed.iter().any(|&id| is_host(&self.graph.node(id).base)) {
            true => Ok(live.with_host_paths(self.config.host_paths()?)),
            false => Ok(live),
        }
    }

    /// The project's lock, if there is one.
    pub(super) fn lock(&self) -> Result<Option<Lock>, Failure> {
        if let Some(then) = &self.then {
            let name = then.of(&self.lock_name());
            let lock = then.lock.clone().map(|read| lock::read(&name, read));
            return Ok(lock.transpose()?);
        }
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

/// Reads a lock, wherever it is.
pub(super) fn read_lock(path: &Path) -> Result<LockFile, Failure> {
    let name = path.display().to_string();
    Ok(LockFile {
        lock: Some(lock::read(&name, read_apart(path))?),
        name,
    })
}

/// Reads a file that belongs to no project.
pub(super) fn read_apart(path: &Path) -> Result<Vec<u8>, ReadError> {
    let refused = || ReadError::Refused(format!("{} is no file", path.display()));
    let absolute = std::path::absolute(path).map_err(|_| refused())?;
    let name = absolute.file_name().map(|name| name.to_string_lossy());
    let name = name.and_then(|name| VirtualPath::new(&name));
    match (absolute.parent(), name) {
        (Some(folder), Some(name)) => Disk::new(folder).read(&name, LIMIT),
        _ => Err(refused()),
    }
}

/// Why an input has no entry in the lock called `name`.
fn unlocked(missing: &NotLocked, name: &str) -> String {
    match &missing.locked_as {
        Some(other) => format!("{name} has it as {other}"),
        None => format!("not in {name}"),
    }
}

/// Patterns that name nothing at the pinned commit.
fn unmatched(
    graph: &Graph,
    sources: &Sources,
    needed: &[NodeId],
    pinned: &Pinned,
) -> Vec<Diagnostic> {
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
    diag::presentable(found, sources)
}
