//! A layer described by as many threads as there are processors. Whoever is free takes the next few entries.

use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use super::super::canary::{Found, Needles};
use super::Manifest;
use super::assemble::assemble;
use super::read::{Contents, Reader};
use super::walk::Walk;

/// What is in a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    pub manifest: Manifest,
    /// What the layer uses of the disk, in bytes: `st_blocks` * 512 of each inode.
    pub bytes: u64,
    /// The secrets in it, in the order of paths.
    pub found: Vec<Found>,
}

/// Describes a layer that is at rest, and looks for secrets in it: in names, contents, git's loose objects, link targets
/// and extended attributes. Each file is read once, in parts of 256 KiB (holes as zeros), by one of as many threads as
/// there are processors. Memory is needed for the names and attributes, not for the contents.
///
/// # Errors
///
/// An entry that cannot be read, by its path; the kind of the error is that of the call.
pub fn describe(layer: &Path, needles: &Needles) -> io::Result<Description> {
    let walk = Mutex::new(Walk::begin(layer, needles)?);
    let contents = Contents::default();
    let read = || {
        let mut reader = Reader::new(needles, &contents);
        loop {
            let Some(batch) = locked(&walk).next() else {
                return reader;
            };
            if let Err((name, errno)) = reader.read(&batch) {
                locked(&walk).fail(batch.folder, &name, errno);
            }
        }
    };
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let readers = thread::scope(|scope| {
        // With fewer threads it takes longer.
        let more: Vec<_> = (1..processors)
            .map_while(|_| thread::Builder::new().spawn_scoped(scope, read).ok())
            .collect();
        let mut readers = vec![read()];
        for thread in more {
            let joined = thread.join();
            readers.push(joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        readers
    });
    let mut walk = walk.into_inner().unwrap_or_else(PoisonError::into_inner);
    walk.trouble()?;
    let mut bytes = walk.bytes;
    let mut records = walk.records;
    for reader in readers {
        bytes += reader.bytes;
        records.extend(reader.records);
    }
    let contents = contents
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let (manifest, found) = assemble(records, &walk.folders, contents, needles);
    Ok(Description {
        manifest,
        bytes,
        found,
    })
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
