//! Debian's docker-registry on loopback, as real as it gets, and images pushed to it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;

use serde_json::Value;
use tempfile::TempDir;

use crate::http::{self, Message};
use crate::oci_layout::OciLayout;

pub(crate) struct Registry {
    pub(crate) port: u16,
    server: Child,
    /// What pushing clients send to log in.
    authorization: Option<String>,
    folder: Rc<TempDir>,
}

impl Registry {
    /// Without any login.
    pub(crate) fn open() -> Self {
        Self::start("", None)
    }

    /// `more` is added to its configuration.
    pub(crate) fn start(more: &str, authorization: Option<&str>) -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Self::start_on(Rc::new(folder), more, authorization)
    }

    /// Another server of the same images.
    pub(crate) fn again(&self, more: &str) -> Self {
        Self::start_on(Rc::clone(&self.folder), more, None)
    }

    fn start_on(folder: Rc<TempDir>, more: &str, authorization: Option<&str>) -> Self {
        let data = folder.path().join("data");
        let configuration = folder.path().join("config.yml");
        let http = match more.starts_with("http:") {
            true => "",
            false => "http: { addr: \"127.0.0.1:0\" }\n",
        };
        let text = format!(
            "version: 0.1\nlog: {{ level: info, formatter: text }}\n\
             storage: {{ filesystem: {{ rootdirectory: {} }}, delete: {{ enabled: true }} }}\n{http}{more}\n",
            data.display()
        );
        fs::write(&configuration, text).unwrap();
        // It ends with the thread that started it.
        let mut server = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "docker-registry", "serve"])
            .arg(&configuration)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("docker-registry and setpriv are there: see ./check");
        let mut log = BufReader::new(server.stderr.take().unwrap()).lines();
        let mut seen = String::new();
        let port = loop {
            let line = log.next().unwrap_or_else(|| panic!("it ended:\n{seen}"));
            let line = line.unwrap();
            if let Some((_, rest)) = line.split_once("listening on 127.0.0.1:") {
                let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
                break digits.unwrap().parse().unwrap();
            }
            assert!(
                !line.contains("listening on"),
                "where it should not: {line}"
            );
            seen += &(line + "\n");
        };
        // It must not wait for somebody who reads what it says.
        std::thread::spawn(move || log.for_each(drop));
        Self {
            port,
            server,
            authorization: authorization.map(str::to_owned),
            folder,
        }
    }

    /// A reference to what is in it.
    pub(crate) fn image(&self, name: &str) -> String {
        format!("localhost:{}/{name}", self.port)
    }

    pub(crate) fn send(&self, method: &str, target: &str, kind: &str, body: &[u8]) -> Message {
        let mut headers = vec![("content-type", kind)];
        if let Some(authorization) = &self.authorization {
            headers.push(("authorization", authorization));
        }
        http::send(self.port, method, target, &headers, body)
    }

    /// Pushes an image, or an index with its images, and gives it a tag.
    pub(crate) fn push(&self, layout: &OciLayout, top: &Value, repository: &str, tag: &str) {
        self.push_document(layout, top, repository, tag);
    }

    fn push_document(&self, layout: &OciLayout, document: &Value, repository: &str, name: &str) {
        let content = fs::read(layout.blob_path(text(document, "digest"))).unwrap();
        let parsed: Value = serde_json::from_slice(&content).unwrap();
        for inner in parsed["manifests"].as_array().into_iter().flatten() {
            self.push_document(layout, inner, repository, text(inner, "digest"));
        }
        let layers = parsed["layers"].as_array().into_iter().flatten();
        for blob in parsed.get("config").into_iter().chain(layers) {
            self.push_blob(layout, blob, repository);
        }
        let target = format!("/v2/{repository}/manifests/{name}");
        let kind = text(document, "mediaType");
        let answer = self.send("PUT", &target, kind, &content);
        assert_eq!(answer.status(), 201, "{answer:?}");
    }

    fn push_blob(&self, layout: &OciLayout, blob: &Value, repository: &str) {
        let digest = text(blob, "digest");
        let content = fs::read(layout.blob_path(digest)).unwrap();
        let begin = format!("/v2/{repository}/blobs/uploads/");
        let begun = self.send("POST", &begin, "", &[]);
        assert_eq!(begun.status(), 202, "{begun:?}");
        let location = begun.header("location").unwrap();
        let target = location
            .split_once("://")
            .map_or(location, |(_, rest)| &rest[rest.find('/').unwrap()..]);
        let joint = if target.contains('?') { '&' } else { '?' };
        let target = format!("{target}{joint}digest={digest}");
        let done = self.send("PUT", &target, "application/octet-stream", &content);
        assert_eq!(done.status(), 201, "{done:?}");
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.server.kill().ok();
        self.server.wait().ok();
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap()
}

/// Where a layer that was pulled is, until it is unpacked.
pub(crate) fn stored(store: &Path, digest: &str) -> std::path::PathBuf {
    store
        .join("b/layers/blobs/sha256")
        .join(digest.strip_prefix("sha256:").unwrap())
}
