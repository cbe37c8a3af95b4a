//! The editor's messages before the server sees them: what is none, or larger than any that is of use, is left out, and
//! what follows is still read.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tower_lsp_server::jsonrpc::{Request, Response};

use crate::cli::ui;

/// The longest line of a head that is looked at as a whole.
const LINE: u64 = 4 << 10;
/// The largest message, in bytes. Files that are evaluated are far smaller.
const MESSAGE: u64 = 16 << 20;

const LENGTH: &[u8] = b"content-length:";

/// Hands messages on until the editor says nothing more, or nobody listens.
pub(super) async fn admit(
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut input = BufReader::new(input);
    while let Some(length) = head(&mut input).await? {
        let mut frame = (&mut input).take(length);
        if length > MESSAGE {
            tokio::io::copy(&mut frame, &mut tokio::io::sink()).await?;
            ui::notice("a message of over 16 MiB was left out");
            continue;
        }
        let mut body = Vec::new();
        frame.read_to_end(&mut body).await?;
        if is_message(&body) {
            let head = format!("Content-Length: {}\r\n\r\n", body.len());
            output.write_all(head.as_bytes()).await?;
            output.write_all(&body).await?;
        } else {
            ui::notice("something that is no message was left out");
        }
    }
    Ok(())
}

fn is_message(body: &[u8]) -> bool {
    let is_request = serde_json::from_slice::<Request>(body).is_ok();
    is_request || serde_json::from_slice::<Response>(body).is_ok()
}

/// The length of the next message. What stands before its head is passed over.
async fn head(input: &mut (impl AsyncBufReadExt + Unpin)) -> io::Result<Option<u64>> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        let mut start = (&mut *input).take(LINE);
        if start.read_until(b'\n', &mut line).await? == 0 {
            return Ok(None);
        }
        match (line.trim_ascii(), length) {
            (b"", Some(length)) => return Ok(Some(length)),
            (b"", None) => {}
            (line, _) => length = stated(line).or(length),
        }
    }
}

/// The length that a line states, if it speaks of it: one that is no number is that of no message. What stands before that
/// was left over from something else.
fn stated(line: &[u8]) -> Option<u64> {
    let lower = line.to_ascii_lowercase();
    let mut places = lower.windows(LENGTH.len());
    let at = places.rposition(|place| place == LENGTH)?;
    let value = str::from_utf8(&line[at + LENGTH.len()..]).unwrap_or_default();
    Some(value.trim().parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn admitted(input: &[u8]) -> String {
        let mut output = Vec::new();
        admit(input, &mut output).await.unwrap();
        String::from_utf8(output).unwrap()
    }

    #[tokio::test]
    async fn only_messages_are_handed_on() {
        let message = r#"{"jsonrpc":"2.0","method":"exit"}"#;
        let good = format!("Content-Length: {}\r\n\r\n{message}", message.len());
        let long = "x".repeat(5000);
        for (before, why) in [
            ("", "nothing"),
            ("\r\n\r\n", "empty lines"),
            ("what?\r\nis: this\r\n\r\n", "another head"),
            ("Content-Length: x\r\n\r\n", "no number"),
            ("Content-Length: -1\r\n\r\n", "less than nothing"),
            (
                "Content-Length: 99999999999999999999999\r\n\r\n",
                "too large a number",
            ),
            ("Content-Length: 0\r\n\r\n", "an empty message"),
            ("Content-Length: 4\r\n\r\nnull", "no object"),
            (
                "Content-Length: 2\r\n\r\n\u{e9}",
                "no JSON, and text behind it",
            ),
            ("Content-Length: 2\r\n\r\n{}rest", "no request"),
            ("Content-Length: 2\r\n\r\n[]", "a list"),
            (long.as_str(), "a long line"),
        ] {
            assert_eq!(
                admitted(format!("{before}{good}").as_bytes()).await,
                good,
                "{why}"
            );
        }
        let lower = format!(
            "content-type: x\r\ncontent-length:{}\n\n{message}",
            message.len()
        );
        assert_eq!(admitted(lower.as_bytes()).await, good);
        assert_eq!(
            admitted(b"Content-Length: 99\r\n\r\n{}").await,
            "",
            "half a message"
        );
        let size = usize::try_from(MESSAGE).unwrap() + 1;
        let large = format!("Content-Length: {size}\r\n\r\n{}{good}", " ".repeat(size));
        assert_eq!(admitted(large.as_bytes()).await, good);
    }

    /// A deep message is refused by its reader, not by the end of the stack.
    #[tokio::test]
    async fn depth_is_bounded() {
        let deep = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":{}",
            "[".repeat(1 << 20)
        );
        let frame = format!("Content-Length: {}\r\n\r\n{deep}", deep.len());
        assert_eq!(admitted(frame.as_bytes()).await, "");
    }
}
