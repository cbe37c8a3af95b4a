//! What was got from registries, in the store: two image layouts without an index. Documents stay; layers are there until
//! they are unpacked.
//!
//! ```text
//! documents/blobs/sha256/…  manifests, indexes, configurations
//! layers/blobs/sha256/…     layers; who uses some holds `lock`, and who takes some away holds it alone
//! part/…                    what has come of a layer so far; locked by the one who adds to it
//! ```
//!
//! A blob in its place is whole: it is put there by a rename, once its digest is right and it is on the disk.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::oci::{Digest, Layer, Layout, OciError};

#[derive(Clone, Debug)]
pub(super) struct Blobs {
    root: PathBuf,
}

/// A blob that is being got. Nobody else adds to it as long as this value is there.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) file: File,
    /// Of what the file holds.
    pub(super) hash: Sha256,
    pub(super) length: u64,
    path: PathBuf,
    whole: PathBuf,
    digest: Digest,
}

/// Layers that are in use: they stay as long as this value does.
#[derive(Debug)]
pub struct Held {
    blobs: Blobs,
    lock: File,
    digests: Vec<Digest>,
}

/// How often who waits for another's transfer looks.
const LOOK: Duration = Duration::from_millis(20);

/// What nobody went on with for so long is litter.
const LITTER: Duration = Duration::from_hours(24);

const LAYOUT: &str = "{\"imageLayoutVersion\":\"1.0.0\"}";
const DOCUMENTS: &str = "documents";
const LAYERS: &str = "layers";
const BLOBS: &str = "blobs/sha256";

impl Blobs {
    /// Below the store's folder; nothing is touched until something is kept or looked for.
    pub(super) fn below(store: &Path) -> Self {
        Self {
            root: store.join("b"),
        }
    }

    /// The layout with layers.
    pub(super) fn layers(&self) -> PathBuf {
        self.root.join(LAYERS)
    }

    /// The layout with documents.
    pub(super) fn documents(&self) -> io::Result<Layout> {
        self.prepare()?;
        Layout::open_folder(&self.root.join(DOCUMENTS)).map_err(|error| match error {
            OciError::Read { source, .. } => source,
            other => io::Error::other(other),
        })
    }

    fn prepare(&self) -> io::Result<()> {
        // The last of what is made here.
        if self.root.join("part").is_dir() {
            return Ok(());
        }
        for layout in [DOCUMENTS, LAYERS] {
            fs::create_dir_all(self.root.join(layout).join(BLOBS))?;
            let marker = self.root.join(layout).join("oci-layout");
            crate::draft::replace(&marker, LAYOUT.as_bytes())?;
        }
        fs::create_dir_all(self.root.join("part"))
    }

    fn whole(&self, layout: &str, digest: &Digest) -> PathBuf {
        self.root
            .join(layout)
            .join(BLOBS)
            .join(hex::encode(digest.0))
    }

    /// Has those layers stay that are there, and those that will be.
    pub(super) fn hold(&self, layers: &[Layer]) -> io::Result<Held> {
        self.prepare()?;
        let lock = self.lock()?;
        // Who has it alone deletes a few files.
        lock.lock_shared()?;
        Ok(Held {
            blobs: self.clone(),
            lock,
            digests: layers.iter().map(|layer| layer.digest).collect(),
        })
    }

    fn lock(&self) -> io::Result<File> {
        File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.root.join("lock"))
    }

    /// Takes away what crashes have left, once it is old; returns how many things that were.
    pub(super) fn sweep(&self) -> io::Result<usize> {
        if !self.root.join("part").is_dir() {
            return Ok(0);
        }
        let mut swept = 0;
        for path in old_files(&self.root.join("part"))? {
            let Ok(part) = File::open(&path) else {
                continue;
            };
            // One that somebody adds to is not old, unless its server is silent. The lock is held until the file is gone:
            // who gets it next looks whether the file is there.
            if part.try_lock().is_ok() && is_at(&part, &path) {
                fs::remove_file(&path)?;
                swept += 1;
            }
        }
        let lock = self.lock()?;
        if lock.try_lock().is_ok() {
            for path in old_files(&self.root.join(LAYERS).join(BLOBS))? {
                fs::remove_file(path)?;
                swept += 1;
            }
        }
        Ok(swept)
    }

    /// Keeps a small blob that is there as a whole, and has been checked.
    pub(super) fn keep(&self, digest: &Digest, content: &[u8]) -> io::Result<()> {
        self.prepare()?;
        let whole = self.whole(DOCUMENTS, digest);
        let name = format!("{}.{}", hex::encode(digest.0), std::process::id());
        let draft = self.root.join("part").join(name);
        let written = || {
            let mut file = File::create(&draft)?;
            file.write_all(content)?;
            publish(&file, &draft, &whole)
        };
        written().inspect_err(|_| drop(fs::remove_file(&draft)))
    }

    /// Waits for its turn to get a layer; `None` if it is there.
    pub(super) async fn part(&self, layer: &Layer) -> io::Result<Option<Part>> {
        self.prepare()?;
        let whole = self.whole(LAYERS, &layer.digest);
        let path = self.root.join("part").join(hex::encode(layer.digest.0));
        loop {
            let mut file = File::options()
                .create(true)
                .truncate(false)
                .read(true)
                .write(true)
                .open(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    tokio::time::sleep(LOOK).await;
                    continue;
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // Whoever had it may have published or deleted this very file meanwhile.
            if !is_at(&file, &path) {
                continue;
            }
            if fs::metadata(&whole).is_ok_and(|there| there.len() == layer.size) {
                fs::remove_file(&path)?;
                return Ok(None);
            }
            let hashed = tokio::task::spawn_blocking(move || {
                let (hash, length) = hash(&mut file)?;
                Ok::<_, io::Error>((file, hash, length))
            });
            let (file, hash, length) = hashed.await??;
            let mut part = Part {
                file,
                hash,
                length,
                path,
                whole,
                digest: layer.digest,
            };
            if part.length > layer.size {
                part.restart()?;
            }
            return Ok(Some(part));
        }
    }
}

/// Whether it is this very file that has the name.
fn is_at(file: &File, path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| file.metadata().is_ok_and(|own| own.ino() == there.ino()))
}

/// The files of a folder that nobody has written to for long.
fn old_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut old = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let age = entry.metadata().and_then(|meta| meta.modified());
        let age = age.map(|time| time.elapsed().unwrap_or_default());
        if age.is_ok_and(|age| age > LITTER) {
            old.push(entry.path());
        }
    }
    Ok(old)
}

impl Held {
    /// Takes the layers away, now that they are unpacked; unless somebody else may need them.
    pub(crate) fn discard(self) -> io::Result<()> {
        self.lock.unlock()?;
        if self.lock.try_lock().is_err() {
            return Ok(());
        }
        for digest in &self.digests {
            match fs::remove_file(self.blobs.whole(LAYERS, digest)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

fn hash(file: &mut File) -> io::Result<(Sha256, u64)> {
    let (mut hash, mut length) = (Sha256::new(), 0);
    let mut buffer = vec![0; 256 << 10];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok((hash, length));
        }
        hash.update(&buffer[..count]);
        length += count as u64;
    }
}

impl Part {
    /// Forgets what has come.
    pub(super) fn restart(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.hash = Sha256::new();
        self.length = 0;
        Ok(())
    }

    /// Puts it in its place if it is what it should be; else says what it is.
    pub(super) async fn publish(self) -> io::Result<Result<(), Digest>> {
        let found = Digest(self.hash.clone().finalize().into());
        if found != self.digest {
            fs::remove_file(&self.path)?;
            return Ok(Err(found));
        }
        let published =
            tokio::task::spawn_blocking(move || publish(&self.file, &self.path, &self.whole));
        published.await?.map(Ok)
    }
}

/// A blob under its name is whole, also after a power cut.
fn publish(file: &File, from: &Path, to: &Path) -> io::Result<()> {
    file.sync_all()?;
    fs::rename(from, to)?;
    match to.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    /// Many old parts, which a sweep takes away while somebody goes on with each.
    #[tokio::test]
    async fn a_sweep_never_takes_what_somebody_adds_to() {
        let store = tempfile::tempdir().unwrap();
        let blobs = Blobs::below(store.path());
        blobs.prepare().unwrap();
        let layers: Vec<_> = (0..200u8)
            .map(|number| Layer {
                digest: Digest(Sha256::digest([number]).into()),
                size: 1000,
            })
            .collect();
        for _ in 0..20 {
            for layer in &layers {
                let part = File::create(blobs.root.join("part").join(hex::encode(layer.digest.0)))
                    .unwrap();
                part.set_modified(SystemTime::now() - 2 * LITTER).unwrap();
            }
            let sweeper = {
                let blobs = blobs.clone();
                std::thread::spawn(move || blobs.sweep())
            };
            let mut parts = Vec::new();
            for layer in &layers {
                parts.extend(blobs.part(layer).await.unwrap());
            }
            sweeper.join().unwrap().unwrap();
            assert_eq!(parts.len(), layers.len());
            assert!(parts.iter().all(|part| is_at(&part.file, &part.path)));
        }
    }
}
