//! Files that say they are larger than what was written to them. A step makes one of terabytes in no time; read byte by
//! byte, it would take days.

use std::os::fd::BorrowedFd;

use rustix::fs::{SeekFrom, Stat, seek};
use rustix::io::Errno;

/// Whether a file may have holes: it uses less of the disk than it is long.
pub(super) fn may_have_holes(stat: &Stat) -> bool {
    stat.st_blocks.cast_unsigned().saturating_mul(512) < stat.st_size.cast_unsigned()
}

/// How many bytes from `at` on are a hole; none where there is data, and where the file system does not tell.
pub(super) fn hole(file: BorrowedFd<'_>, at: u64, size: u64) -> u64 {
    match seek(file, SeekFrom::Data(at)) {
        Ok(data) => data.min(size).saturating_sub(at),
        // There is no data any more.
        Err(Errno::NXIO) => size.saturating_sub(at),
        Err(_) => 0,
    }
}
