//! As much of HTTP as tests need: one request a connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// A request or an answer. Names of headers are in lower case.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    /// Such as `GET /v2/ HTTP/1.1` or `HTTP/1.1 200 OK`.
    pub(crate) first: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Message {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter();
        all.find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// Of a request.
    pub(crate) fn method(&self) -> &str {
        self.first.split(' ').next().unwrap()
    }

    /// Of a request, with its query.
    pub(crate) fn target(&self) -> &str {
        self.first.split(' ').nth(1).unwrap()
    }

    /// Of an answer.
    pub(crate) fn status(&self) -> u16 {
        self.first.split(' ').nth(1).unwrap().parse().unwrap()
    }
}

/// Everything before the body; `None` at the end of the connection.
pub(crate) fn read_head(from: &mut impl BufRead) -> std::io::Result<Option<Message>> {
    let mut first = String::new();
    if from.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        from.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    Ok(Some(Message {
        first: first.trim_end().to_owned(),
        headers,
        body: Vec::new(),
    }))
}

/// A whole request of a client.
pub(crate) fn read_request(from: &mut impl BufRead) -> std::io::Result<Option<Message>> {
    let Some(mut request) = read_head(from)? else {
        return Ok(None);
    };
    if let Some(length) = request.header("content-length") {
        let length = length.parse().unwrap();
        from.take(length).read_to_end(&mut request.body)?;
    }
    Ok(Some(request))
}

/// Writes a message; its length is that of its body unless it says otherwise.
pub(crate) fn write(to: &mut impl Write, message: &Message) -> std::io::Result<()> {
    write!(to, "{}\r\n", message.first)?;
    for (name, value) in &message.headers {
        write!(to, "{name}: {value}\r\n")?;
    }
    if message.header("content-length").is_none() {
        write!(to, "content-length: {}\r\n", message.body.len())?;
    }
    write!(to, "connection: close\r\n\r\n")?;
    to.write_all(&message.body)?;
    to.flush()
}

pub(crate) fn answer(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Message {
    Message {
        first: format!("HTTP/1.1 {status} so"),
        headers: headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        body: body.to_vec(),
    }
}

/// Sends one request to a server on loopback and reads its answer.
pub(crate) fn send(
    port: u16,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Message {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut request = answer(0, headers, body);
    request.first = format!("{method} {target} HTTP/1.1");
    request
        .headers
        .push(("host".to_owned(), format!("127.0.0.1:{port}")));
    write(&mut stream, &request).unwrap();
    let mut reader = BufReader::new(stream);
    let mut answer = read_head(&mut reader).unwrap().expect("an answer");
    if method != "HEAD" {
        reader.read_to_end(&mut answer.body).unwrap();
    }
    answer
}
