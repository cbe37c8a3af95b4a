//! What one call of git may touch: folders, a server, the caller's settings. Everything else is closed, whatever the machine,
//! the caller or a repository says.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::PathBuf;

use secrecy::ExposeSecret;
use tokio::process::Command;

use super::{Credential, Git, Problem};

/// How one server is reached, by the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// What stands beside a token.
    pub user: Option<String>,
    /// The certificates that vouch for it, in a file; no others do.
    pub ca: Option<PathBuf>,
}

/// What GitHub and GitLab take beside a token.
const USER: &str = "x-access-token";

/// The part of the caller's environment that git may see.
#[derive(Clone, Debug)]
pub(super) struct Environment {
    /// For every call.
    pub(super) always: Vec<(OsString, OsString)>,
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

impl Git {
    pub(super) fn allow(&self, command: &mut Command, reach: Reach<'_>) -> Result<(), Problem> {
        let mut settings = settings(reach);
        let nowhere = ("HOME", OsStr::new("/nonexistent"));
        match reach {
            Reach::Folder => {
                command
                    .envs([nowhere])
                    .env("GIT_CONFIG_GLOBAL", &self.trusting)
                    .env("GIT_ALLOW_PROTOCOL", "none");
            }
            Reach::Personal { owner: None, .. } => {
                // Debian's git-lfs, for one, is a filter of the system's configuration.
                command.env_remove("GIT_CONFIG_NOSYSTEM");
                let personal = self.environment.personal.iter();
                command
                    .envs(personal.map(|(name, value)| (name, value)))
                    .env("GIT_ALLOW_PROTOCOL", "none");
            }
            Reach::Personal {
                owner: Some((uid, gid)),
                ..
            } => {
                command.env_remove("GIT_CONFIG_NOSYSTEM");
                command
                    .envs([nowhere])
                    .env("GIT_ALLOW_PROTOCOL", "none")
                    .uid(uid)
                    .gid(gid);
            }
            Reach::Disk => {
                command
                    .envs([nowhere])
                    .env("GIT_CONFIG_GLOBAL", &self.trusting)
                    .env("GIT_ALLOW_PROTOCOL", "file");
            }
            Reach::Server { url, credential } => {
                command
                    .envs([nowhere])
                    .env("GIT_CONFIG_GLOBAL", "/dev/null");
                self.allow_server(command, &mut settings, url, credential)?;
            }
        }
        command.env("GIT_CONFIG_COUNT", settings.len().to_string());
        for (index, (name, value)) in settings.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{index}"), name);
            command.env(format!("GIT_CONFIG_VALUE_{index}"), value);
        }
        Ok(())
    }

    fn allow_server(
        &self,
        command: &mut Command,
        settings: &mut Vec<(String, OsString)>,
        url: &str,
        credential: Option<&Credential>,
    ) -> Result<(), Problem> {
        let (scheme, name) = scheme_and_host(url);
        command.env("GIT_ALLOW_PROTOCOL", scheme);
        // The one way to see the headers of an answer, and what git-lfs is waiting for. Logins are left out of it.
        command.envs([
            ("GIT_TRACE", "1"),
            ("GIT_TRACE_CURL", "1"),
            ("GIT_TRACE_CURL_NO_DATA", "1"),
            ("GIT_TRACE_REDACT", "1"),
        ]);
        for (name, value) in &self.environment.network {
            // As variables they would go before what is said of one host.
            let setting = match name.to_str() {
                Some("GIT_SSL_CAINFO") => "http.sslCAInfo",
                Some("GIT_SSL_CAPATH") => "http.sslCAPath",
                _ => {
                    command.env(name, value);
                    continue;
                }
            };
            settings.push((setting.to_owned(), value.clone()));
        }
        let host = self.hosts.get(name);
        if let Some(ca) = host.and_then(|host| host.ca.as_ref()) {
            let opened = File::open(ca);
            opened.map_err(|source| Problem::NoAuthority {
                path: ca.clone(),
                source,
            })?;
            let setting = format!("http.{scheme}://{name}/.sslCAInfo");
            settings.push((setting, ca.into()));
        }
        if let Some(credential) = credential {
            let of_host = host.and_then(|host| host.user.as_deref());
            let user = credential.user.as_deref().or(of_host).unwrap_or(USER);
            // Only for this host: a redirect elsewhere must not carry the token there.
            settings.push((
                format!("credential.{scheme}://{name}.helper"),
                HELPER.into(),
            ));
            command.env("ATELIER_GIT_USER", user);
            command.env("ATELIER_GIT_TOKEN", credential.token.expose_secret());
        }
        Ok(())
    }
}

/// What a call is told, whatever it reaches.
fn settings(reach: Reach<'_>) -> Vec<(String, OsString)> {
    let mut settings: Vec<(String, OsString)> = SETTINGS
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.into()))
        .collect();
    if let Reach::Personal { filters, .. } = reach {
        // A folder that was cloned may be a repository itself, with a work tree and programs in its configuration.
        settings.push(("safe.bareRepository".to_owned(), "explicit".into()));
        let filters = filters.iter();
        settings.extend(filters.map(|(name, value)| (name.clone(), value.into())));
    }
    settings
}

/// The credential is in this helper's environment, never on a command line or in a file.
const HELPER: &str = r#"!f() { test "$1" = get && printf 'username=%s\npassword=%s\n' "$ATELIER_GIT_USER" "$ATELIER_GIT_TOKEN"; }; f"#;

fn scheme_and_host(url: &str) -> (&str, &str) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    (scheme, rest.split('/').next().unwrap_or(rest))
}
