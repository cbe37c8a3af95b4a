//! A text without its line ends, and without what programs write in their place: encoders break lines anywhere, and a key
//! of several lines becomes one line in JSON.

use memchr::memchr3;

/// Takes a text piece by piece.
#[derive(Default)]
pub(super) struct Joiner {
    /// Backslashes that have come last, and may begin an escape.
    backslashes: usize,
}

impl Joiner {
    /// Adds the next piece to `joined`.
    pub(super) fn push(&mut self, mut bytes: &[u8], joined: &mut Vec<u8>) {
        while let Some((&first, rest)) = bytes.split_first() {
            match first {
                b'\n' | b'\r' => {
                    self.settle(joined);
                    bytes = rest;
                }
                b'\\' => {
                    self.backslashes += 1;
                    bytes = rest;
                }
                b'n' | b'r' if self.backslashes > 0 => {
                    self.backslashes = 0;
                    bytes = rest;
                }
                _ => {
                    self.settle(joined);
                    let plain = memchr3(b'\n', b'\r', b'\\', bytes).unwrap_or(bytes.len());
                    joined.extend_from_slice(&bytes[..plain]);
                    bytes = &bytes[plain..];
                }
            }
        }
    }

    fn settle(&mut self, joined: &mut Vec<u8>) {
        joined.resize(joined.len() + std::mem::take(&mut self.backslashes), b'\\');
    }
}

/// A whole text.
pub(super) fn joined(bytes: &[u8]) -> Vec<u8> {
    let mut joined = Vec::new();
    let mut joiner = Joiner::default();
    joiner.push(bytes, &mut joined);
    joiner.settle(&mut joined);
    joined
}
