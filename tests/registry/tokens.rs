//! A server that hands out tokens for a registry, as those of Docker Hub and GitHub do.

use std::fs;
use std::io::{BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::{self, Message};
use crate::logins::{PASSWORD, USER};

pub(crate) const SERVICE: &str = "a registry";
const ISSUER: &str = "a server of tokens";
pub(crate) const IDENTITY: &str = "canary-91c2-identity";

pub(crate) struct Tokens {
    pub(crate) port: u16,
    key: Key,
    requests: Arc<Mutex<Vec<Message>>>,
}

/// What tokens are signed with.
#[derive(Clone)]
struct Key {
    folder: Arc<TempDir>,
}

impl Tokens {
    /// Everybody may read what is below `public/`; the user may read all.
    pub(crate) fn start() -> Self {
        let key = Key::new();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::<Mutex<Vec<Message>>>::default();
        let (shared, signing) = (Arc::clone(&requests), key.clone());
        thread::spawn(move || {
            for mut stream in listener.incoming().filter_map(Result::ok) {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                if let Ok(Some(request)) = http::read_request(&mut reader) {
                    shared.lock().unwrap().push(request.clone());
                    http::write(&mut stream, &signing.answer(&request)).ok();
                }
            }
        });
        Self {
            port,
            key,
            requests,
        }
    }

    /// What makes a registry ask for its tokens.
    pub(crate) fn configuration(&self) -> String {
        format!(
            "auth: {{ token: {{ realm: \"http://localhost:{}/token\", service: \"{SERVICE}\", issuer: \"{ISSUER}\", rootcertbundle: {} }} }}",
            self.port,
            self.key.certificate().display()
        )
    }

    /// A token with which all can be pushed.
    pub(crate) fn for_pushing(&self, repositories: &[&str]) -> String {
        format!("Bearer {}", self.key.token(repositories, &["pull", "push"]))
    }

    pub(crate) fn requests(&self) -> Vec<Message> {
        self.requests.lock().unwrap().clone()
    }
}

impl Key {
    fn new() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let key = Self {
            folder: Arc::new(folder),
        };
        openssl(
            &[
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=tokens",
                "-keyout",
                "key.pem",
                "-out",
                "certificate.pem",
            ],
            key.folder.path(),
            &[],
        );
        key
    }

    fn certificate(&self) -> PathBuf {
        self.folder.path().join("certificate.pem")
    }

    fn answer(&self, request: &Message) -> Message {
        let refused = || http::answer(401, &[], b"{\"details\":\"no\"}");
        let is_post = request.method() == "POST";
        let form = match is_post {
            true => String::from_utf8_lossy(&request.body).into_owned(),
            false => request
                .target()
                .split_once('?')
                .map_or("", |(_, query)| query)
                .to_owned(),
        };
        let field = |name: &str| {
            let mut pairs = form.split('&').filter_map(|pair| pair.split_once('='));
            let (_, value) = pairs.find(|(known, _)| *known == name)?;
            Some(
                value
                    .replace('+', " ")
                    .replace("%3A", ":")
                    .replace("%2F", "/"),
            )
        };
        let scope = field("scope").unwrap_or_default();
        let mut words = scope.split(':');
        let (Some("repository"), Some(repository), Some("pull")) =
            (words.next(), words.next(), words.next())
        else {
            return http::answer(400, &[], b"no such scope");
        };
        assert_eq!(field("service").as_deref(), Some(SERVICE));
        let login = format!("Basic {}", STANDARD.encode(format!("{USER}:{PASSWORD}")));
        let is_allowed = match (is_post, request.header("authorization")) {
            (true, _) => field("refresh_token").as_deref() == Some(IDENTITY),
            (false, Some(shown)) => shown == login,
            (false, None) => repository.starts_with("public/"),
        };
        if !is_allowed {
            return refused();
        }
        let token = self.token(&[repository], &["pull"]);
        let name = if is_post { "access_token" } else { "token" };
        let body = json!({ name: token, "expires_in": 300 });
        http::answer(
            200,
            &[("content-type", "application/json")],
            body.to_string().as_bytes(),
        )
    }

    fn token(&self, repositories: &[&str], actions: &[&str]) -> String {
        let pem = fs::read_to_string(self.certificate()).unwrap();
        let der: String = pem
            .lines()
            .filter(|line| !line.starts_with("-----"))
            .collect();
        let header = json!({ "typ": "JWT", "alg": "RS256", "x5c": [der] });
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs();
        let access: Vec<Value> = repositories
            .iter()
            .map(|name| json!({ "type": "repository", "name": name, "actions": actions }))
            .collect();
        let claims = json!({
            "iss": ISSUER, "sub": USER, "aud": SERVICE, "jti": "1",
            "iat": now, "nbf": now - 10, "exp": now + 300, "access": access,
        });
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(&claims));
        let sign = ["dgst", "-sha256", "-sign", "key.pem"];
        let signature = openssl(&sign, self.folder.path(), signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// Runs openssl in a folder and returns what it says.
pub(crate) fn openssl(arguments: &[&str], folder: &Path, input: &[u8]) -> Vec<u8> {
    let mut child = Command::new("openssl")
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("openssl is there: see ./check");
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "openssl {arguments:?}");
    output.stdout
}
