//! The walk over a layer: folders are recorded at once, all else is handed out by the batch to whoever reads it.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::FileType;
use rustix::io::Errno;

use super::super::attributes::{self, Of};
use super::super::canary::Needles;
use super::super::descent::{Descent, Folders, Lister, Name};
use super::super::failed;
use super::assemble::Record;
use super::{Entry, Kind};

/// Entries read without asking for more: enough that asking costs nothing, few enough that all end at about the same time.
const BATCH: usize = 32;

/// Descriptors for the way back.
const KEPT: usize = 16;

pub(super) struct Walk<'a> {
    layer: &'a Path,
    needles: &'a Needles,
    place: Descent,
    lister: Lister,
    pub(super) folders: Folders,
    /// The folder at [`Self::place`] last.
    levels: Vec<Level>,
    /// Of folders alone.
    pub(super) records: Vec<Record>,
    /// What folders use of the disk, in bytes.
    pub(super) bytes: u64,
    trouble: Option<io::Error>,
}

struct Level {
    folder: usize,
    subfolders: Vec<Name>,
    others: Vec<(Name, FileType)>,
}

/// Some entries of a folder, none of which is a folder.
pub(super) struct Batch {
    pub(super) fd: Arc<OwnedFd>,
    pub(super) folder: usize,
    /// The last two names of the folder's path, by which git's objects are known.
    pub(super) tail: Vec<u8>,
    pub(super) entries: Vec<(Name, FileType)>,
}

impl<'a> Walk<'a> {
    pub(super) fn begin(layer: &'a Path, needles: &'a Needles) -> io::Result<Self> {
        let opened = Descent::from(layer, KEPT);
        let mut walk = Self {
            layer,
            needles,
            place: opened.map_err(|errno| failed("open", layer, b"", errno))?,
            lister: Lister::new(),
            folders: Folders::new(),
            levels: Vec::new(),
            records: Vec::new(),
            bytes: 0,
            trouble: None,
        };
        let recorded = walk.record(Folders::ROOT, Folders::ROOT, &[]);
        recorded.map_err(|errno| failed("read", layer, b"", errno))?;
        Ok(walk)
    }

    /// What is to be read next; nothing, after trouble.
    pub(super) fn next(&mut self) -> Option<Batch> {
        while self.trouble.is_none() {
            let level = self.levels.last_mut()?;
            if !level.others.is_empty() {
                let rest = level.others.len().saturating_sub(BATCH);
                return Some(Batch {
                    fd: self.place.share(),
                    folder: level.folder,
                    entries: level.others.split_off(rest),
                    tail: self.tail(),
                });
            }
            match level.subfolders.pop() {
                Some(name) => {
                    let parent = level.folder;
                    if let Err(errno) = self.enter(parent, &name) {
                        self.fail(parent, &name, errno);
                    }
                }
                None => self.leave(),
            }
        }
        None
    }

    /// Ends the walk because an entry could not be read.
    pub(super) fn fail(&mut self, folder: usize, name: &[u8], errno: Errno) {
        let path = self.folders.path(folder, name);
        self.trouble
            .get_or_insert_with(|| failed("read", self.layer, &path, errno));
    }

    /// What has gone wrong first, if anything has.
    pub(super) fn trouble(&mut self) -> io::Result<()> {
        self.trouble.take().map_or(Ok(()), Err)
    }

    fn enter(&mut self, parent: usize, name: &Name) -> Result<(), Errno> {
        self.place.down(name)?;
        let folder = self.folders.add(parent, name.clone());
        self.record(parent, folder, name)
    }

    fn leave(&mut self) {
        let Some(left) = self.levels.pop() else {
            return;
        };
        if !self.levels.is_empty()
            && let Err(errno) = self.place.up()
        {
            self.fail(left.folder, b"", errno);
        }
    }

    /// Records the folder that was just entered, and sees what is in it.
    fn record(&mut self, parent: usize, folder: usize, name: &[u8]) -> Result<(), Errno> {
        let fd = self.place.here();
        let stat = rustix::fs::fstat(fd)?;
        let attributes = attributes::read(Of::Open(fd))?;
        let mut level = Level {
            folder,
            subfolders: Vec::new(),
            others: Vec::new(),
        };
        for (name, kind) in self.lister.names(fd)? {
            match kind {
                FileType::Directory => level.subfolders.push(name),
                _ => level.others.push((name, kind)),
            }
        }
        self.levels.push(level);
        self.bytes += stat.st_blocks.cast_unsigned() * 512;
        let entry = Entry::new(name, Kind::Folder, &stat);
        let mut record = Record::new(parent, entry);
        record.opens = (parent != folder).then_some(folder);
        record.take_attributes(attributes, self.needles);
        self.records.push(record);
        Ok(())
    }

    fn tail(&self) -> Vec<u8> {
        let mut tail = Vec::new();
        for level in self.levels.iter().rev().take(2).rev() {
            tail.extend_from_slice(self.folders.name(level.folder));
            tail.push(b'/');
        }
        tail.pop();
        tail
    }
}
