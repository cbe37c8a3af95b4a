//! The bytes of a blob: hashed as they come, decompressed by what they begin with.

use std::cell::RefCell;
use std::io::{self, BufReader, Chain, Cursor, Read};
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;
use sha2::{Digest as _, Sha256};

use crate::oci::Digest;

/// A reader that all its clones share, and that knows the hash of what they have read.
pub(super) struct Hashed<R>(Rc<RefCell<(R, Sha256)>>);

impl<R> Clone for Hashed<R> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<R: Read> Hashed<R> {
    pub(super) fn new(inner: R) -> Self {
        Self(Rc::new(RefCell::new((inner, Sha256::new()))))
    }

    /// Reads what nobody has read, and returns the hash of everything.
    pub(super) fn finish(mut self) -> io::Result<Digest> {
        io::copy(&mut self, &mut io::sink())?;
        Ok(Digest(self.0.borrow().1.clone().finalize().into()))
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (inner, hasher) = &mut *self.0.borrow_mut();
        let count = inner.read(buffer)?;
        hasher.update(&buffer[..count]);
        Ok(count)
    }
}

type Whole<R> = BufReader<Chain<Cursor<Vec<u8>>, R>>;

/// The plain archive.
pub(super) enum Plain<R: Read> {
    Tar(Whole<R>),
    Gzip(Box<MultiGzDecoder<Whole<R>>>),
    Zstd(Box<zstd::Decoder<'static, Whole<R>>>),
}

/// Media types are often wrong about the compression, the first bytes never.
pub(super) fn decompress<R: Read>(mut blob: R) -> io::Result<Plain<R>> {
    let mut start = Vec::new();
    (&mut blob).take(4).read_to_end(&mut start)?;
    let is_gzip = start.starts_with(&[0x1f, 0x8b]);
    let is_zstd = is_zstd(&start);
    let whole = BufReader::with_capacity(128 << 10, Cursor::new(start).chain(blob));
    if is_gzip {
        Ok(Plain::Gzip(Box::new(MultiGzDecoder::new(whole))))
    } else if is_zstd {
        Ok(Plain::Zstd(Box::new(zstd::Decoder::with_buffer(whole)?)))
    } else {
        Ok(Plain::Tar(whole))
    }
}

/// A frame, or a frame to be skipped, with which seekable archives begin.
fn is_zstd(start: &[u8]) -> bool {
    matches!(
        start,
        [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18]
    )
}

impl<R: Read> Read for Plain<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tar(reader) => reader.read(buffer),
            Self::Gzip(reader) => reader.read(buffer),
            Self::Zstd(reader) => reader.read(buffer),
        }
    }
}
