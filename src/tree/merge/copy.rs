//! One entry, made anew: content with its holes, and all that it looks like.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::{Errno, retry_on_intr};

use super::super::attributes::{Look, Of};
use super::super::descent::{kind, open};
use super::Merged;

/// Copies entries that are not folders, and learns what the file system can do.
pub(super) struct Copier {
    can_clone: bool,
    can_copy_ranges: bool,
    buffer: Vec<u8>,
}

impl Copier {
    pub(super) fn new() -> Self {
        Self {
            can_clone: true,
            can_copy_ranges: true,
            buffer: vec![0; 256 << 10],
        }
    }

    /// Makes the entry `name` of the folder `from` in the folder `to`.
    pub(super) fn copy(
        &mut self,
        from: BorrowedFd<'_>,
        name: &[u8],
        stat: &Stat,
        to: BorrowedFd<'_>,
        done: &mut Merged,
    ) -> Result<(), Errno> {
        let kind = kind(stat);
        if kind == FileType::RegularFile {
            return self.copy_file(from, name, stat, to, done);
        }
        if kind == FileType::Symlink {
            let target = rustix::fs::readlinkat(from, name, Vec::new())?;
            rustix::fs::symlinkat(target, to, name)?;
        } else {
            rustix::fs::mknodat(to, name, kind, Mode::RUSR, stat.st_rdev)?;
        }
        let look = Look::of(Of::Named(from, name), *stat)?;
        done.unset += look.apply(Of::Named(to, name))?;
        Ok(())
    }

    fn copy_file(
        &mut self,
        from: BorrowedFd<'_>,
        name: &[u8],
        stat: &Stat,
        to: BorrowedFd<'_>,
        done: &mut Merged,
    ) -> Result<(), Errno> {
        let source = File::from(open(from, name, OFlags::RDONLY)?);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let made = File::from(rustix::fs::openat(
            to,
            name,
            flags,
            Mode::RUSR | Mode::WUSR,
        )?);
        let size = stat.st_size.cast_unsigned();
        if size > 0 && self.clone_content(&source, &made) {
            done.cloned += size;
        } else if size > 0 {
            done.copied += self.copy_content(&source, &made, size)?;
        }
        let look = Look::of(Of::Open(source.as_fd()), *stat)?;
        done.unset += look.apply(Of::Open(made.as_fd()))?;
        Ok(())
    }

    /// Whether the content could be shared. If not, the plain way finds out why, or works.
    fn clone_content(&mut self, source: &File, made: &File) -> bool {
        if !self.can_clone {
            return false;
        }
        match rustix::fs::ioctl_ficlone(made, source) {
            Ok(()) => true,
            Err(Errno::OPNOTSUPP | Errno::NOTTY | Errno::NOSYS | Errno::XDEV) => {
                self.can_clone = false;
                false
            }
            // Of this file alone: on btrfs, say, one that is not copied on write.
            Err(_) => false,
        }
    }

    /// Returns how many bytes were not holes.
    fn copy_content(&mut self, source: &File, made: &File, size: u64) -> Result<u64, Errno> {
        let (mut copied, mut done) = (0, 0);
        while let Some((start, end)) = next_data(source.as_fd(), done, size)? {
            let reached = self.copy_range(source, made, start, end)?;
            self.copy_bytes(source, made, reached, end)?;
            copied += end - start;
            done = end;
        }
        if done < size {
            rustix::fs::ftruncate(made, size)?;
        }
        Ok(copied)
    }

    /// Has the kernel copy from `start`, and returns how far that went.
    fn copy_range(
        &mut self,
        source: &File,
        made: &File,
        start: u64,
        end: u64,
    ) -> Result<u64, Errno> {
        let (mut from, mut to) = (start, start);
        while self.can_copy_ranges && from < end {
            let length = usize::try_from(end - from).unwrap_or(usize::MAX);
            let copied = retry_on_intr(|| {
                rustix::fs::copy_file_range(source, Some(&mut from), made, Some(&mut to), length)
            });
            match copied {
                Ok(0) => break,
                Ok(_) => {}
                Err(Errno::XDEV | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                    self.can_copy_ranges = false;
                }
                Err(errno) => return Err(errno),
            }
        }
        Ok(from)
    }

    fn copy_bytes(
        &mut self,
        mut source: &File,
        mut made: &File,
        start: u64,
        end: u64,
    ) -> Result<(), Errno> {
        if start == end {
            return Ok(());
        }
        let failed = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
        source.seek(SeekFrom::Start(start)).map_err(failed)?;
        made.seek(SeekFrom::Start(start)).map_err(failed)?;
        let mut left = end - start;
        while left > 0 {
            let wanted =
                usize::try_from(left).map_or(self.buffer.len(), |left| left.min(self.buffer.len()));
            let part = &mut self.buffer[..wanted];
            source.read_exact(part).map_err(failed)?;
            made.write_all(part).map_err(failed)?;
            left -= wanted as u64;
        }
        Ok(())
    }
}

/// The next part of a file of `size` bytes that holds data, at or after `from`: its start and its end, in bytes. `None`
/// if nothing but a hole follows. Moves the descriptor's position.
fn next_data(file: BorrowedFd<'_>, from: u64, size: u64) -> Result<Option<(u64, u64)>, Errno> {
    if from >= size {
        return Ok(None);
    }
    let start = match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(from)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    let end = rustix::fs::seek(file, rustix::fs::SeekFrom::Hole(start))?;
    Ok((start < size).then(|| (start, end.min(size))))
}
