//! The machine's git program, tamed: what it may read, reach and ask is decided here, for every call.
//!
//! Git is never asked to prompt, to run a hook, to remember a credential or to start something that outlives it. Its
//! environment is built from scratch. Knows nothing of the language, of keys or of where a repository lands.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::SecretString;

pub mod disk;
pub mod fetch;
mod lfs;
mod message;
mod name;
pub mod needs;
pub mod refs;
mod run;
mod submodules;
pub mod tree;
pub mod whole;

pub use disk::{Changes, OnDisk, Revision};
pub use fetch::Fetch;
pub use name::is_valid_ref;
pub use needs::Needs;
pub use refs::Refs;
pub use tree::Listed;
pub use whole::{Extras, Part};

/// How to call git on this machine.
#[derive(Clone, Debug)]
pub struct Git {
    /// What of the caller's environment git may see, by purpose; see [`run`].
    environment: run::Environment,
    /// A configuration that lets git read a repository of another user; see [`Git::new`].
    trusting: PathBuf,
}

/// What opens a remote repository that asks for a login.
#[derive(Clone, Debug)]
pub struct Credential {
    user: String,
    token: SecretString,
}

/// Where the commit is fetched from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepoLocation {
    Url(String),
    /// The root of a repository on disk.
    Disk(PathBuf),
}

/// Why a call of git failed. Never carries a credential.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation}: {problem}")]
pub struct GitError {
    /// Such as `read the refs of https://github.com/acme/web`.
    pub operation: String,
    #[source]
    pub problem: Problem,
}

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
    #[error("the server asks to slow down (HTTP 429)")]
    RateLimited,
    #[error("the server failed (HTTP {0})")]
    ServerFailed(u16),
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
    #[error("the server's certificate is not trusted: {0}")]
    Certificate(String),
    #[error("the repository is empty: it has no commit")]
    Empty,
    #[error("there is no {0}")]
    NoSuchReference(String),
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

/// What `upload-pack`, a process of its own, must be told to serve any commit of any user's repository. It sees neither
/// the command line nor `GIT_CONFIG_COUNT` of the fetch that started it, but it does read the global file.
const TRUSTING: &str = "[safe]\n\tdirectory = *\n[uploadpack]\n\tallowAnySHA1InWant = true\n";

impl Git {
    /// Prepares for calls. `state` is a folder for small files that may be lost; `environment` is the caller's.
    pub fn new(
        state: &Path,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, GitError> {
        let trusting = state.join("git-trusting.config");
        write_if_other(state, &trusting, TRUSTING.as_bytes()).map_err(|source| GitError {
            operation: "prepare git".to_owned(),
            problem: Problem::Io {
                path: trusting.clone(),
                source,
            },
        })?;
        Ok(Self {
            environment: run::Environment::pick(environment),
            trusting,
        })
    }
}

impl Git {
    /// What the machine's git says of itself, such as `git version 2.39.5`.
    pub async fn version(&self) -> Result<String, GitError> {
        let call = run::Call {
            reach: run::Reach::Folder,
            folder: Path::new("/"),
            git_dir: None,
            arguments: run::Call::arguments(["version"]),
            limit: Duration::from_secs(5),
        };
        let done = self.run(call).await.map_err(|problem| GitError {
            operation: "ask git for its version".to_owned(),
            problem,
        })?;
        Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
    }
}

/// Other processes may read the file at any moment, so it appears whole or not at all.
fn write_if_other(folder: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    if std::fs::read(path).is_ok_and(|there| there == content) {
        return Ok(());
    }
    std::fs::create_dir_all(folder)?;
    crate::draft::replace(path, content)
}

impl Credential {
    /// Reads a token, or `user:token`; `None` if it holds a line break, which git's protocol cannot carry.
    pub fn parse(text: &str, default_user: &str) -> Option<Self> {
        let (user, token) = text.split_once(':').unwrap_or((default_user, text));
        let broken = text.contains(['\n', '\r', '\0']) || token.is_empty();
        (!broken).then(|| Self {
            user: user.to_owned(),
            token: token.into(),
        })
    }
}

impl Credential {
    /// What must be found nowhere.
    pub fn token(&self) -> &SecretString {
        &self.token
    }
}

impl GitError {
    pub fn help(&self) -> String {
        self.problem.help()
    }
}

const KEEP_POINTERS: &str = ", or keep the pointers with `lfs=#false`";

impl Problem {
    /// Whether the same call may succeed a moment later.
    fn is_passing(&self) -> bool {
        matches!(self, Self::RateLimited | Self::ServerFailed(_))
    }

    /// The way out.
    pub fn help(&self) -> String {
        let text = match self {
            Self::Submodule { problem, .. } => return submodules::help(problem),
            Self::Unlisted => "add it with `git submodule add`",
            Self::Lfs { problem, .. } => return problem.help() + KEEP_POINTERS,
            Self::NoLfsProgram => return "install git-lfs".to_owned() + KEEP_POINTERS,
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
            Self::RateLimited => {
                "wait a little, or give the repository `auth=`, which raises the limit"
            }
            Self::ServerFailed(_) => "try again later",
            Self::Certificate(_) => "name the CA that signed it in GIT_SSL_CAINFO or SSL_CERT_FILE",
            Self::Empty => "commit something, and push it if the repository is a server's",
            Self::NoSuchReference(_) => "check its spelling, or push it",
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

#[cfg(test)]
mod tests {
    use super::Credential;

    #[test]
    fn a_credential_is_a_token_or_a_user_and_a_token() {
        let plain = Credential::parse("ghp_1", "x-access-token").unwrap();
        assert_eq!(plain.user, "x-access-token");
        let named = Credential::parse("me:ghp:1", "x-access-token").unwrap();
        assert_eq!(named.user, "me");
        assert!(!format!("{named:?}").contains("ghp"));
        assert!(Credential::parse("a\nhost=evil", "u").is_none());
        assert!(Credential::parse("", "u").is_none());
    }
}
