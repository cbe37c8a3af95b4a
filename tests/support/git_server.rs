//! A real git server on loopback: `git http-backend` behind as much of a web server as it needs, which can also
//! misbehave in the ways that real ones do.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::repo::Repo;

/// How the server meets requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    Serve,
    /// Answers with this status, so many times; then serves.
    Fail {
        status: u16,
        times: usize,
    },
    /// Takes requests and is silent.
    Hang,
    /// Wants this user and password.
    Login {
        user: String,
        password: String,
    },
    /// Sends clients to another server.
    Redirect {
        to: String,
    },
    /// Knows only the first protocol, in which a commit cannot be asked for unless a ref is at it.
    Old,
}

struct State {
    root: PathBuf,
    manner: Manner,
    requests: Vec<String>,
    sent: u64,
    logins: Vec<String>,
}

pub(crate) struct GitServer {
    pub(crate) port: u16,
    state: Arc<Mutex<State>>,
}

impl GitServer {
    /// Serves the bare repositories below `root`.
    pub(crate) fn start(root: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = State {
            root: root.to_owned(),
            manner: Manner::Serve,
            requests: Vec::new(),
            sent: 0,
            logins: Vec::new(),
        };
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                let state = Arc::clone(&shared);
                // A client that goes away in the middle is a normal event.
                thread::spawn(move || answer(stream, &state).ok());
            }
        });
        Self { port, state }
    }

    /// As the language normalises it.
    pub(crate) fn url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/{name}", self.port)
    }

    pub(crate) fn behave(&self, manner: Manner) {
        self.state.lock().unwrap().manner = manner;
    }

    /// Method and path of each request so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.state.lock().unwrap().requests.clone()
    }
}

impl GitServer {
    /// A repository that it serves.
    pub(crate) fn bare(&self, name: &str) -> Repo {
        Repo(
            self.state
                .lock()
                .unwrap()
                .root
                .join(name)
                .with_extension("git"),
        )
    }

    /// How many bytes of answers it has sent, without their headers.
    pub(crate) fn sent(&self) -> u64 {
        self.state.lock().unwrap().sent
    }

    /// What clients have sent to log in.
    pub(crate) fn logins(&self) -> Vec<String> {
        self.state.lock().unwrap().logins.clone()
    }
}

struct Request {
    method: String,
    path: String,
    query: String,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

fn answer(stream: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let Some(request) = read_request(&mut reader)? else {
        return Ok(());
    };
    let (root, manner) = {
        let mut state = state.lock().unwrap();
        state
            .requests
            .push(format!("{} {}", request.method, request.path));
        state
            .logins
            .extend(request.headers.get("authorization").cloned());
        let manner = state.manner.clone();
        if let Manner::Fail { times, .. } = &mut state.manner {
            *times = times.saturating_sub(1);
        }
        (state.root.clone(), manner)
    };
    let mut stream = stream;
    match manner {
        Manner::Fail { status, times } if times > 0 => {
            write!(
                stream,
                "HTTP/1.1 {status} no\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
        }
        Manner::Redirect { to } => write!(
            stream,
            "HTTP/1.1 302 there\r\nLocation: {to}{}?{}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            request.path, request.query
        ),
        Manner::Hang => {
            thread::sleep(Duration::from_mins(1));
            Ok(())
        }
        Manner::Login { user, password } if !is_allowed(&request, &user, &password) => write!(
            stream,
            "HTTP/1.1 401 no\r\nWWW-Authenticate: Basic realm=\"git\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        ),
        manner => {
            let sent = serve(&mut stream, &root, &request, manner == Manner::Old)?;
            state.lock().unwrap().sent += sent;
            Ok(())
        }
    }
}

fn is_allowed(request: &Request, user: &str, password: &str) -> bool {
    let expected = format!("Basic {}", base64(format!("{user}:{password}").as_bytes()));
    request.headers.get("authorization") == Some(&expected)
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let encode = |chunk: &[u8]| {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = (byte(0) << 16) | (byte(1) << 8) | byte(2);
        let digit = |index: usize| {
            let six = usize::try_from((bits >> (18 - 6 * index)) & 63).unwrap();
            if index <= chunk.len() {
                char::from(DIGITS[six])
            } else {
                '='
            }
        };
        [0, 1, 2, 3].map(digit)
    };
    bytes.chunks(3).flat_map(encode).collect()
}

fn read_request(reader: &mut impl BufRead) -> std::io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (path, query) = (path.to_owned(), query.to_owned());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let mut body = Vec::new();
    if let Some(length) = headers.get("content-length") {
        reader
            .take(length.parse().unwrap_or(0))
            .read_to_end(&mut body)?;
    }
    Ok(Some(Request {
        method,
        path,
        query,
        headers,
        body,
    }))
}

fn serve(
    stream: &mut TcpStream,
    root: &Path,
    request: &Request,
    is_old: bool,
) -> std::io::Result<u64> {
    let header = |name: &str| request.headers.get(name).cloned().unwrap_or_default();
    let mut command = Command::new("git");
    command
        .args(["-c", "safe.directory=*", "http-backend"])
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("PATH_INFO", &request.path)
        .env("QUERY_STRING", &request.query)
        .env("REQUEST_METHOD", &request.method)
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", request.body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("REMOTE_ADDR", "127.0.0.1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if !is_old {
        command.env("GIT_PROTOCOL", header("git-protocol"));
    }
    let mut child = command.spawn()?;
    let mut input = child.stdin.take().unwrap();
    let body = request.body.clone();
    let writer = thread::spawn(move || input.write_all(&body).ok());
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut status = "200 OK".to_owned();
    let mut headers = String::new();
    loop {
        let mut line = String::new();
        output.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            None => break,
            Some(("Status", value)) => value.clone_into(&mut status),
            Some((name, value)) => headers.extend([name, ": ", value, "\r\n"]),
        }
    }
    write!(
        stream,
        "HTTP/1.1 {status}\r\n{headers}Connection: close\r\n\r\n"
    )?;
    let sent = std::io::copy(&mut output, stream)?;
    writer.join().ok();
    child.wait()?;
    Ok(sent)
}
