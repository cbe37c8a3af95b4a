//! The log of a bake: written as output comes, kept whatever becomes of the bake, and free of secrets.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use crate::event::{Kind, Sink};
use crate::lines::Lines;

pub(crate) struct Log {
    /// Flushed with each piece of output, for those who follow.
    file: BufWriter<File>,
    path: PathBuf,
    events: Sink,
    lines: Lines,
}

impl Log {
    pub(crate) fn create(
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
            lines: Lines::without(secrets),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A headline between the lines of output.
    pub(crate) fn phase(&mut self, text: &str) {
        self.flush();
        let text = self.lines.text(text);
        write(&mut self.file, &format!("==> {text}"));
        self.file.flush().ok();
        self.events.send(Kind::Phase(text));
    }

    /// Something to know, as a line of its own.
    pub(crate) fn notice(&mut self, text: &str) {
        self.flush();
        let text = self.lines.text(text);
        write(&mut self.file, &format!("--> {text}"));
        self.file.flush().ok();
        self.events.send(Kind::Notice(text));
    }

    /// Output as it comes, in pieces of any size; at the pace of who watches.
    pub(crate) async fn output(&mut self, bytes: &[u8]) {
        let (file, events) = (&mut self.file, &self.events);
        self.lines.push(bytes, |line| tell(file, events, line));
        self.file.flush().ok();
        self.events.settle().await;
    }

    /// Ends an unfinished line.
    pub(crate) fn flush(&mut self) {
        let (file, events) = (&mut self.file, &self.events);
        self.lines.flush(|line| tell(file, events, line));
    }

    /// A text for people: without secrets, and without what would tell a terminal to do something.
    pub(super) fn mask(&self, text: &str) -> String {
        self.lines.text(text)
    }
}

fn tell(file: &mut impl Write, events: &Sink, line: String) {
    write(file, &line);
    events.send(Kind::Output(line));
}

fn write(file: &mut impl Write, line: &str) {
    // A full disk ends the bake by its own writes; the log must not hide why.
    writeln!(file, "{line}").ok();
}
