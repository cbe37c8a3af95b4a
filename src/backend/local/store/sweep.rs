//! What crashes, removals and finished sandboxes leave in a store: found, taken out of use, deleted.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::super::way::Way;
use super::super::{protocol, userns};
use super::Store;
use crate::draft;
use crate::nonce;

/// The second hidden argument of a process that empties the trash of the store it starts in.
pub(in super::super) const REAP: &str = "reap";

/// Layers that no record names.
#[derive(Default)]
struct Unnamed {
    unused: Vec<PathBuf>,
    /// Whether some are left to sandboxes and bakes that stand on them.
    held: bool,
}

impl Store {
    /// Moves what nobody uses into the trash and empties it; returns how many things that were.
    pub(in super::super) fn sweep(&self) -> io::Result<usize> {
        let abandoned = self.abandoned_scratch()?;
        let mut swept = abandoned.len();
        if swept > 0 {
            // Who died may have been publishing.
            self.doubt()?;
        }
        for folder in abandoned {
            self.discard(&folder)?;
        }
        for draft in self.abandoned_drafts()? {
            self.discard(&draft)?;
            swept += 1;
        }
        let publishing = self.publishing()?;
        if publishing.try_lock().is_ok() {
            for path in self.unfinished("w", |ending| ending.is_some())? {
                self.discard(&path)?;
                swept += 1;
            }
            let doubts = self.doubts()?;
            if !doubts.is_empty() {
                swept += self.sweep_layers(&doubts)?;
            }
        }
        Ok(swept)
    }

    /// Says that there may be layers that no record names, for the next sweep: to look at all records and layers of a
    /// large store takes longer than the start of a sandbox.
    pub(in super::super) fn doubt(&self) -> io::Result<()> {
        File::create(self.root.join("locks/doubt")).map(drop)
    }

    /// The same of one layer, by a publisher who will take the doubt away; returns its place.
    pub(super) fn doubt_about(&self, layer: &str) -> io::Result<PathBuf> {
        let name = layer.rsplit('/').next().unwrap_or(layer);
        let doubt = self.root.join(format!("locks/doubt-{name}"));
        File::create(&doubt)?;
        Ok(doubt)
    }

    fn doubts(&self) -> io::Result<Vec<PathBuf>> {
        let mut doubts = Vec::new();
        for entry in fs::read_dir(self.root.join("locks"))? {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(b"doubt") {
                doubts.push(entry.path());
            }
        }
        Ok(doubts)
    }

    /// Only while nobody publishes or removes.
    fn sweep_layers(&self, doubts: &[PathBuf]) -> io::Result<usize> {
        let mut swept = 0;
        for path in self.unfinished("s", |ending| ending != Some("json"))? {
            self.discard(&path)?;
            swept += 1;
        }
        let Some(Unnamed { unused, held }) = self.unnamed_layers()? else {
            return Ok(swept);
        };
        for path in &unused {
            self.discard(path)?;
        }
        // Once those are let go, they are to be found.
        if !held {
            for doubt in doubts {
                fs::remove_file(doubt)?;
            }
        }
        Ok(swept + unused.len())
    }

    fn abandoned_scratch(&self) -> io::Result<Vec<PathBuf>> {
        let mut abandoned = Vec::new();
        for entry in fs::read_dir(self.root.join("w"))? {
            let path = entry?.path();
            if is_abandoned(&path) {
                abandoned.push(path);
            }
        }
        Ok(abandoned)
    }

    /// What is remembered of the machine and of targets is written to drafts first.
    fn abandoned_drafts(&self) -> io::Result<Vec<PathBuf>> {
        let mut drafts = Vec::new();
        for folder in ["", "targets", "trees"] {
            drafts.extend(self.unfinished(folder, |ending| ending == Some(draft::ENDING))?);
        }
        drafts.retain(|draft| is_free(draft));
        Ok(drafts)
    }

    /// What was being made in one of the store's folders by somebody who is gone; its name's ending tells. For
    /// records and scratch folders, only while nobody publishes.
    fn unfinished(
        &self,
        folder: &str,
        is_unfinished: impl Fn(Option<&str>) -> bool,
    ) -> io::Result<Vec<PathBuf>> {
        let entries = fs::read_dir(self.root.join(folder))?;
        let paths = entries
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<Vec<PathBuf>>>()?;
        let ending = |path: &Path| path.extension()?.to_str().map(str::to_owned);
        Ok(paths
            .into_iter()
            .filter(|path| is_unfinished(ending(path).as_deref()))
            .collect())
    }

    /// Layers that no record names; `None` if a record cannot be read: who knows what it named, and whether it can be read
    /// the next time.
    fn unnamed_layers(&self) -> io::Result<Option<Unnamed>> {
        let mut named: BTreeSet<String> = BTreeSet::new();
        for key in self.keys()? {
            let Ok(record) = self.read(key) else {
                return Ok(None);
            };
            let layers = record.into_iter().flat_map(|record| record.layers);
            named.extend(layers.map(|layer| layer.name));
        }
        // In this order: a folder that becomes a kept one meanwhile is seen in the second place.
        let mut in_use: BTreeSet<String> = BTreeSet::new();
        let kept = fs::read_dir(self.root.join("w"))?.chain(self.kept_folders()?);
        for entry in kept {
            let layers = fs::read_to_string(entry?.path().join("layers")).unwrap_or_default();
            in_use.extend(layers.lines().map(str::to_owned));
        }
        let mut unnamed = Unnamed::default();
        for entry in fs::read_dir(self.root.join("l"))? {
            let layer = format!("l/{}", entry?.file_name().display());
            match (named.contains(&layer), in_use.contains(&layer)) {
                (true, _) => {}
                (false, true) => unnamed.held = true,
                (false, false) => unnamed.unused.push(self.root.join(layer)),
            }
        }
        Ok(Some(unnamed))
    }

    /// Takes a folder or a file out of use at once; see [`Self::reap`].
    pub(super) fn discard(&self, path: &Path) -> io::Result<()> {
        match fs::rename(path, self.root.join("trash").join(nonce::name())) {
            // Somebody else was quicker.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Starts a process that empties the trash, if there is anything in it: deleting can take longer than all else, and
    /// nobody has to wait for it.
    pub(in super::super) fn reap(&self) -> Option<Child> {
        let mut trash = fs::read_dir(self.root.join("trash")).ok()?;
        trash.next()?.ok()?;
        let reaper = Command::new("/proc/self/exe")
            .args([protocol::ARGUMENT, REAP])
            .current_dir(&self.root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        // Without it the trash waits for the next time.
        reaper.ok()
    }
}

/// Empties the trash of the store that is the current folder. One process at a time does it, as whoever may delete what
/// steps made.
pub(in super::super) fn empty_trash() -> io::Result<()> {
    // Where that is refused, there is nothing but what the caller made.
    userns::enter(Way::of_caller()).ok();
    let lock = File::create("locks/reap")?;
    if lock.try_lock().is_err() {
        return Ok(());
    }
    empty(Path::new("trash"))
}

/// Deletes what is in a folder, until there is nothing, or nothing more can be deleted.
pub(in super::super) fn empty(folder: &Path) -> io::Result<()> {
    let mut deleted = true;
    while deleted {
        deleted = false;
        for entry in fs::read_dir(folder)?.flatten() {
            deleted |= delete(&entry.path(), folder, DEEPEST);
        }
    }
    Ok(())
}

/// So many names fit in a path.
const DEEPEST: usize = 12;

/// Deletes what it can; `true` if that was anything. What lies deeper than `depth` goes to the trash by itself first: a
/// step may nest folders deeper than a path or a stack can tell.
fn delete(path: &Path, trash: &Path, depth: usize) -> bool {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => {
            // Its owner may have closed it to themselves.
            if meta.permissions().mode() & 0o700 != 0o700 {
                fs::set_permissions(path, fs::Permissions::from_mode(0o700)).ok();
            }
        }
        _ => return fs::remove_file(path).is_ok(),
    }
    if depth == 0 {
        return fs::rename(path, trash.join(nonce::name())).is_ok();
    }
    let mut deleted = false;
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        deleted |= delete(&entry.path(), trash, depth - 1);
    }
    fs::remove_dir(path).is_ok() || deleted
}

/// Whether nobody holds a scratch folder's lock. One that is being made has no lock yet, and another kind of name.
fn is_abandoned(scratch: &Path) -> bool {
    if scratch.extension().is_some() {
        return false;
    }
    is_free(&scratch.join("lock"))
}

/// Whether nobody holds the lock on a file; one that is gone was nobody's.
fn is_free(file: &Path) -> bool {
    match File::options().write(true).open(file) {
        Ok(lock) => !matches!(lock.try_lock(), Err(TryLockError::WouldBlock)),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}
