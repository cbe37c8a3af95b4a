//! The data of a file, holes left as holes.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Why data did not get from the archive to the disk.
pub(super) enum Stuck {
    Reading(io::Error),
    Writing(io::Error),
}

/// Copies `length` bytes to where the file stands.
pub(super) fn copy(
    from: &mut impl Read,
    to: &mut File,
    mut length: u64,
    buffer: &mut [u8],
) -> Result<(), Stuck> {
    while length > 0 {
        let wanted =
            usize::try_from(length).map_or(buffer.len(), |length| length.min(buffer.len()));
        let count = match from.read(&mut buffer[..wanted]) {
            Ok(0) => return Err(Stuck::Reading(io::ErrorKind::UnexpectedEof.into())),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Stuck::Reading(error)),
        };
        to.write_all(&buffer[..count]).map_err(Stuck::Writing)?;
        length -= count as u64;
    }
    Ok(())
}

/// Copies the parts of a sparse file of `size` bytes to their places.
pub(super) fn copy_parts(
    from: &mut impl Read,
    to: &mut File,
    parts: &[(u64, u64)],
    size: u64,
    buffer: &mut [u8],
) -> Result<(), Stuck> {
    for &(offset, length) in parts {
        to.seek(SeekFrom::Start(offset)).map_err(Stuck::Writing)?;
        copy(from, to, length, buffer)?;
    }
    to.set_len(size).map_err(Stuck::Writing)
}
