//! Random access to the files of an uncompressed tar archive, and to plain files in the same way.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

use super::OciError;

/// Where each file of an archive lies in it.
#[derive(Debug)]
pub(super) struct Archive {
    file: Arc<File>,
    entries: BTreeMap<String, (u64, u64)>,
}

/// A part of a file that is read as if it were one.
#[derive(Debug)]
pub struct Blob {
    file: Arc<File>,
    offset: u64,
    left: u64,
}

impl Archive {
    pub(super) fn open(path: &Path) -> Result<Self, OciError> {
        let failed = |source| OciError::Read {
            path: path.to_owned(),
            source,
        };
        let file = open_regular(path).map_err(failed)?;
        check_plain(&file, path)?;
        let size = file.metadata().map_err(failed)?.len();
        let mut entries = BTreeMap::new();
        let mut reader = tar::Archive::new(BufReader::new(file.try_clone().map_err(failed)?));
        let damaged = |what: String| OciError::Damaged {
            path: path.to_owned(),
            what,
        };
        for entry in reader.entries_with_seek().map_err(failed)? {
            let entry = entry.map_err(|error| damaged(error.to_string()))?;
            if !entry.header().entry_type().is_file() {
                continue;
            }
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let name = name.strip_prefix("./").unwrap_or(&name).to_owned();
            let place = (entry.raw_file_position(), entry.size());
            if place.0.checked_add(place.1).is_none_or(|end| end > size) {
                return Err(damaged(format!("it ends within {name}")));
            }
            entries.insert(name, place);
        }
        Ok(Self {
            file: Arc::new(file),
            entries,
        })
    }

    pub(super) fn find(&self, name: &str) -> Option<Blob> {
        let &(offset, left) = self.entries.get(name)?;
        Some(Blob {
            file: Arc::clone(&self.file),
            offset,
            left,
        })
    }
}

/// A compressed archive has no places to go to. Better said than "no oci-layout".
fn check_plain(file: &File, path: &Path) -> Result<(), OciError> {
    let mut start = [0; 6];
    let length = file
        .read_at(&mut start, 0)
        .map_err(|source| OciError::Read {
            path: path.to_owned(),
            source,
        })?;
    let format = match &start[..length] {
        [0x1f, 0x8b, ..] => "gzip",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "zstd",
        [0xfd, b'7', b'z', b'X', b'Z', 0] => "xz",
        _ => return Ok(()),
    };
    Err(OciError::Compressed {
        path: path.to_owned(),
        format,
    })
}

/// Opening must not wait for a pipe that nobody writes to.
fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        ))
    }
}

impl Blob {
    /// `None` if there is no such file.
    pub(super) fn open(path: &Path) -> io::Result<Option<Self>> {
        match open_regular(path) {
            Ok(file) => {
                let left = file.metadata()?.len();
                Ok(Some(Self {
                    file: Arc::new(file),
                    offset: 0,
                    left,
                }))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What is left to read.
    pub fn size(&self) -> u64 {
        self.left
    }
}

impl Read for Blob {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let count = self.file.read_at(&mut buffer[..wanted], self.offset)?;
        self.offset += count as u64;
        self.left -= count as u64;
        Ok(count)
    }
}
