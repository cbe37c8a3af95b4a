//! What can be wrong when git is asked for something, each with a way out.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::submodules;

#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("git cannot be started: {0}")]
    Start(#[source] io::Error),
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("no answer within {} s", .0.as_secs_f32())]
    TimedOut(Duration),
    #[error("the server says there is no such repository")]
    NotFound,
    #[error("the repository does not exist, or asks for a login")]
    LoginNeeded,
    #[error("the server refused the login")]
    LoginRefused,
    #[error("the server denies access (HTTP 403)")]
    Denied,
    #[error("the server asks to slow down (HTTP 429){}", waiting(*.0))]
    RateLimited(Option<Duration>),
    #[error("the server failed (HTTP {code}){}", waiting(*retry_after))]
    ServerFailed {
        code: u16,
        retry_after: Option<Duration>,
    },
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
    #[error("the server's answer ended too early: {0}")]
    CutOff(String),
    #[error("the server's certificate is not trusted: {0}")]
    Certificate(String),
    #[error("the certificates in {}, which the configuration names, cannot be read: {source}", path.display())]
    NoAuthority { path: PathBuf, source: io::Error },
    #[error("the repository is empty: it has no commit")]
    Empty,
    #[error("there is no {0}")]
    NoSuchReference(String),
    #[error("several of its commits begin with {0}")]
    Ambiguous(String),
    #[error("its HEAD names no branch")]
    NoDefaultBranch,
    #[error("commit {0} is gone (force-pushed?)")]
    CommitGone(String),
    #[error("{0} is not a commit")]
    NotACommit(String),
    #[error("the server hands out no commit by its id")]
    RefusesCommit,
    #[error("the repository itself has only part of its history")]
    Shallow,
    #[error("submodule {path}: {problem}")]
    Submodule { path: String, problem: Box<Problem> },
    #[error("it has no entry in .gitmodules")]
    Unlisted,
    #[error("it keeps files in LFS, and there is no git-lfs")]
    NoLfsProgram,
    /// Of a file that is kept in LFS.
    #[error("the content of {path}, which is kept in LFS: {problem}")]
    Lfs { path: String, problem: Box<Problem> },
    /// Of a file of a repository on this machine.
    #[error("the content of {0}, which is kept in LFS, is not on this machine")]
    LfsNotHere(String),
    #[error("the server does not have it")]
    NoLfsObject,
    #[error("there is no LFS server to ask: {0}")]
    NoLfsServer(String),
    /// A submodule of a repository on disk that is neither there nor anywhere else.
    #[error("{0}")]
    NotOnDisk(String),
    /// What a repository's content asks for and must not get.
    #[error("{0}")]
    Unsafe(String),
    #[error("{} is not in a git repository", .0.display())]
    NotARepository(PathBuf),
    #[error("`{0}` is not the name of a ref")]
    BadName(String),
    #[error("git answered what cannot be understood: {0}")]
    Garbled(String),
    #[error("{0}")]
    Other(String),
}

fn waiting(time: Option<Duration>) -> String {
    time.map_or(String::new(), |time| format!(", for {} s", time.as_secs()))
}

const KEEP_POINTERS: &str = ", or keep the pointers with `lfs=#false`";

impl Problem {
    /// Whether the same call may succeed a moment later.
    pub(super) fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::RateLimited(_) | Self::ServerFailed { .. } | Self::CutOff(_)
        )
    }

    /// How long the server wants to be left alone.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited(time) => *time,
            Self::ServerFailed { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// The same, with what the server said beside it.
    pub(super) fn waiting(self, time: Option<Duration>) -> Self {
        match self {
            Self::RateLimited(_) => Self::RateLimited(time),
            Self::ServerFailed { code, .. } => Self::ServerFailed {
                code,
                retry_after: time,
            },
            other => other,
        }
    }

    /// The way out.
    pub fn help(&self) -> String {
        let text = match self {
            Self::Submodule { problem, .. } => return submodules::help(problem),
            Self::Unlisted => "add it with `git submodule add`",
            Self::Lfs { problem, .. } => return problem.help() + KEEP_POINTERS,
            Self::NoLfsProgram => return "install git-lfs".to_owned() + KEEP_POINTERS,
            Self::LfsNotHere(_) => "get it with `git lfs fetch`",
            Self::NoLfsObject => "run `git lfs push --all` where it is",
            Self::NoLfsServer(_) => "see that the server has LFS switched on",
            Self::NotOnDisk(_) => "run `git submodule update --init` in the repository",
            Self::Unsafe(_) => "change it in the repository",
            Self::Start(_) => "install git, and see that it is in PATH",
            Self::Io { .. } => "see that the folder exists and is readable",
            Self::TimedOut(_) | Self::Unreachable(_) => {
                "check the network, the proxy variables and the host's name, then try again"
            }
            Self::NotFound => "check the URL",
            Self::LoginNeeded => {
                "check the URL; for a private repository declare `secret NAME`, write `auth=NAME` and give `--secret NAME=env:VAR`"
            }
            Self::LoginRefused | Self::Denied => {
                "check that the token is valid and may read this repository"
            }
            Self::RateLimited(_) => {
                "wait a little, or give the repository `auth=`, which raises the limit"
            }
            Self::ServerFailed { .. } | Self::CutOff(_) => "try again later",
            Self::Certificate(_) => {
                "name the CA that signed it with `git HOST ca=` in config.kdl, in GIT_SSL_CAINFO or in SSL_CERT_FILE"
            }
            Self::NoAuthority { .. } => "put it there, or change `git HOST ca=` in config.kdl",
            Self::Empty => "commit something, and push it if the repository is a server's",
            Self::NoSuchReference(_) => "check its spelling, or push it",
            Self::Ambiguous(_) => "give more digits",
            Self::NoDefaultBranch => "say which branch with `branch=`",
            Self::CommitGone(_) => {
                "run again to take the ref's new commit, after `atelier update` if it is locked; or name another commit"
            }
            Self::NotACommit(_) => "name the id of a commit",
            Self::RefusesCommit => "name a branch or tag that contains the commit",
            Self::Shallow => "run `git fetch --unshallow` in it, or ask for `depth=1`",
            Self::NotARepository(_) => {
                "run `git init` and commit, or name the folder of a repository"
            }
            Self::BadName(_) => "name a branch or tag as git writes it, without `refs/`",
            Self::Garbled(_) | Self::Other(_) => "run the same git command by hand to see more",
        };
        text.to_owned()
    }
}
