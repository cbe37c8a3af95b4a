//! Git's loose objects: `…/objects/ab/cdef…`, each a zlib stream.

use flate2::{Decompress, FlushDecompress, Status};

use super::{Needles, Window};

/// Larger files, in bytes, are not inflated; git itself streams such objects into packs.
const LARGEST: u64 = 64 << 20;

/// An object that inflates to more than this, in bytes, is searched so far: a file may claim to hold a thousand times its
/// size.
const MOST: u64 = 1 << 30;

/// Inflates and searches an object while it is read.
pub(in super::super) struct Object<'a> {
    needles: &'a Needles,
    stream: Decompress,
    window: Window<'a>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// No object, or nothing more of it.
    Over,
    Begun,
    Inflating,
}

impl<'a> Object<'a> {
    pub(in super::super) fn new(needles: &'a Needles) -> Self {
        Self {
            needles,
            stream: Decompress::new(true),
            window: Window::new(needles),
            state: State::Over,
        }
    }

    /// Begins with a file, by the path of its folder or the end of that, its name, and its size in bytes.
    pub(in super::super) fn begin(&mut self, folder: &[u8], name: &[u8], size: u64) {
        self.state = State::Over;
        if !self.needles.is_empty() && size <= LARGEST && is_place(folder, name) {
            self.stream.reset(true);
            self.state = State::Begun;
        }
    }

    /// Takes the next bytes of the file.
    pub(in super::super) fn feed(&mut self, mut bytes: &[u8]) {
        if self.state == State::Begun {
            let is_zlib = matches!(bytes, [first @ 0x78, second, ..]
                if (u16::from(*first) << 8 | u16::from(*second)) % 31 == 0);
            self.state = if is_zlib {
                State::Inflating
            } else {
                State::Over
            };
        }
        while self.state == State::Inflating {
            let (taken, given) = (self.stream.total_in(), self.stream.total_out());
            let space = self.window.space();
            let status = self.stream.decompress(bytes, space, FlushDecompress::None);
            let taken = usize::try_from(self.stream.total_in() - taken).unwrap_or(bytes.len());
            let given = usize::try_from(self.stream.total_out() - given).unwrap_or(0);
            bytes = &bytes[taken..];
            self.window.advance(given);
            match status {
                Ok(Status::Ok) if self.stream.total_out() < MOST => {}
                Ok(Status::BufError) => break,
                // The end, or no stream: git will complain of that, not we.
                _ => self.state = State::Over,
            }
            if taken == 0 && given == 0 {
                break;
            }
        }
    }

    /// Which secrets were in the object.
    pub(in super::super) fn finish(&mut self) -> Vec<usize> {
        self.window.finish()
    }
}

/// Whether a loose object would be here, in any repository: bare ones and those of submodules too.
fn is_place(folder: &[u8], name: &[u8]) -> bool {
    let is_hex = |text: &[u8]| text.iter().all(u8::is_ascii_hexdigit);
    let Some((rest, first)) = folder.split_last_chunk::<2>() else {
        return false;
    };
    rest.ends_with(b"objects/") && is_hex(first) && matches!(name.len(), 38 | 62) && is_hex(name)
}
