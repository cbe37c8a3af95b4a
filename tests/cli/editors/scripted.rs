//! An editor that is scripted.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::project::{PATIENCE, Project};

pub(super) struct Editor<'a> {
    pub(super) project: &'a Project,
    server: Child,
    /// `None` once there is nothing more to say.
    input: Option<ChildStdin>,
    output: Receiver<Value>,
    requests: i64,
    /// The last findings of each file, by its name.
    pub(super) found: BTreeMap<String, Value>,
}

/// The next message of the server; `None` once it has gone.
fn message(output: &mut BufReader<ChildStdout>) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).unwrap() == 0 {
            return None;
        }
        match line.trim().split_once(": ") {
            Some(("Content-Length", size)) => length = size.parse().unwrap(),
            Some(_) => {}
            None => break,
        }
    }
    let mut text = vec![0; length];
    output.read_exact(&mut text).unwrap();
    Some(serde_json::from_slice(&text).unwrap())
}

impl<'a> Editor<'a> {
    /// One that has said nothing yet.
    pub(super) fn silent(project: &'a Project) -> Self {
        let mut command = project.atelier(&["lsp"]);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut server = command.spawn().unwrap();
        let mut output = BufReader::new(server.stdout.take().unwrap());
        let (sender, receiver) = channel();
        thread::spawn(move || {
            while let Some(message) = message(&mut output) {
                sender.send(message).ok();
            }
        });
        Self {
            project,
            input: server.stdin.take(),
            output: receiver,
            server,
            requests: 0,
            found: BTreeMap::new(),
        }
    }

    pub(super) fn start(project: &'a Project) -> Self {
        let mut editor = Self::silent(project);
        editor.greet();
        editor
    }

    pub(super) fn greet(&mut self) {
        let told = self.ask(
            "initialize",
            &json!({"capabilities": {}, "processId": null, "rootUri": null}),
        );
        assert_eq!(told["serverInfo"]["name"], "atelier");
        self.tell("initialized", &json!({}));
    }

    pub(super) fn uri(&self, file: &str) -> String {
        format!("file://{}/{file}", self.project.root.display())
    }

    /// Bytes as they are.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        self.write(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
    }

    pub(super) fn tell(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// The answer, or the error.
    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.output.recv_timeout(PATIENCE).unwrap();
            if message["method"] == "textDocument/publishDiagnostics" {
                let params = &message["params"];
                let file = params["uri"].as_str().unwrap().rsplit('/').next().unwrap();
                self.found
                    .insert(file.to_owned(), params["diagnostics"].clone());
            }
            if message["id"] == id {
                let failed = message.get("error").cloned();
                return failed.unwrap_or_else(|| message["result"].clone());
            }
        }
    }

    /// Opens a file as what its name says.
    pub(super) fn open(&mut self, file: &str, text: &str) {
        self.open_as("atelier", file, text);
    }

    pub(super) fn open_as(&mut self, language: &str, file: &str, text: &str) {
        self.project.write(file, text);
        let document =
            json!({"uri": self.uri(file), "languageId": language, "version": 1, "text": text});
        self.tell("textDocument/didOpen", &json!({"textDocument": document}));
    }

    pub(super) fn change(&mut self, file: &str, text: &str) {
        let params = json!({
            "textDocument": {"uri": self.uri(file), "version": 2},
            "contentChanges": [{"text": text}],
        });
        self.tell("textDocument/didChange", &params);
    }

    pub(super) fn close(&mut self, file: &str) {
        let document = json!({"textDocument": {"uri": self.uri(file)}});
        self.tell("textDocument/didClose", &document);
    }

    /// Asks something of a place in a file.
    pub(super) fn at(
        &mut self,
        method: &str,
        file: &str,
        place: (u64, u64),
        more: &Value,
    ) -> Value {
        let mut params = json!({
            "textDocument": {"uri": self.uri(file)},
            "position": {"line": place.0, "character": place.1},
        });
        for (key, value) in more.as_object().unwrap() {
            params[key] = value.clone();
        }
        self.ask(&format!("textDocument/{method}"), &params)
    }

    /// The first lines of what is said of a file, once all that was sent before is done. Answers and what is told come in no
    /// order to each other: after some answers, all that was told before is here.
    pub(super) fn messages(&mut self, file: &str) -> Vec<String> {
        for _ in 0..4 {
            self.at("hover", file, (9999, 0), &json!({}));
        }
        let found = self.found.get(file).and_then(Value::as_array);
        let found = found.into_iter().flatten();
        let messages = found.map(|found| found["message"].as_str().unwrap());
        messages
            .map(|text| text.lines().next().unwrap().to_owned())
            .collect()
    }

    pub(super) fn labels(&mut self, file: &str, place: (u64, u64)) -> Vec<String> {
        let items = self.at("completion", file, place, &json!({}));
        let items = items.as_array().into_iter().flatten();
        items
            .map(|item| item["label"].as_str().unwrap().to_owned())
            .collect()
    }

    pub(super) fn say_no_more(&mut self) {
        self.input = None;
    }

    /// How the server has ended, which it does soon.
    pub(super) fn wait(mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.server.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "it goes on");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The input stays open: not all editors close it.
    pub(super) fn end(mut self) {
        assert_eq!(self.ask("shutdown", &Value::Null), Value::Null);
        self.tell("exit", &Value::Null);
        assert!(self.wait().success());
    }
}

pub(super) fn range(line: u64, from: u64, to: u64) -> Value {
    json!({"start": {"line": line, "character": from}, "end": {"line": line, "character": to}})
}

/// Of a text with an edit carried out.
pub(super) fn edited(text: &str, edits: &Value) -> String {
    let mut lines: Vec<Vec<u16>> = text
        .split('\n')
        .map(|line| line.encode_utf16().collect())
        .collect();
    let mut edits: Vec<&Value> = edits.as_array().unwrap().iter().collect();
    edits.sort_by_key(|edit| edit["range"]["start"]["character"].as_u64());
    for edit in edits.into_iter().rev() {
        let place = |end: &str, of: &str| {
            usize::try_from(edit["range"][end][of].as_u64().unwrap()).unwrap()
        };
        let line = &mut lines[place("start", "line")];
        let new = edit["newText"].as_str().unwrap().encode_utf16();
        line.splice(place("start", "character")..place("end", "character"), new);
    }
    let lines: Vec<String> = lines
        .iter()
        .map(|line| String::from_utf16(line).unwrap())
        .collect();
    lines.join("\n")
}
