//! A server in front of another one on loopback, which counts what passes, and can spoil it as networks do.

use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use crate::http::{self, Message};

/// What becomes of a request.
#[derive(Clone, Debug)]
pub(crate) enum Manner {
    /// Answers with this status.
    Fail {
        status: u16,
        retry_after: Option<&'static str>,
    },
    /// Ends the connection after so many bytes of the body.
    Cut { after: usize },
    /// Changes the first byte of the body.
    Spoil,
    /// Says that the body is something else.
    Replace { body: Vec<u8> },
    /// Knows no ranges.
    Whole,
    /// Loses the login.
    Anonymous,
    /// Is silent for so long, then serves.
    Wait(Duration),
    /// Runs a script, then serves.
    After(String),
    /// Waits for others, then serves.
    Gather(Arc<Gate>),
}

/// Where requests wait until so many of them are there at the same time; for others that never come, only for a while.
#[derive(Debug)]
pub(crate) struct Gate {
    wanted: usize,
    /// How many wait, and the most that ever did.
    waiting: Mutex<[usize; 2]>,
    comes: Condvar,
}

impl Gate {
    pub(crate) fn of(wanted: usize) -> Arc<Self> {
        Arc::new(Self {
            wanted,
            waiting: Mutex::default(),
            comes: Condvar::new(),
        })
    }

    fn pass(&self) {
        let mut waiting = self.waiting.lock().unwrap();
        waiting[0] += 1;
        waiting[1] = waiting[1].max(waiting[0]);
        self.comes.notify_all();
        // Whoever asks for refs gives up after five seconds.
        let (patience, is_closed) = (Duration::from_secs(4), |[_, most]: &mut [usize; 2]| {
            *most < self.wanted
        });
        let (mut waiting, _) = self
            .comes
            .wait_timeout_while(waiting, patience, is_closed)
            .unwrap();
        waiting[0] -= 1;
    }

    /// How many requests waited at the same time, at most.
    pub(crate) fn most(&self) -> usize {
        self.waiting.lock().unwrap()[1]
    }
}

struct Rule {
    /// A part of the request's target.
    part: String,
    times: usize,
    manner: Manner,
}

#[derive(Default)]
struct State {
    rules: Vec<Rule>,
    requests: Vec<Message>,
    open: usize,
    most_open: usize,
}

pub(crate) struct Front {
    pub(crate) port: u16,
    state: Arc<Mutex<State>>,
}

impl Front {
    /// In front of the server at `port`.
    pub(crate) fn of(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap().port();
        let state = Arc::<Mutex<State>>::default();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                let state = Arc::clone(&shared);
                // A client that goes away in the middle is a normal event.
                thread::spawn(move || serve(stream, port, &state).ok());
            }
        });
        Self { port: own, state }
    }

    pub(crate) fn image(&self, name: &str) -> String {
        format!("localhost:{}/{name}", self.port)
    }

    /// The next requests, so many, whose target has `part` in it are met in this way.
    pub(crate) fn meet(&self, part: &str, times: usize, manner: Manner) {
        let part = part.to_owned();
        self.state.lock().unwrap().rules.push(Rule {
            part,
            times,
            manner,
        });
    }

    pub(crate) fn serve_again(&self) {
        self.state.lock().unwrap().rules.clear();
    }

    /// All so far, in the order they came.
    pub(crate) fn requests(&self) -> Vec<Message> {
        self.state.lock().unwrap().requests.clone()
    }

    /// Method and target of those whose target has `part` in it.
    pub(crate) fn targets(&self, part: &str) -> Vec<String> {
        let requests = self.requests();
        let matching = requests.iter().filter(|one| one.target().contains(part));
        matching
            .map(|one| format!("{} {}", one.method(), one.target()))
            .collect()
    }

    pub(crate) fn forget(&self) {
        self.state.lock().unwrap().requests.clear();
    }

    /// How many requests were met at the same time, at most.
    pub(crate) fn most_at_once(&self) -> usize {
        self.state.lock().unwrap().most_open
    }
}

fn serve(stream: TcpStream, port: u16, state: &Mutex<State>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let Some(request) = http::read_request(&mut reader)? else {
        return Ok(());
    };
    let manner = {
        let mut state = state.lock().unwrap();
        state.requests.push(request.clone());
        state.open += 1;
        state.most_open = state.most_open.max(state.open);
        let mut rules = state.rules.iter_mut();
        let rule = rules.find(|rule| rule.times > 0 && request.target().contains(&rule.part));
        rule.map(|rule| {
            rule.times -= 1;
            rule.manner.clone()
        })
    };
    let answered = meet(stream, port, request, manner);
    state.lock().unwrap().open -= 1;
    answered
}

fn meet(
    mut stream: TcpStream,
    port: u16,
    mut request: Message,
    manner: Option<Manner>,
) -> std::io::Result<()> {
    match &manner {
        Some(Manner::Fail {
            status,
            retry_after,
        }) => {
            let headers: Vec<_> = retry_after
                .iter()
                .map(|time| ("retry-after", *time))
                .collect();
            return http::write(&mut stream, &http::answer(*status, &headers, b"no"));
        }
        Some(Manner::Whole) => request.headers.retain(|(name, _)| name != "range"),
        Some(Manner::Anonymous) => request.headers.retain(|(name, _)| name != "authorization"),
        Some(Manner::Wait(time)) => thread::sleep(*time),
        Some(Manner::Gather(gate)) => gate.pass(),
        Some(Manner::After(script)) => {
            let ended = Command::new("sh").args(["-euc", script]).status();
            assert!(ended.unwrap().success(), "{script}");
        }
        _ => {}
    }
    // As a proxy it is told the whole address.
    if let Some((_, rest)) = request.first.split_once(" http://") {
        let path = &rest[rest.find('/').unwrap()..];
        request.first = format!("{} {path}", request.method());
    }
    let mut upstream = TcpStream::connect(("127.0.0.1", port))?;
    request.headers.retain(|(name, _)| name != "connection");
    http::write(&mut upstream, &request)?;
    let mut upstream = BufReader::new(upstream);
    let Some(mut answer) = http::read_head(&mut upstream)? else {
        return Ok(());
    };
    answer.headers.retain(|(name, _)| name != "connection");
    if request.method() != "HEAD" {
        upstream.read_to_end(&mut answer.body)?;
    }
    match manner {
        Some(Manner::Cut { after }) => {
            answer.headers.retain(|(name, _)| name != "content-length");
            let length = answer.body.len().to_string();
            answer.headers.push(("content-length".to_owned(), length));
            answer.body.truncate(after);
        }
        Some(Manner::Spoil) => answer.body[0] ^= 1,
        Some(Manner::Replace { body }) => {
            answer.headers.retain(|(name, _)| name != "content-length");
            answer.body = body;
        }
        _ => {}
    }
    http::write(&mut stream, &answer)?;
    stream.flush()
}
