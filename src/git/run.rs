//! One call of git: its environment, its time limit, and the end of everything it started.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use secrecy::ExposeSecret;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, Command};

use super::{Credential, Git, Problem, message};
use crate::group::Group;
use crate::sys;

/// The refs of a repository with a million of them; more is not an answer but an attack.
const STDOUT_LIMIT: u64 = 128 << 20;
const STDERR_LIMIT: u64 = 256 << 10;

/// The part of the caller's environment that git may see.
#[derive(Clone, Debug)]
pub(super) struct Environment {
    /// For every call.
    always: Vec<(OsString, OsString)>,
    /// Proxies and certificates: for calls that reach a server.
    network: Vec<(OsString, OsString)>,
    /// The caller's own git settings, such as what to ignore: for reading a repository as the caller sees it.
    personal: Vec<(OsString, OsString)>,
}

const ALWAYS: &[&str] = &["PATH", "TMPDIR"];
const NETWORK: &[&str] = &[
    "HTTPS_PROXY",
    "https_proxy",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];
const PERSONAL: &[&str] = &["HOME", "XDG_CONFIG_HOME"];

/// What every call is told, whatever the configuration of the machine, the caller or the repository says.
const SETTINGS: &[(&str, &str)] = &[
    // An empty helper forgets all helpers named before it.
    ("credential.helper", ""),
    ("core.askPass", ""),
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "keep"),
    ("core.logAllRefUpdates", "false"),
    // What is fetched is flushed as a whole before it is published.
    ("core.fsync", "none"),
    ("fetch.unpackLimit", "1"),
    ("fetch.writeCommitGraph", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("protocol.version", "2"),
    ("http.lowSpeedLimit", "100"),
    ("http.lowSpeedTime", "60"),
];

/// What one call may touch.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reach<'a> {
    /// Only the folder it starts in, with the settings of this module alone.
    Folder,
    /// Only the folder it starts in, as its owner would see it, but for some settings of filters.
    Personal {
        owner: Option<(u32, u32)>,
        filters: &'a [(String, String)],
    },
    /// A repository elsewhere on this machine.
    Disk,
    /// One server.
    Server {
        url: &'a str,
        credential: Option<&'a Credential>,
    },
}

#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) reach: Reach<'a>,
    pub(super) folder: &'a Path,
    /// Where that is not what git would find from `folder`.
    pub(super) git_dir: Option<&'a Path>,
    pub(super) arguments: Vec<OsString>,
    pub(super) limit: Duration,
}

#[derive(Debug)]
pub(super) struct Done {
    pub(super) success: bool,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
}

impl Environment {
    pub(super) fn pick(environment: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut picked = Self {
            always: Vec::new(),
            network: Vec::new(),
            personal: Vec::new(),
        };
        for (name, value) in environment {
            let is_in = |names: &[&str]| names.iter().any(|known| name == *known);
            if is_in(ALWAYS) {
                picked.always.push((name, value));
            } else if is_in(NETWORK) {
                picked.network.push((name, value));
            } else if is_in(PERSONAL) {
                picked.personal.push((name, value));
            }
        }
        picked.translate_certificates();
        picked
    }

    /// Some builds of git's HTTP library read the usual variables for certificates, others only git's own.
    fn translate_certificates(&mut self) {
        for (usual, own) in [
            ("SSL_CERT_FILE", "GIT_SSL_CAINFO"),
            ("SSL_CERT_DIR", "GIT_SSL_CAPATH"),
        ] {
            let find = |wanted: &str| self.network.iter().find(|(name, _)| name == wanted);
            if let (Some((_, value)), None) = (find(usual), find(own)) {
                self.network.push((own.into(), value.clone()));
            }
        }
    }
}

impl Call<'_> {
    pub(super) fn arguments<const N: usize>(texts: [&str; N]) -> Vec<OsString> {
        texts.iter().map(OsString::from).collect()
    }
}

impl Git {
    /// Runs git to its end, successful or not.
    pub(super) async fn run(&self, call: Call<'_>) -> Result<Done, Problem> {
        self.run_with(call, &[]).await
    }

    /// The same with something to read for git.
    async fn run_with(&self, call: Call<'_>, input: &[u8]) -> Result<Done, Problem> {
        let limit = call.limit;
        let mut command = self.command(&call);
        if !input.is_empty() {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().map_err(Problem::Start)?;
        let group = Group::of(&child);
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let stdin = child.stdin.take();
        let ended = async {
            tokio::join!(
                read(stdout, STDOUT_LIMIT),
                read(stderr, STDERR_LIMIT),
                child.wait(),
                write(stdin, input)
            )
        };
        let Ok((stdout, stderr, status, ())) = tokio::time::timeout(limit, Box::pin(ended)).await
        else {
            drop(group);
            // Killed, so this is soon; the limit is for a process stuck in the kernel.
            let reaped = tokio::time::timeout(Duration::from_secs(1), child.wait()).await;
            drop(reaped);
            return Err(Problem::TimedOut(limit));
        };
        group.forget();
        let folder = call.folder.to_owned();
        let failed = |source| Problem::Io {
            path: folder.clone(),
            source,
        };
        let stderr = String::from_utf8_lossy(&stderr.map_err(failed)?).into_owned();
        Ok(Done {
            success: status.map_err(failed)?.success(),
            stdout: stdout.map_err(failed)?,
            stderr: mask(stderr, call.reach),
        })
    }

    /// Runs git and takes anything but success as the problem that its messages tell of.
    pub(super) async fn succeed(&self, call: Call<'_>) -> Result<Vec<u8>, Problem> {
        self.succeed_with(call, &[]).await
    }

    /// The same with something to read for git.
    pub(super) async fn succeed_with(
        &self,
        call: Call<'_>,
        input: &[u8],
    ) -> Result<Vec<u8>, Problem> {
        let with_login = matches!(
            call.reach,
            Reach::Server {
                credential: Some(_),
                ..
            }
        );
        let done = self.run_with(call, input).await?;
        if done.success {
            Ok(done.stdout)
        } else {
            Err(message::diagnose(&done.stderr, with_login))
        }
    }

    fn command(&self, call: &Call<'_>) -> Command {
        let mut command = Command::new("git");
        command
            .args(&call.arguments)
            .current_dir(call.folder)
            .env_clear()
            .envs(
                self.environment
                    .always
                    .iter()
                    .map(|(name, value)| (name, value)),
            )
            .envs([
                ("LC_ALL", "C"),
                ("TZ", "UTC"),
                ("GIT_TERMINAL_PROMPT", "0"),
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_ATTR_NOSYSTEM", "1"),
                ("GIT_OPTIONAL_LOCKS", "0"),
                // A repository with holes must fail, not reach for its own server.
                ("GIT_NO_LAZY_FETCH", "1"),
                ("GIT_NO_REPLACE_OBJECTS", "1"),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .process_group(0);
        // Killed, atelier must not leave a transfer running that nobody wants.
        sys::die_with_parent(command.as_std_mut());
        if let Some(git_dir) = call.git_dir {
            command.env("GIT_DIR", git_dir);
        }
        self.allow(&mut command, call.reach);
        command
    }

    fn allow(&self, command: &mut Command, reach: Reach<'_>) {
        let mut settings = settings(reach);
        let nowhere = ("HOME", OsStr::new("/nonexistent"));
        match reach {
            Reach::Folder => {
                command
                    .envs([nowhere])
                    .env("GIT_CONFIG_GLOBAL", &self.trusting);
                command.env("GIT_ALLOW_PROTOCOL", "none");
            }
            Reach::Personal { owner: None, .. } => {
                command.envs(
                    self.environment
                        .personal
                        .iter()
                        .map(|(name, value)| (name, value)),
                );
                command.env("GIT_ALLOW_PROTOCOL", "none");
            }
            Reach::Personal {
                owner: Some((uid, gid)),
                ..
            } => {
                command
                    .envs([nowhere])
                    .env("GIT_ALLOW_PROTOCOL", "none")
                    .uid(uid)
                    .gid(gid);
            }
            Reach::Disk => {
                command
                    .envs([nowhere])
                    .env("GIT_CONFIG_GLOBAL", &self.trusting);
                command.env("GIT_ALLOW_PROTOCOL", "file");
            }
            Reach::Server { url, credential } => {
                command
                    .envs([nowhere])
                    .env("GIT_CONFIG_GLOBAL", "/dev/null");
                command.envs(
                    self.environment
                        .network
                        .iter()
                        .map(|(name, value)| (name, value)),
                );
                let (scheme, host) = scheme_and_host(url);
                command.env("GIT_ALLOW_PROTOCOL", scheme);
                if let Some(credential) = credential {
                    // Only for this host: a redirect elsewhere must not carry the token there.
                    settings.push((format!("credential.{scheme}://{host}.helper"), HELPER));
                    command.env("ATELIER_GIT_USER", &credential.user);
                    command.env("ATELIER_GIT_TOKEN", credential.token.expose_secret());
                }
            }
        }
        command.env("GIT_CONFIG_COUNT", settings.len().to_string());
        for (index, (name, value)) in settings.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{index}"), name);
            command.env(format!("GIT_CONFIG_VALUE_{index}"), value);
        }
    }
}

/// What a call is told, whatever it reaches.
fn settings(reach: Reach<'_>) -> Vec<(String, &str)> {
    let mut settings: Vec<(String, &str)> = SETTINGS
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value))
        .collect();
    if let Reach::Personal { filters, .. } = reach {
        // A folder that was cloned may be a repository itself, with a work tree and programs in its configuration.
        settings.push(("safe.bareRepository".to_owned(), "explicit"));
        let filters = filters.iter();
        settings.extend(filters.map(|(name, value)| (name.clone(), value.as_str())));
    }
    settings
}

/// The credential is in this helper's environment, never on a command line or in a file.
const HELPER: &str = r#"!f() { test "$1" = get && printf 'username=%s\npassword=%s\n' "$ATELIER_GIT_USER" "$ATELIER_GIT_TOKEN"; }; f"#;

fn scheme_and_host(url: &str) -> (&str, &str) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    (scheme, rest.split('/').next().unwrap_or(rest))
}

fn mask(text: String, reach: Reach<'_>) -> String {
    match reach {
        Reach::Server {
            credential: Some(credential),
            ..
        } => text.replace(credential.token.expose_secret(), "***"),
        _ => text,
    }
}

/// Writes all of it. Who ends before having read it says why by other means.
async fn write(pipe: Option<ChildStdin>, input: &[u8]) {
    if let Some(mut pipe) = pipe {
        pipe.write_all(input).await.ok();
    }
}

/// Reads to the end, but keeps no more than `limit` bytes: who writes more must not wait for ever.
async fn read(pipe: Option<impl AsyncRead + Unpin>, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    if let Some(mut pipe) = pipe {
        (&mut pipe).take(limit).read_to_end(&mut kept).await?;
        tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await?;
    }
    Ok(kept)
}

/// The path as an argument that is not taken for an option.
pub(super) fn argument(path: PathBuf) -> OsString {
    if path.is_absolute() {
        path.into()
    } else {
        Path::new("./").join(path).into()
    }
}
