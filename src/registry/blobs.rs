//! What was got from registries, in the store: an image layout without an index, which all images share.
//!
//! ```text
//! oci-layout
//! blobs/sha256/…   whole: published by a rename, when the digest is right
//! part/…           what has come of a blob so far; locked by the one who adds to it
//! ```

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

/// How often who waits for another's transfer looks.
const LOOK: Duration = Duration::from_millis(20);

const LAYOUT: &str = "{\"imageLayoutVersion\":\"1.0.0\"}";

impl Blobs {
    /// Below the store's folder; nothing is touched until something is kept or looked for.
    pub(super) fn below(store: &Path) -> Self {
        Self {
            root: store.join("b"),
        }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The layout, for reading.
    pub(super) fn layout(&self) -> io::Result<Layout> {
        self.prepare()?;
        Layout::open_folder(&self.root).map_err(|error| match error {
            OciError::Read { source, .. } => source,
            other => io::Error::other(other),
        })
    }

    fn prepare(&self) -> io::Result<()> {
        let marker = self.root.join("oci-layout");
        if marker.is_file() {
            return Ok(());
        }
        fs::create_dir_all(self.root.join("blobs/sha256"))?;
        fs::create_dir_all(self.root.join("part"))?;
        crate::draft::replace(&marker, LAYOUT.as_bytes())
    }

    fn whole(&self, digest: &Digest) -> PathBuf {
        self.root.join("blobs/sha256").join(hex::encode(digest.0))
    }

    /// Keeps a small blob that is there as a whole, and has been checked.
    pub(super) fn keep(&self, digest: &Digest, content: &[u8]) -> io::Result<()> {
        self.prepare()?;
        let whole = self.whole(digest);
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
        let whole = self.whole(&layer.digest);
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
            let is_current = fs::metadata(&path)
                .is_ok_and(|there| file.metadata().is_ok_and(|own| own.ino() == there.ino()));
            if !is_current {
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
