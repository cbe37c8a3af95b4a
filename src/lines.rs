//! The output of processes as lines that people and logs may have: free of secrets, and of what would tell a terminal to do
//! something.

use secrecy::SecretString;

pub(crate) mod mask;
mod plain;

use mask::{LINE, Mask};

pub(crate) struct Lines {
    mask: Mask,
    /// The line that is not finished yet.
    rest: Vec<u8>,
}

impl Lines {
    pub(crate) fn without(secrets: &[SecretString]) -> Self {
        Self {
            mask: Mask::new(secrets),
            rest: Vec::new(),
        }
    }

    /// Takes the next output, a piece of any size, and hands on the lines that it completes, without their ends.
    pub(crate) fn push(&mut self, bytes: &[u8], mut line: impl FnMut(String)) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.rest.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.flush(&mut line);
            } else if self.rest.len() >= LINE {
                line(self.cut());
            }
        }
    }

    /// Ends an unfinished line.
    pub(crate) fn flush(&mut self, line: impl FnOnce(String)) {
        if self.rest.is_empty() {
            return;
        }
        let text = String::from_utf8_lossy(&std::mem::take(&mut self.rest)).into_owned();
        line(self.text(text.trim_end_matches(['\n', '\r'])));
    }

    /// Ends a line that is too long where it may be cut: not in a secret that is half there, nor in a character.
    fn cut(&mut self) -> String {
        let kept = self.mask.longest().max(4);
        let whole = match std::str::from_utf8(&self.rest) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.rest.len(),
        };
        let begun = self.rest.split_off(whole);
        let text = self.mask.text(&String::from_utf8_lossy(&self.rest));
        let end = text.floor_char_boundary(text.len().saturating_sub(kept));
        self.rest = [&text.as_bytes()[end..], &begun].concat();
        plain::text(&text[..end])
    }

    /// Another text for people, such as an error.
    pub(crate) fn text(&self, text: &str) -> String {
        plain::text(&self.mask.text(text))
    }
}
