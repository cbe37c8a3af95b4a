//! Why a registry did not give what was asked of it. Never carries a credential, or a URL, which may hold one.

use std::io;
use std::time::Duration;

use crate::oci::{Digest, OciError};

/// A fault, and whose it is.
#[derive(Debug, thiserror::Error)]
#[error("{registry} {fault}")]
pub struct RegistryError {
    /// The registry's name.
    pub registry: String,
    #[source]
    pub fault: Fault,
}

/// Each reads on from the registry's name.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("asks for a login, or has no such image")]
    LoginNeeded(Box<Sought>),
    #[error("refuses the login of {login}")]
    LoginRefused { login: String, sought: Box<Sought> },
    #[error("denies access (HTTP 403)")]
    Denied(Box<Sought>),
    #[error("has no such image or tag")]
    NotFound,
    #[error("asks to slow down (HTTP 429){}", wait(*.0))]
    RateLimited(Option<Duration>),
    #[error("failed (HTTP {status})")]
    ServerFailed {
        status: u16,
        retry_after: Option<Duration>,
    },
    #[error("refused the request (HTTP {0})")]
    Refused(u16),
    #[error("did not answer within {} s", .0.as_secs_f32())]
    TimedOut(Duration),
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    #[error("lost the connection: {0}")]
    Lost(String),
    #[error("has a certificate that is not trusted: {0}")]
    Certificate(String),
    #[error("does not speak HTTPS")]
    Plain,
    #[error("sent something else than {expected}: its digest is {found}")]
    Digest { expected: Digest, found: Digest },
    #[error("answered what cannot be understood: {0}")]
    Garbled(String),
    #[error("has an image that cannot be used: {0}")]
    Image(#[source] OciError),
    #[error("cannot be asked: {0}")]
    Settings(String),
    /// What was got cannot be kept.
    #[error("was asked, but the store cannot be written to: {0}")]
    Store(#[source] io::Error),
}

/// Where logins were looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sought {
    /// What to log in to.
    pub registry: String,
    /// The files, whether they are there or not.
    pub files: Vec<String>,
    /// What went wrong meanwhile.
    pub troubles: Vec<String>,
    /// Whether the files are those of `podman login`.
    pub podman: bool,
}

fn wait(time: Option<Duration>) -> String {
    time.map_or(String::new(), |time| format!(" for {} s", time.as_secs()))
}

impl Fault {
    /// Whether the same request may succeed a moment later.
    pub(super) fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::RateLimited(_) | Self::ServerFailed { .. } | Self::Lost(_)
        )
    }

    /// Whether the connection is at fault, and what was got so far is worth going on from.
    pub(super) fn is_of_connection(&self) -> bool {
        matches!(
            self,
            Self::Lost(_) | Self::TimedOut(_) | Self::Unreachable(_)
        )
    }

    /// How long the registry wants to be left alone.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited(time)
            | Self::ServerFailed {
                retry_after: time, ..
            } => *time,
            _ => None,
        }
    }

    /// The way out.
    pub fn help(&self) -> String {
        let text = match self {
            Self::LoginNeeded(sought) => return sought.help("check the name"),
            Self::LoginRefused { sought, .. } => {
                return sought.help("the login is wrong or has expired");
            }
            Self::Denied(sought) => {
                return sought.help("check the name, and that the login may read it");
            }
            Self::NotFound => "check the registry, the repository and the tag",
            Self::RateLimited(_) => {
                "wait a little, or log in, which raises the limit of some registries"
            }
            Self::ServerFailed { .. } | Self::Lost(_) => "try again later",
            Self::Refused(_) | Self::Garbled(_) => {
                "check that the host is a registry; some proxies answer in its place"
            }
            Self::TimedOut(_) | Self::Unreachable(_) => {
                "check the network, the proxy variables and the registry's name"
            }
            Self::Plain => {
                "if plain HTTP is all it has, say so in your own config.kdl: registry \"HOST\" http=#true"
            }
            Self::Certificate(_) => {
                "name the CA that signed it, in your own config.kdl: registry \"HOST\" ca=\"~/ca.pem\""
            }
            Self::Digest { .. } => {
                "try again; if it stays, something between here and the registry changes what it sends"
            }
            Self::Image(OciError::Platform { .. }) => {
                "name an image for that platform, or say `platform=`"
            }
            Self::Image(_) => "name another image, or push it again",
            Self::Settings(_) => "mend what the configuration says of this registry",
            Self::Store(_) => {
                "see that the store can be written to and has room, or use another one with --store DIR"
            }
        };
        text.to_owned()
    }
}

impl Sought {
    fn help(&self, first: &str) -> String {
        let program = if self.podman { "podman" } else { "docker" };
        let mut text = format!("{first}; `{program} login {}` logs in", self.registry);
        if !self.files.is_empty() {
            text = format!("{text}; looked in {}", self.files.join(", "));
        }
        for trouble in &self.troubles {
            text = format!("{text}; {trouble}");
        }
        text
    }
}
