//! Sandboxes that are kept, as they lie in the store: a folder `k/<name>` each, which appears by one rename.
//!
//! ```text
//! lock, layers      as in every scratch folder; the lock is held as long as the sandbox runs
//! sandbox.json      what it is, for whoever runs something in it; no value of a secret
//! socket            where its keeper listens
//! first             its first process
//! layer/d           what was written to the workspace
//! run-<name>        what else the sandbox needs, made anew by each start
//! log               what was printed by commands that nobody attends
//! ```

use std::collections::BTreeMap;
use std::fs::{self, DirEntry, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Scratch, Store, failed, sync_folder, tree};
use crate::backend::{BackendError, Class, Network, hex_key};
use crate::node::ContentKey;
use crate::nonce;

/// `sandbox.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct KeptRecord {
    #[serde(with = "hex_key")]
    pub key: ContentKey,
    pub node: String,
    /// UTC, RFC 3339.
    pub created: String,
    pub network: Network,
    /// The image's own.
    pub image_variables: BTreeMap<String, String>,
    pub variables: BTreeMap<String, String>,
    pub path: Vec<String>,
    /// Names only.
    pub secrets: Vec<String>,
}

/// Whether somebody holds the lock of a folder.
pub(in super::super) fn is_held(folder: &Path) -> bool {
    // Shared, so that two who look do not see each other.
    File::open(folder.join("lock"))
        .is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

impl Store {
    pub(super) fn kept_folders(&self) -> io::Result<impl Iterator<Item = io::Result<DirEntry>>> {
        match fs::read_dir(self.root.join("k")) {
            Ok(entries) => Ok(Some(entries).into_iter().flatten()),
            // An older version has made this store.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None.into_iter().flatten()),
            Err(error) => Err(error),
        }
    }

    /// The names of all kept sandboxes, whole or not.
    pub(in super::super) fn kept_names(&self) -> io::Result<Vec<String>> {
        let name = |entry: io::Result<DirEntry>| Ok(entry?.file_name().into_string().ok());
        let names = self.kept_folders()?.map(name);
        names.filter_map(Result::transpose).collect()
    }

    pub(in super::super) fn kept(&self, name: &str) -> PathBuf {
        self.root.join("k").join(name)
    }

    /// `None` if there is no such sandbox; the error says what is damaged.
    pub(in super::super) fn kept_record(&self, name: &str) -> io::Result<Option<KeptRecord>> {
        match fs::read(self.kept(name).join("sandbox.json")) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.kept(name).exists() => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Takes over the folder of a kept sandbox that has ended; `None` while somebody holds it.
    pub(in super::super) fn take_over(&self, name: &str) -> io::Result<Option<Scratch>> {
        let lock = File::options()
            .write(true)
            .open(self.kept(name).join("lock"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Scratch {
                store: self.clone(),
                name: format!("k/{name}"),
                lock,
                stays: true,
            })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Takes a kept sandbox's folder out of use. It must have ended.
    pub(in super::super) fn forget(&self, name: &str) -> io::Result<()> {
        self.discard(&self.kept(name))
    }
}

impl Scratch {
    pub(in super::super) fn lock(&self) -> &File {
        &self.lock
    }

    /// The names of the layers that it holds.
    pub(in super::super) fn layers(&self) -> Result<Vec<String>, BackendError> {
        let text = fs::read_to_string(self.path("layers"))
            .map_err(|error| failed("read a sandbox's layers", &error))?;
        let layers: Vec<String> = text.lines().map(str::to_owned).collect();
        let is_there = |layer: &&String| self.store.root.join(tree(layer)).is_dir();
        match layers.iter().find(|layer| !is_there(layer)) {
            Some(layer) => Err(BackendError::new(Class::Lost, format!("{layer} is gone"))),
            None => Ok(layers),
        }
    }

    /// Writes a file of this folder, as a whole or not at all.
    pub(in super::super) fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let name = Path::new(&self.name).join(name);
        self.store.write_whole(&name, content)
    }

    /// A fresh folder in this one for what a start needs; those of earlier starts go. Returns its name in the store.
    pub(in super::super) fn run_folder(&self) -> io::Result<String> {
        for entry in fs::read_dir(self.path(""))? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with("run-") {
                self.store.discard(&entry.path())?;
            }
        }
        let name = format!("run-{}", nonce::name());
        fs::create_dir(self.path(&name))?;
        Ok(format!("{}/{name}", self.name))
    }

    /// Makes this the folder of the kept sandbox `name`, in one step; `false` if there is one of that name.
    pub(in super::super) fn settle(&mut self, name: &str) -> io::Result<bool> {
        let kept = self.store.root.join("k");
        fs::create_dir_all(&kept)?;
        match fs::rename(self.path(""), kept.join(name)) {
            Ok(()) => {
                self.name = format!("k/{name}");
                sync_folder(&kept).map(|()| true)
            }
            // The other one's folder is not empty.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// From here on the folder is not this value's to delete.
    pub(in super::super) fn leave(mut self) {
        self.stays = true;
    }
}
