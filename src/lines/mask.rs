//! The values of secrets, kept out of what people and logs get to see.

use std::collections::HashSet;

use memchr::memmem;
use secrecy::{ExposeSecret, SecretString};

use crate::tree::{Needles, base64_forms};

/// What stands in a secret's place.
const MASK: &str = "***";

/// Programs break base64 into lines anywhere, so each piece of it that is as long is masked. In bytes.
const PIECE: usize = 16;

/// A stream without line ends is passed on in pieces of so many bytes.
pub(crate) const LINE: usize = 64 << 10;

/// The values to hide. It cannot be printed.
pub(crate) struct Mask {
    /// The values, and the lines of those that have several, the longest first.
    values: Vec<SecretString>,
    /// What encoders make of the values.
    encoded: Needles,
    pieces: HashSet<[u8; PIECE]>,
    /// In bytes, of what must be seen at once to be found.
    longest: usize,
}

impl Mask {
    pub(crate) fn new(secrets: &[SecretString]) -> Self {
        let mut values: Vec<SecretString> = secrets
            .iter()
            .flat_map(|secret| secret.expose_secret().lines())
            .filter(|line| !line.trim().is_empty())
            .map(SecretString::from)
            .collect();
        // The longest first, or the rest of one that begins like another would be seen.
        values.sort_by_key(|value| std::cmp::Reverse(value.expose_secret().len()));
        let (encoded, _) = Needles::new(secrets);
        let forms = secrets
            .iter()
            .flat_map(|secret| base64_forms(secret.expose_secret().as_bytes()));
        let pieces = forms
            .flat_map(|form| {
                let pieces = form.windows(PIECE).map(<[u8; PIECE]>::try_from);
                pieces.flatten().collect::<Vec<_>>()
            })
            .collect();
        let longest = values
            .first()
            .map_or(0, |value| value.expose_secret().len())
            .max(encoded.longest())
            .min(LINE / 2);
        Self {
            values,
            encoded,
            pieces,
            longest,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    pub(crate) fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }

    pub(crate) fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut masked = bytes.to_vec();
        for value in &self.values {
            let value = value.expose_secret().as_bytes();
            if memmem::find(&masked, value).is_some() {
                masked = replaced(&masked, value);
            }
        }
        let masked = self.encoded.mask(&masked).into_owned();
        self.without_pieces(masked)
    }

    fn without_pieces(&self, bytes: Vec<u8>) -> Vec<u8> {
        if self.pieces.is_empty() {
            return bytes;
        }
        let mut masked = Vec::new();
        let mut until = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            let piece = bytes.get(at..at + PIECE);
            if piece.is_some_and(|piece| self.pieces.contains(piece)) {
                if at >= until {
                    masked.extend_from_slice(MASK.as_bytes());
                }
                until = at + PIECE;
            }
            if at >= until {
                masked.push(byte);
            }
        }
        masked
    }

    /// How many bytes at the end may be the beginning of a value.
    fn begun(&self, bytes: &[u8]) -> usize {
        let begun = |value: &[u8]| {
            let most = value.len().saturating_sub(1).min(bytes.len());
            let lengths = (1..=most).rev();
            lengths
                .into_iter()
                .find(|&length| bytes.ends_with(&value[..length]))
                .unwrap_or(0)
        };
        let values = self.values.iter();
        values
            .map(|value| begun(value.expose_secret().as_bytes()))
            .max()
            .unwrap_or(0)
    }
}

fn replaced(bytes: &[u8], value: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::new();
    let mut from = 0;
    for at in memmem::find_iter(bytes, value) {
        replaced.extend_from_slice(&bytes[from..at]);
        replaced.extend_from_slice(MASK.as_bytes());
        from = at + value.len();
    }
    replaced.extend_from_slice(&bytes[from..]);
    replaced
}

/// A stream of which the secrets are masked as it comes.
pub(crate) struct Masked {
    mask: Mask,
    /// The line that is not finished yet.
    rest: Vec<u8>,
}

impl Masked {
    pub(crate) fn new(mask: Mask) -> Self {
        Self {
            mask,
            rest: Vec::new(),
        }
    }

    /// Takes what has come, and returns what may be passed on.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut passed = Vec::new();
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.rest.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                passed.extend(self.mask.bytes(&std::mem::take(&mut self.rest)));
            } else if self.rest.len() >= LINE {
                let mut masked = self.mask.bytes(&self.rest);
                let end = masked.len().saturating_sub(self.mask.longest());
                self.rest = masked.split_off(end);
                passed.extend(masked);
            }
        }
        passed
    }

    /// Nothing more has come for a while: a line that is not finished is passed on, but for what may be half a value.
    pub(crate) fn pause(&mut self) -> Vec<u8> {
        let end = self.rest.len() - self.mask.begun(&self.rest);
        let begun = self.rest.split_off(end);
        let whole = std::mem::replace(&mut self.rest, begun);
        self.mask.bytes(&whole)
    }

    /// The stream has ended.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        self.mask.bytes(&std::mem::take(&mut self.rest))
    }
}

#[cfg(test)]
mod tests {
    use super::{LINE, Mask, Masked};

    fn mask(values: &[&str]) -> Mask {
        let values: Vec<_> = values.iter().map(|&value| value.into()).collect();
        Mask::new(&values)
    }

    #[test]
    fn values_are_hidden_as_they_are_and_in_base64() {
        let mask = mask(&[
            "hunter2-canary",
            "hunter2-canary-and-more",
            "pw",
            "one\ntwo two\n",
        ]);
        for (text, shown) in [
            ("a hunter2-canary-and-more b", "a *** b"),
            ("hunter2-canaryhunter2-canary!", "******!"),
            ("pw=pw", "***=***"),
            ("two two, one", "***, ***"),
            ("aHVudGVyMi1jYW5hcnk=", "***k="),
            ("nothing", "nothing"),
        ] {
            assert_eq!(mask.text(text), shown, "{text}");
        }
    }

    /// `base64` breaks after 76 characters.
    #[test]
    fn base64_is_hidden_wherever_it_is_broken() {
        let parts: Vec<String> = (0..40_u32)
            .map(|index| format!("{:x}", index * 7919))
            .collect();
        let value = parts.concat();
        let mask = mask(&[&value]);
        let before = "user:";
        let mut child = std::process::Command::new("base64")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, format!("{before}{value}").as_bytes()).unwrap();
        drop(stdin);
        let text = child.wait_with_output().unwrap().stdout;
        let text = String::from_utf8(text).unwrap();
        assert!(text.lines().count() > 2);
        for line in text.lines() {
            assert!(mask.text(line).len() < 18, "{line}: {}", mask.text(line));
        }
    }

    #[test]
    fn a_stream_is_hidden_across_its_pieces() {
        let text = "first hunter2-canary\nsecond hunter2-canary";
        for size in 1..text.len() {
            let mut masked = Masked::new(mask(&["hunter2-canary"]));
            let mut seen = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                seen.extend(masked.push(piece));
                seen.extend(masked.pause());
            }
            seen.extend(masked.finish());
            assert_eq!(seen, b"first ***\nsecond ***", "{size}");
        }
        let mut masked = Masked::new(mask(&["hunter2-canary"]));
        let long = "x".repeat(LINE - 5) + "hunter2-canary";
        let mut seen = masked.push(&long.as_bytes()[..LINE]);
        assert!(!seen.is_empty());
        seen.extend(masked.push(&long.as_bytes()[LINE..]));
        seen.extend(masked.finish());
        assert_eq!(seen, ("x".repeat(LINE - 5) + "***").into_bytes());
    }
}
