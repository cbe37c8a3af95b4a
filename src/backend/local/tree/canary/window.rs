//! A buffer that goes over a stream, so that what lies across the ends of two reads is found too.

use super::Needles;

/// Bytes read at once.
const CHUNK: usize = 256 << 10;

pub(in super::super) struct Window<'a> {
    needles: &'a Needles,
    buffer: Vec<u8>,
    /// What is left from before: the end of what was searched.
    kept: usize,
    found: Vec<usize>,
}

impl<'a> Window<'a> {
    pub(in super::super) fn new(needles: &'a Needles) -> Self {
        Self {
            needles,
            buffer: vec![0; needles.overlap() + CHUNK],
            kept: 0,
            found: Vec::new(),
        }
    }

    /// Where the next bytes of the stream go; never empty.
    pub(in super::super) fn space(&mut self) -> &mut [u8] {
        &mut self.buffer[self.kept..]
    }

    /// Searches the `count` bytes that were written to [`Self::space`], with what came before them.
    pub(in super::super) fn advance(&mut self, count: usize) {
        let end = self.kept + count;
        self.needles.search(&self.buffer[..end], &mut self.found);
        self.kept = self.needles.overlap().min(end);
        self.buffer.copy_within(end - self.kept..end, 0);
    }

    /// Goes on where nothing of what came before matters.
    pub(in super::super) fn skip(&mut self) {
        self.kept = 0;
    }

    /// Ends the stream, and returns which secrets were in it.
    pub(in super::super) fn finish(&mut self) -> Vec<usize> {
        self.kept = 0;
        std::mem::take(&mut self.found)
    }
}
