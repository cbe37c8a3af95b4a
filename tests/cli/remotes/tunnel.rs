//! A proxy that leads to one server, whatever host it is asked for: names that nobody can look up have a server.

use std::io::{BufReader, Write, copy};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::http;

pub(crate) struct Tunnel {
    port: u16,
    targets: Arc<Mutex<Vec<String>>>,
}

impl Tunnel {
    pub(crate) fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let targets = Arc::<Mutex<Vec<String>>>::default();
        let shared = Arc::clone(&targets);
        thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                let targets = Arc::clone(&shared);
                // A client that goes away in the middle is a normal event.
                thread::spawn(move || join(stream, server, &targets).ok());
            }
        });
        Self { port, targets }
    }

    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Host and port of each request so far.
    pub(crate) fn targets(&self) -> Vec<String> {
        self.targets.lock().unwrap().clone()
    }
}

fn join(stream: TcpStream, server: u16, targets: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut from = BufReader::new(stream.try_clone()?);
    let Some(request) = http::read_head(&mut from)? else {
        return Ok(());
    };
    assert_eq!(request.method(), "CONNECT");
    targets.lock().unwrap().push(request.target().to_owned());
    let upstream = TcpStream::connect(("127.0.0.1", server))?;
    let mut to = stream;
    to.write_all(b"HTTP/1.1 200 yes\r\n\r\n")?;
    let (mut there, mut back) = (upstream.try_clone()?, upstream);
    let sender = thread::spawn(move || {
        copy(&mut from, &mut there).ok();
        there.shutdown(std::net::Shutdown::Write).ok();
    });
    copy(&mut back, &mut to).ok();
    to.shutdown(std::net::Shutdown::Both).ok();
    sender.join().ok();
    Ok(())
}
