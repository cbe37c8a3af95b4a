//! The machine's git program, tamed: what it may read, reach and ask is decided here, for every call.
//!
//! Git is never asked to prompt, to run a hook, to remember a credential or to start something that outlives it. Its
//! environment is built from scratch. Knows nothing of the language, of keys or of where a repository lands.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

pub mod disk;
pub mod fetch;
mod lfs;
mod message;
mod name;
pub mod needs;
mod problem;
mod reach;
pub mod refs;
pub mod revision;
mod run;
mod submodules;
mod trace;
pub mod tree;
pub mod whole;

pub use disk::{Changes, OnDisk, Revision};
pub use fetch::Fetch;
pub use name::is_valid_ref;
pub use needs::Needs;
pub use problem::Problem;
pub use reach::Host;
pub use refs::Refs;
pub use revision::AtCommit;
pub use tree::Listed;
pub use whole::{Extras, Part};

/// How to call git on this machine.
#[derive(Clone, Debug)]
pub struct Git {
    /// What of the caller's environment git may see, by purpose; see [`reach`].
    environment: reach::Environment,
    /// A configuration that lets git read a repository of another user; see [`Git::new`].
    trusting: PathBuf,
    /// How servers are reached, by host, with the port if that is another one.
    hosts: BTreeMap<String, Host>,
    /// What servers have said a moment ago, to this value or one that it was cloned from.
    remembered: refs::Remembered,
}

/// What opens a remote repository that asks for a login.
#[derive(Clone, Debug)]
pub struct Credential {
    /// Without one, the one of the server.
    user: Option<String>,
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
            environment: reach::Environment::pick(environment),
            trusting,
            hosts: BTreeMap::new(),
            remembered: refs::Remembered::default(),
        })
    }

    /// How some servers are reached, by host, with the port if that is another one.
    #[must_use]
    pub fn with_hosts(mut self, hosts: BTreeMap<String, Host>) -> Self {
        self.hosts = hosts;
        self
    }
}

impl Git {
    /// What the machine's git says of itself, such as `git version 2.39.5`.
    pub async fn version(&self) -> Result<String, GitError> {
        let call = run::Call {
            reach: reach::Reach::Folder,
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
    pub fn parse(text: &str) -> Option<Self> {
        let (user, token) = match text.split_once(':') {
            Some((user, token)) => (Some(user.to_owned()), token),
            None => (None, text),
        };
        let broken = text.contains(['\n', '\r', '\0']) || token.is_empty();
        (!broken).then(|| Self {
            user,
            token: token.into(),
        })
    }
}

impl Credential {
    /// Tells logins apart.
    fn digest(&self) -> [u8; 32] {
        let user = self.user.as_deref().unwrap_or_default();
        let text = format!("{user}\0{}", self.token.expose_secret());
        *blake3::hash(text.as_bytes()).as_bytes()
    }

    /// What must be found nowhere.
    pub fn token(&self) -> &SecretString {
        &self.token
    }

    pub(crate) fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }
}

impl GitError {
    pub fn help(&self) -> String {
        self.problem.help()
    }
}

#[cfg(test)]
mod tests {
    use super::Credential;

    #[test]
    fn a_credential_is_a_token_or_a_user_and_a_token() {
        let plain = Credential::parse("ghp_1").unwrap();
        assert_eq!(plain.user, None);
        let named = Credential::parse("me:ghp:1").unwrap();
        assert_eq!(named.user.as_deref(), Some("me"));
        assert!(!format!("{named:?}").contains("ghp"));
        assert!(Credential::parse("a\nhost=evil").is_none());
        assert!(Credential::parse("").is_none());
    }
}
