//! The log of a bake: written as output comes, kept whatever becomes of the bake, and free of secrets.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use super::mask::{LINE, Mask};
use super::plain;
use crate::event::{Kind, Sink};

pub(super) struct Log {
    /// Flushed with each piece of output, for those who follow.
    file: BufWriter<File>,
    path: PathBuf,
    events: Sink,
    mask: Mask,
    /// The line that is not finished yet.
    rest: Vec<u8>,
}

impl Log {
    pub(super) fn create(
        path: PathBuf,
        events: &Sink,
        secrets: &[SecretString],
    ) -> std::io::Result<Self> {
        let file = BufWriter::new(File::create_new(&path)?);
        events.send(Kind::Started { log: path.clone() });
        Ok(Self {
            file,
            path,
            events: events.clone(),
            mask: Mask::new(secrets),
            rest: Vec::new(),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A headline between the lines of output.
    pub(super) fn phase(&mut self, text: &str) {
        self.flush();
        let text = self.mask(text);
        self.write(&format!("==> {text}"));
        self.file.flush().ok();
        self.events.send(Kind::Phase(text));
    }

    /// Something to know, as a line of its own.
    pub(super) fn notice(&mut self, text: &str) {
        self.flush();
        let text = self.mask(text);
        self.write(&format!("--> {text}"));
        self.file.flush().ok();
        self.events.send(Kind::Notice(text));
    }

    /// Output as it comes, in pieces of any size; at the pace of who watches.
    pub(super) async fn output(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.rest.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.flush();
            } else if self.rest.len() >= LINE {
                self.cut();
            }
        }
        self.file.flush().ok();
        self.events.settle().await;
    }

    /// Ends an unfinished line.
    pub(super) fn flush(&mut self) {
        if self.rest.is_empty() {
            return;
        }
        let text = String::from_utf8_lossy(&std::mem::take(&mut self.rest)).into_owned();
        let text = self.mask(text.trim_end_matches(['\n', '\r']));
        self.write(&text);
        self.events.send(Kind::Output(text));
    }

    /// Ends a line that is too long where it may be cut: not in a secret that is half there, nor in a character.
    fn cut(&mut self) {
        let kept = self.mask.longest().max(4);
        let whole = match std::str::from_utf8(&self.rest) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.rest.len(),
        };
        let begun = self.rest.split_off(whole);
        let text = self.mask.text(&String::from_utf8_lossy(&self.rest));
        let end = text.floor_char_boundary(text.len().saturating_sub(kept));
        self.rest = [&text.as_bytes()[end..], &begun].concat();
        let text = plain::text(&text[..end]);
        self.write(&text);
        self.events.send(Kind::Output(text));
    }

    fn write(&mut self, line: &str) {
        // A full disk ends the bake by its own writes; the log must not hide why.
        writeln!(self.file, "{line}").ok();
    }

    /// A text for people: without secrets, and without what would tell a terminal to do something.
    pub(super) fn mask(&self, text: &str) -> String {
        plain::text(&self.mask.text(text))
    }
}
