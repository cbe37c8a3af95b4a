//! The archive in a blob, hashed and decompressed on a thread of its own, ahead of who unpacks it. How far is bounded.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use super::stream::{Hashed, decompress};
use crate::oci::Digest;

const PIECE: usize = 256 << 10;

/// So many pieces wait: 8 MiB for each layer.
const PIECES: usize = 32;

/// What comes from the thread.
pub(super) struct Ahead<'scope> {
    pieces: Receiver<io::Result<Vec<u8>>>,
    /// The piece that is being read, and how far.
    piece: Vec<u8>,
    taken: usize,
    reading: ScopedJoinHandle<'scope, io::Result<Digest>>,
}

impl<'scope> Ahead<'scope> {
    pub(super) fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        blob: impl Read + Send + 'scope,
    ) -> io::Result<Self> {
        let (to, pieces) = sync_channel(PIECES);
        let reading = Builder::new().spawn_scoped(scope, move || read(blob, &to))?;
        Ok(Self {
            pieces,
            piece: Vec::new(),
            taken: 0,
            reading,
        })
    }

    /// Reads the blob to its end, and returns its digest, with what was wrong in the part that nobody had read.
    pub(super) fn finish(mut self) -> (io::Result<Digest>, io::Result<()>) {
        let rest = io::copy(&mut self, &mut io::sink()).map(drop);
        drop(self.pieces);
        let read = self.reading.join();
        (
            read.unwrap_or_else(|_| Err(io::ErrorKind::Other.into())),
            rest,
        )
    }
}

impl Read for Ahead<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.piece.len() {
            match self.pieces.recv() {
                Ok(piece) => (self.piece, self.taken) = (piece?, 0),
                Err(_) => return Ok(0),
            }
        }
        let count = buffer.len().min(self.piece.len() - self.taken);
        buffer[..count].copy_from_slice(&self.piece[self.taken..self.taken + count]);
        self.taken += count;
        Ok(count)
    }
}

/// Sends the archive until it ends or nobody wants it, and returns the digest of the whole blob.
fn read(blob: impl Read, to: &SyncSender<io::Result<Vec<u8>>>) -> io::Result<Digest> {
    let hashed = Hashed::new(blob);
    let sent = decompress(hashed.clone()).and_then(|mut plain| {
        loop {
            let mut piece = Vec::with_capacity(PIECE);
            (&mut plain).take(PIECE as u64).read_to_end(&mut piece)?;
            if piece.is_empty() || to.send(Ok(piece)).is_err() {
                return Ok(());
            }
        }
    });
    if let Err(error) = sent {
        to.send(Err(error)).ok();
    }
    hashed.finish()
}
