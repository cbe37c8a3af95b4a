//! What the runner says: lines of JSON, numbered, short enough for logs, and free of secrets.

use std::io::{BufWriter, Write};

use secrecy::SecretString;

use super::protocol::{Event, Failure, Kind, LONGEST_LINE, Outcome, StepEnding};
use crate::lines::Lines;

/// What a line has beside its text.
const FRAME: usize = 128;

/// Of a text that is no output, in bytes of JSON. What is longer is shortened.
const LONGEST_TEXT: usize = 4 << 10;

/// Of a name or a path in a list.
const LONGEST_NAME: usize = 1 << 10;

/// So many names are told.
const NAMES: usize = 5;

pub(super) struct Events {
    to: BufWriter<Box<dyn Write>>,
    last: u64,
    lines: Lines,
}

impl Events {
    pub(super) fn new(to: impl Write + 'static) -> Self {
        Self {
            to: BufWriter::new(Box::new(to)),
            last: 0,
            lines: Lines::without(&[]),
        }
    }

    /// From here on these are masked.
    pub(super) fn keep_secret(&mut self, secrets: &[SecretString]) {
        self.lines = Lines::without(secrets);
    }

    pub(super) fn request(&mut self, nonce: &str) {
        let nonce = nonce.to_owned();
        self.say(Kind::Request { nonce });
    }

    pub(super) fn phase(&mut self, text: &str) {
        self.end_line();
        let text = self.text(text);
        self.say(Kind::Phase { text });
    }

    pub(super) fn notice(&mut self, text: &str) {
        self.end_line();
        let text = self.text(text);
        self.say(Kind::Notice { text });
    }

    pub(super) fn step(&mut self, index: usize, ending: StepEnding, seconds: f64) {
        self.end_line();
        self.say(Kind::Step {
            index,
            ending,
            seconds,
        });
    }

    pub(super) fn result(&mut self, outcome: Outcome) {
        self.end_line();
        let outcome = match outcome {
            Outcome::Failed(failure) => Outcome::Failed(self.failure(failure)),
            other => other,
        };
        self.say(Kind::Result { outcome });
    }

    /// Output as it comes, in pieces of any size.
    pub(super) fn output(&mut self, bytes: &[u8]) {
        let (to, last) = (&mut self.to, &mut self.last);
        self.lines.push(bytes, |line| write_line(to, last, &line));
        self.to.flush().ok();
    }

    /// Ends an unfinished line of output.
    pub(super) fn end_line(&mut self) {
        let (to, last) = (&mut self.to, &mut self.last);
        self.lines.flush(|line| write_line(to, last, &line));
    }

    fn say(&mut self, kind: Kind) {
        write(&mut self.to, &mut self.last, kind);
        self.to.flush().ok();
    }

    fn text(&self, text: &str) -> String {
        shortened(&self.lines.text(text), LONGEST_TEXT)
    }

    fn names(&self, names: Vec<String>) -> Vec<String> {
        let names = names.into_iter().take(NAMES);
        names
            .map(|name| shortened(&self.lines.text(&name), LONGEST_NAME))
            .collect()
    }

    fn failure(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Checkout { input, cause, help } => Failure::Checkout {
                input: self.text(&input),
                cause: self.text(&cause),
                help: self.text(&help),
            },
            Failure::SecretInside { names, paths } => Failure::SecretInside {
                names: self.names(names),
                paths: self.names(paths),
            },
            Failure::Damaged { count, first } => Failure::Damaged {
                count,
                first: self.names(first),
            },
            Failure::Machine {
                class,
                message,
                help,
            } => Failure::Machine {
                class,
                message: self.text(&message),
                help: help.map(|help| self.text(&help)),
            },
            other @ (Failure::Step { .. } | Failure::Timeout { .. } | Failure::Terminated) => other,
        }
    }
}

/// One line of output, in as many events as it takes.
fn write_line(to: &mut impl Write, last: &mut u64, line: &str) {
    let mut rest = line;
    loop {
        let (piece, after) = rest.split_at(fitting(rest, LONGEST_LINE - FRAME));
        let kind = Kind::Output {
            text: piece.to_owned(),
            more: !after.is_empty(),
        };
        write(to, last, kind);
        if after.is_empty() {
            return;
        }
        rest = after;
    }
}

fn write(to: &mut impl Write, last: &mut u64, kind: Kind) {
    *last += 1;
    let event = Event { seq: *last, kind };
    // Nobody listening must not end the work; who misses something sees it by the numbers.
    if serde_json::to_writer(&mut *to, &event).is_ok() {
        to.write_all(b"\n").ok();
    }
}

fn shortened(text: &str, most: usize) -> String {
    match fitting(text, most) {
        all if all == text.len() => text.to_owned(),
        some => format!("{} …", &text[..some]),
    }
}

/// How much of a text, from its beginning, takes at most so many bytes of JSON.
fn fitting(text: &str, most: usize) -> usize {
    if text.len() * 6 <= most {
        return text.len();
    }
    let mut taken = 0;
    for (at, char) in text.char_indices() {
        taken += match char {
            '"' | '\\' => 2,
            '\0'..='\x1f' => 6,
            other => other.len_utf8(),
        };
        if taken > most {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::{fitting, write_line};
    use crate::runner::protocol::{Event, Kind, LONGEST_LINE};

    #[test]
    fn long_lines_come_in_pieces_that_logs_keep_whole() {
        let line: String = "\u{1}\"ä\\x".repeat(20_000);
        let mut written = Vec::new();
        let mut last = 0;
        write_line(&mut written, &mut last, &line);
        let mut joined = String::new();
        let mut seen = 0;
        for text in String::from_utf8(written).unwrap().lines() {
            assert!(text.len() < LONGEST_LINE, "{}", text.len());
            let event: Event = serde_json::from_str(text).unwrap();
            seen += 1;
            assert_eq!(event.seq, seen);
            let Kind::Output { text, more } = event.kind else {
                panic!("{event:?}");
            };
            joined.push_str(&text);
            assert_eq!(more, joined.len() < line.len());
        }
        assert!(joined == line);
        assert_eq!(last, seen);
    }

    #[test]
    fn an_empty_line_is_one_event() {
        let mut written = Vec::new();
        write_line(&mut written, &mut 0, "");
        let text = String::from_utf8(written).unwrap();
        assert_eq!(text, "{\"seq\":1,\"kind\":\"output\",\"text\":\"\"}\n");
    }

    #[test]
    fn what_fits_is_measured_as_json() {
        let text = "\u{1}".repeat(100);
        let fits = fitting(&text, 60);
        assert_eq!(fits, 10);
        assert_eq!(serde_json::to_string(&text[..fits]).unwrap().len(), 62);
    }
}
