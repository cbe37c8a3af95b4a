//! A buffer that goes over a stream, so that what lies across the ends of two reads is found too.

use super::Needles;
use super::joined::Joiner;

/// Bytes read at once.
const CHUNK: usize = 256 << 10;

pub(in super::super) struct Window<'a> {
    needles: &'a Needles,
    buffer: Vec<u8>,
    /// What is left from before: the end of what was searched.
    kept: usize,
    joiner: Joiner,
    /// The same without line ends: what is left from before, and what has come.
    joined: Vec<u8>,
    found: Vec<usize>,
}

impl<'a> Window<'a> {
    pub(in super::super) fn new(needles: &'a Needles) -> Self {
        Self {
            needles,
            buffer: vec![0; needles.overlap() + CHUNK],
            kept: 0,
            joiner: Joiner::default(),
            joined: Vec::new(),
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
        if !self.needles.is_empty() {
            self.join(end);
        }
        self.kept = self.needles.overlap().min(end);
        self.buffer.copy_within(end - self.kept..end, 0);
    }

    fn join(&mut self, end: usize) {
        let came = &self.buffer[self.kept..end];
        self.joiner.push(came, &mut self.joined);
        self.needles.search_joined(&self.joined, &mut self.found);
        let kept = self.needles.overlap().min(self.joined.len());
        self.joined.drain(..self.joined.len() - kept);
    }

    /// Goes on where nothing of what came before matters.
    pub(in super::super) fn skip(&mut self) {
        self.kept = 0;
        self.joined.clear();
        self.joiner = Joiner::default();
    }

    /// Ends the stream, and returns which secrets were in it.
    pub(in super::super) fn finish(&mut self) -> Vec<usize> {
        self.skip();
        std::mem::take(&mut self.found)
    }
}
