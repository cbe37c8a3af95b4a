//! One layer of an image, unpacked into a directory that overlayfs can take as a layer (`userxattr` format).
//!
//! The blob is hashed while it is read, so what is kept has its digest. Names in it lead nowhere but into the
//! directory, whatever links it holds. Devices are left out: a sandbox has its own /dev, and one with the number 0:0
//! would be a whiteout. So are extended attributes other than `user.*`, `trusted.*` and file capabilities.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::oci::Digest;

mod ahead;
mod archive;
mod attributes;
mod content;
mod layer;
mod pax;
mod place;
mod stream;

use ahead::Ahead;
use archive::{Fault, Reader};
use layer::Building;

/// What was done, for a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unpacked {
    pub entries: u64,
    /// Character and block devices, which were left out.
    pub devices: u64,
}

/// Why a layer could not be unpacked. The directory then holds rubbish.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    #[error("cannot read the layer: {0}")]
    Read(#[source] io::Error),
    #[error("the layer is damaged: {0}")]
    Damaged(String),
    #[error("the layer has the digest {found}, not {expected}")]
    Digest { expected: Digest, found: Digest },
    #[error("the layer names {0}, which leads out of it")]
    Escape(String),
    #[error("the layer puts {0} below something that is not a folder")]
    NotAFolder(String),
    #[error("the layer names {0}, which leads through a loop of symlinks")]
    Loop(String),
    #[error("the layer links {name} to {target}, which is not there")]
    NoTarget { name: String, target: String },
    #[error("the layer has {name}, of a kind that is not known here: {kind}")]
    Unsupported { name: String, kind: String },
    #[error("cannot {operation} {}: {source}", path.display())]
    Write {
        operation: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

/// Who owns what is unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// The owners that the layer names, by number, with what of attributes and set-id bits this process may set.
    Kept,
    /// Whoever unpacks, all of it: owners, capabilities and set-id bits are left out.
    Caller,
}

/// A layer to unpack.
#[derive(Debug)]
pub struct Source<R> {
    /// A tar archive that may be compressed with gzip or zstd.
    pub blob: R,
    pub digest: Digest,
    /// An empty directory.
    pub into: PathBuf,
    /// The directories of the layers under it, the nearest first. They decide what a folder looks like that the layer
    /// only implies, where a name leads that goes through one of their symlinks, and what a hard link to one of their
    /// files is. So the result is one of this layer *on those*.
    pub below: Vec<PathBuf>,
}

/// Unpacks layers, the lowest first. While one is written, it and the next ones are read: what is written depends on
/// the layers below, and what is read does not.
pub fn unpack_layers<R: Read + Send>(
    layers: Vec<Source<R>>,
    ownership: Ownership,
) -> Result<Vec<Unpacked>, UnpackError> {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let at_once = processors.min(READERS);
    std::thread::scope(|scope| {
        let mut sources = layers.into_iter();
        let mut begun = VecDeque::new();
        let mut done = Vec::new();
        loop {
            for source in sources.by_ref().take(at_once - begun.len()) {
                let reading = Ahead::start(scope, source.blob).map_err(UnpackError::Read)?;
                begun.push_back((reading, source.digest, source.into, source.below));
            }
            let Some((reading, digest, into, below)) = begun.pop_front() else {
                return Ok(done);
            };
            done.push(write(reading, &digest, &into, &below, ownership)?);
        }
    })
}

/// Layers are read by so many threads.
const READERS: usize = 4;

fn write(
    reading: Ahead<'_>,
    expected: &Digest,
    into: &Path,
    below: &[PathBuf],
    ownership: Ownership,
) -> Result<Unpacked, UnpackError> {
    let mut reader = Reader::new(reading);
    let unpacked = unpack(&mut reader, into, below, ownership);
    // A blob that is not the one that was asked for explains every other trouble.
    let (found, rest) = reader.into_inner().finish();
    let found = found.map_err(UnpackError::Read)?;
    if found != *expected {
        return Err(UnpackError::Digest {
            expected: *expected,
            found,
        });
    }
    let unpacked = unpacked?;
    rest.map_err(|error| UnpackError::Damaged(error.to_string()))?;
    Ok(unpacked)
}

fn unpack(
    reader: &mut Reader<impl Read>,
    into: &Path,
    below: &[PathBuf],
    ownership: Ownership,
) -> Result<Unpacked, UnpackError> {
    let mut building = Building::new(into, below, ownership)?;
    while let Some(member) = reader.next_member()? {
        building.add(&member, reader)?;
    }
    building.finish()
}

impl UnpackError {
    fn write(operation: &'static str, path: &Path) -> impl Fn(rustix::io::Errno) -> Self {
        move |errno| Self::Write {
            operation,
            path: path.to_owned(),
            source: errno.into(),
        }
    }

    /// The error number, if it was the kernel that said no to a write.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Write { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }
}

impl From<Fault> for UnpackError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Read(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Self::Damaged("it ends too early".to_owned())
            }
            Fault::Read(error) => Self::Read(error),
            Fault::Damaged(what) => Self::Damaged(what),
            Fault::Unsupported { name, kind } => Self::Unsupported { name, kind },
        }
    }
}

#[cfg(test)]
mod tests;
