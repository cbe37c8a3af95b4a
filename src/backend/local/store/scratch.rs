//! Folders of bakes and sandboxes under way.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use super::{LAYER, Layer, Store, failed};
use crate::backend::{BackendError, Class};
use crate::nonce;

/// A folder of one bake or sandbox; dropped, it is deleted.
#[derive(Debug)]
pub(in super::super) struct Scratch {
    pub(super) store: Store,
    pub(super) name: String,
    /// Held as long as the folder is in use, and opened before anything was written: see [`Self::flush`].
    pub(super) lock: File,
    /// It stays when this value is dropped.
    pub(super) stays: bool,
}

impl Store {
    /// A fresh folder for a bake or a sandbox that will read `layers`.
    pub(in super::super) fn scratch(&self, layers: &[Layer]) -> Result<Scratch, BackendError> {
        // A sweep holds this lock alone while it looks for what is used.
        let publishing = self
            .publishing()
            .and_then(|lock| lock.lock_shared().map(|()| lock));
        let _publishing = publishing.map_err(|error| failed("lock the store", &error))?;
        let scratch = self.make_scratch(layers);
        let scratch = scratch.map_err(|error| failed("make a folder in the store", &error))?;
        // From here on no sweep takes a layer that is named; one may have done so before.
        match self.missing(layers) {
            Some(layer) => Err(BackendError::new(
                Class::Lost,
                format!("{} is gone", layer.name),
            )),
            None => Ok(scratch),
        }
    }

    fn make_scratch(&self, layers: &[Layer]) -> io::Result<Scratch> {
        let name = format!("w/{}", nonce::name());
        // Under another name until the lock is held, so that no sweep takes it.
        let making = self.root.join(format!("{name}.new"));
        fs::create_dir_all(making.join(LAYER))?;
        let lock = File::create_new(making.join("lock"))?;
        lock.lock()?;
        let names: Vec<&str> = layers.iter().map(|layer| layer.name.as_str()).collect();
        fs::write(making.join("layers"), names.join("\n"))?;
        fs::rename(&making, self.root.join(&name))?;
        Ok(Scratch {
            store: self.clone(),
            name,
            lock,
            stays: false,
        })
    }
}

impl Scratch {
    /// Brings everything that was written to the disk, and fails if any of it did not get there.
    ///
    /// `syncfs` on the store's own file system, since through a volatile overlay every flush is a no-op, and `sync` hides
    /// failures. On a descriptor as old as the folder, since a failure that somebody else's flush was told of is told
    /// again only to those that were open by then.
    pub(in super::super) async fn flush(&self) -> io::Result<()> {
        let lock = self.lock.try_clone()?;
        let flushed = tokio::task::spawn_blocking(move || rustix::fs::syncfs(&lock));
        Ok(flushed.await??)
    }

    /// Relative to the store.
    pub(in super::super) fn name(&self) -> &str {
        &self.name
    }

    pub(in super::super) fn path(&self, name: &str) -> PathBuf {
        self.store.root.join(&self.name).join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.stays {
            return;
        }
        // Whatever fails here, the next sweep takes: the lock is gone with this value.
        self.store.discard(&self.path("")).ok();
    }
}
