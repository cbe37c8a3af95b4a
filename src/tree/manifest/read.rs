//! Entries that are not folders, each read once: hashed and searched at the same time.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{FileType, OFlags, Stat};
use rustix::io::{Errno, retry_on_intr};

use super::super::attributes::{self, Of};
use super::super::canary::{Needles, Object, Place, Window};
use super::super::descent::{Name, is_whiteout, kind, open, stat};
use super::super::holes::{hole, may_have_holes};
use super::assemble::{Content, Inode, Record, search};
use super::walk::Batch;
use super::{Entry, Kind, Time};

/// The contents of files with several names, which are read by the first of them that somebody comes to.
pub(super) type Contents = Mutex<HashMap<Inode, Content>>;

static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// What one thread reads with, and has found out.
pub(super) struct Reader<'a> {
    needles: &'a Needles,
    contents: &'a Contents,
    hasher: blake3::Hasher,
    window: Window<'a>,
    object: Object<'a>,
    pub(super) records: Vec<Record>,
    /// What the entries use of the disk, in bytes.
    pub(super) bytes: u64,
}

impl<'a> Reader<'a> {
    pub(super) fn new(needles: &'a Needles, contents: &'a Contents) -> Self {
        Self {
            needles,
            contents,
            hasher: blake3::Hasher::new(),
            window: Window::new(needles),
            object: Object::new(needles),
            records: Vec::new(),
            bytes: 0,
        }
    }

    /// Records the entries of a batch, up to the one that cannot be read.
    pub(super) fn read(&mut self, batch: &Batch) -> Result<(), (Name, Errno)> {
        for (name, kind) in &batch.entries {
            let record = match kind {
                FileType::RegularFile => self.file(batch, name),
                _ => self.other(batch, name),
            };
            let record = record.map_err(|errno| (name.clone(), errno))?;
            self.records.push(record);
        }
        Ok(())
    }

    fn file(&mut self, batch: &Batch, name: &[u8]) -> Result<Record, Errno> {
        let fd = open(batch.fd.as_fd(), name, OFlags::RDONLY)?;
        let stat = rustix::fs::fstat(&fd)?;
        let attributes = attributes::read(Of::Open(fd.as_fd()))?;
        let size = stat.st_size.cast_unsigned();
        let inode = shared_inode(&stat);
        let mut content = Content::default();
        let is_read = self.is_new(inode);
        if is_read {
            self.bytes += stat.st_blocks.cast_unsigned() * 512;
            self.object.begin(&batch.tail, name, size);
            content = self.content(fd.as_fd(), size, may_have_holes(&stat))?;
        }
        let kind = Kind::File {
            size,
            content: content.digest,
        };
        let mut record = Record::new(batch.folder, Entry::new(name, kind, &stat));
        record.inode = inode;
        record.take_attributes(attributes, self.needles);
        match inode {
            Some(inode) if is_read => {
                let mut contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
                contents.insert(inode, content);
            }
            _ => record.found.append(&mut content.found),
        }
        Ok(record)
    }

    /// Whether nobody has come to this inode yet; whoever asks first, counts and reads it.
    fn is_new(&self, inode: Option<Inode>) -> bool {
        let Some(inode) = inode else {
            return true;
        };
        let mut contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        match contents.entry(inode) {
            Slot::Occupied(_) => false,
            Slot::Vacant(slot) => {
                slot.insert(Content::default());
                true
            }
        }
    }

    fn content(
        &mut self,
        fd: BorrowedFd<'_>,
        size: u64,
        has_holes: bool,
    ) -> Result<Content, Errno> {
        self.hasher.reset();
        let mut done = 0;
        while done < size {
            let hole = if has_holes { hole(fd, done, size) } else { 0 };
            if hole > 0 {
                self.pass_hole(hole);
                done += hole;
                continue;
            }
            let space = self.window.space();
            let count = retry_on_intr(|| rustix::io::pread(fd, &mut *space, done))?;
            if count == 0 {
                // Shorter than it says: somebody is changing it, or the disk has lost its end.
                return Err(Errno::IO);
            }
            let bytes = &space[..count];
            self.hasher.update(bytes);
            self.object.feed(bytes);
            self.window.advance(count);
            done += count as u64;
        }
        let in_content = self.window.finish().into_iter();
        let in_object = self.object.finish().into_iter();
        Ok(Content {
            digest: self.hasher.finalize().into(),
            found: in_content
                .map(|secret| (secret, Place::Content))
                .chain(in_object.map(|secret| (secret, Place::Object)))
                .collect(),
        })
    }

    /// Takes a hole for the zeros that it is read as; no secret is in it.
    fn pass_hole(&mut self, mut length: u64) {
        self.window.skip();
        while length > 0 {
            let count = usize::try_from(length).map_or(ZEROS.len(), |all| all.min(ZEROS.len()));
            self.hasher.update(&ZEROS[..count]);
            self.object.feed(&ZEROS[..count]);
            length -= count as u64;
        }
    }

    fn other(&mut self, batch: &Batch, name: &[u8]) -> Result<Record, Errno> {
        let folder = batch.fd.as_fd();
        let stat = stat(folder, name)?;
        if is_whiteout(&stat) {
            let mut entry = Entry::new(name, Kind::Whiteout, &stat);
            (entry.mode, entry.uid, entry.gid, entry.mtime) = (0, 0, 0, Time::default());
            let mut record = Record::new(batch.folder, entry);
            record.take_attributes(Vec::new(), self.needles);
            return Ok(record);
        }
        let device = stat.st_rdev;
        let kind = match kind(&stat) {
            FileType::Symlink => Kind::Symlink {
                target: rustix::fs::readlinkat(folder, name, Vec::new())?
                    .into_bytes()
                    .into(),
            },
            FileType::Fifo => Kind::Fifo,
            FileType::Socket => Kind::Socket,
            FileType::CharacterDevice => Kind::Character { device },
            FileType::BlockDevice => Kind::Block { device },
            // The walk has seen something else here: nothing is at rest.
            _ => return Err(Errno::STALE),
        };
        let inode = shared_inode(&stat);
        if self.is_new(inode) {
            self.bytes += stat.st_blocks.cast_unsigned() * 512;
        }
        let attributes = attributes::read(Of::Named(folder, name))?;
        let mut record = Record::new(batch.folder, Entry::new(name, kind, &stat));
        record.inode = inode;
        record.take_attributes(attributes, self.needles);
        if let Kind::Symlink { target } = &record.entry.kind {
            let found = search(target, self.needles, || Place::Target);
            record.found.extend(found);
        }
        Ok(record)
    }
}

/// The inode of an entry that may have further names.
fn shared_inode(stat: &Stat) -> Option<Inode> {
    (stat.st_nlink > 1).then_some((stat.st_dev, stat.st_ino))
}
