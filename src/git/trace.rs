//! What git and its programs say, as it comes: messages, and traces of what they do, which are read for the one thing that
//! they keep to themselves: how long a server wants to be left alone.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::retry_after;

/// So much is kept of messages. The last ones say why git gave up.
const LIMIT: usize = 256 << 10;

/// A server that wants to be left alone for longer is not waited for.
pub(super) const LONGEST: Duration = Duration::from_mins(1);

/// What was said so far, without the trace: that grows with each request.
#[derive(Debug, Default)]
pub(super) struct Told {
    said: Vec<u8>,
    /// The beginning of a line.
    line: Vec<u8>,
    /// The last time that a server named.
    retry_after: Option<Duration>,
    /// Git does not wait that long, but git-lfs does.
    is_waiting: bool,
    /// The last status that git-lfs was answered with.
    status: Option<u16>,
}

/// What was said by the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) retry_after: Option<Duration>,
    pub(super) status: Option<u16>,
}

/// A program that is waiting for longer than anybody wants to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLong(pub(super) Duration);

impl Told {
    /// Reads to the end of what is said, or to where it says that there is no end in sight.
    pub(super) async fn by(
        pipe: Option<impl AsyncRead + Unpin>,
    ) -> Result<io::Result<Self>, TooLong> {
        let mut told = Self::default();
        let Some(mut pipe) = pipe else {
            return Ok(Ok(told));
        };
        let mut chunk = vec![0; 8192];
        loop {
            match pipe.read(&mut chunk).await {
                Err(error) => return Ok(Err(error)),
                Ok(0) => return Ok(Ok(told)),
                Ok(length) => told.hear(&chunk[..length]),
            }
            match told.retry_after {
                Some(time) if told.is_waiting && time > LONGEST => return Err(TooLong(time)),
                _ => {}
            }
        }
    }

    fn hear(&mut self, chunk: &[u8]) {
        for piece in chunk.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(piece);
            // Who never ends a line must not fill the memory.
            if piece.ends_with(b"\n") || self.line.len() >= LIMIT {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if let Some(told) = traced(&String::from_utf8_lossy(&line)) {
            let waited_for = waited_for(told);
            self.is_waiting |= waited_for.is_some();
            self.retry_after = waited_for.or(retry_after_of(told)).or(self.retry_after);
            self.status = status_of(told).or(self.status);
            return;
        }
        self.said.extend(line);
        // Not for each line: what stays is moved.
        if self.said.len() >= 2 * LIMIT {
            self.said.drain(..self.said.len() - LIMIT);
        }
    }

    pub(super) fn end(mut self) -> Said {
        self.end_line();
        let kept = self.said.len().saturating_sub(LIMIT);
        Said {
            text: String::from_utf8_lossy(&self.said[kept..]).into_owned(),
            retry_after: self.retry_after,
            status: self.status,
        }
    }
}

/// What is told in a line such as `21:21:32.187323 http.c:684   <= Recv header: Retry-After: 7`, or as
/// `21:21:32.187323 trace git-lfs: HTTP: 429`.
fn traced(line: &str) -> Option<&str> {
    let (time, rest) = line.split_once(' ')?;
    let (clock, fraction) = time.split_once('.')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_time = digits(fraction) && clock.len() == 8 && clock.split(':').all(digits);
    let (place, told) = rest.split_once(' ')?;
    let is_of_lfs = place == "trace" && told.starts_with(OF_LFS);
    (is_time && (place.contains(".c:") || is_of_lfs)).then_some(told.trim())
}

const OF_LFS: &str = "git-lfs: ";

/// The time in `tq: enqueue retry #1 after 900.00s for "6fd6…" (size: 5): …`.
fn waited_for(told: &str) -> Option<Duration> {
    let retry = told
        .strip_prefix(OF_LFS)?
        .strip_prefix("tq: enqueue retry #")?;
    let (_, rest) = retry.split_once(" after ")?;
    let (seconds, _) = rest.split_once("s for ")?;
    Duration::try_from_secs_f64(seconds.parse().ok()?).ok()
}

fn status_of(told: &str) -> Option<u16> {
    let status = told.strip_prefix(OF_LFS)?.strip_prefix("HTTP: ")?;
    status.parse().ok()
}

fn retry_after_of(told: &str) -> Option<Duration> {
    let header = told.strip_prefix("<= Recv header: ")?;
    let (name, value) = header.split_once(':')?;
    name.eq_ignore_ascii_case("retry-after")
        .then(|| retry_after::parse(value))
        .flatten()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{LIMIT, Said, Told, TooLong};

    fn told(chunks: &[&[u8]]) -> Said {
        let mut told = Told::default();
        for chunk in chunks {
            told.hear(chunk);
        }
        told.end()
    }

    const STDERR: &str = "warning: x\n21:21:32.187316 http.c:684              <= Recv header: Server: a\n\
        21:21:32.187323 http.c:684              <= Recv header: retry-after: 7\n\
        21:21:32.187323 http.c:725              == Info: authorization: Basic c2VjcmV0\n\
        fatal: unable to access 'http://h/x/': The requested URL returned error: 429";
    const TEXT: &str =
        "warning: x\nfatal: unable to access 'http://h/x/': The requested URL returned error: 429";

    fn expected() -> Said {
        Said {
            text: TEXT.to_owned(),
            retry_after: Some(Duration::from_secs(7)),
            status: None,
        }
    }

    #[test]
    fn a_time_is_found_and_the_trace_is_gone() {
        assert_eq!(told(&[STDERR.as_bytes()]), expected());
        // However it comes.
        for size in [1, 7, 100] {
            let chunks: Vec<&[u8]> = STDERR.as_bytes().chunks(size).collect();
            assert_eq!(told(&chunks), expected());
        }
        let lunch = "remote: 12:00 is lunch\n";
        let text = lunch.to_owned();
        let only = Said {
            text,
            ..Said::default()
        };
        assert_eq!(told(&[lunch.as_bytes()]), only);
    }

    /// It waits as long as a server wants, and says nothing of that.
    #[tokio::test]
    async fn git_lfs_is_not_listened_to_while_it_waits_for_long() {
        let line = |seconds: &str| {
            format!(
                "23:10:13.028034 trace git-lfs: HTTP: 429\n23:10:13.028109 trace git-lfs: tq: enqueue retry #1 after \
                 {seconds}s for \"00\" (size: 5): batch response: LFS: Error\nmore\n"
            )
        };
        let listen = async |text: String| {
            let told = Told::by(Some(text.as_bytes())).await?;
            Ok(told.unwrap().end())
        };
        let said = Said {
            text: "more\n".to_owned(),
            retry_after: Some(Duration::from_secs(2)),
            status: Some(429),
        };
        assert_eq!(listen(line("2.00")).await, Ok(said));
        let too_long = TooLong(Duration::from_mins(15));
        assert_eq!(listen(line("900.00")).await, Err(too_long));
    }

    #[test]
    fn what_git_says_at_the_end_is_kept_however_much_came_before() {
        let line = b"21:21:32.187316 http.c:684              <= Recv header: Server: a\n";
        let trace = line.repeat(3 * LIMIT / line.len());
        assert_eq!(told(&[&trace, STDERR.as_bytes()]), expected());
        for noise in [b"remote: x\n".repeat(LIMIT), b"x".repeat(5 * LIMIT)] {
            let said = told(&[&noise, b"\n", STDERR.as_bytes()]);
            assert!(said.text.ends_with(TEXT) && said.text.len() <= LIMIT);
            assert_eq!(said.retry_after, expected().retry_after);
        }
    }
}
