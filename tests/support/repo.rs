//! Small repositories for tests, made with the machine's git as nobody has configured it.

use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) struct Repo(pub(crate) PathBuf);

impl Repo {
    pub(crate) fn init(path: &Path, arguments: &[&str]) -> Self {
        std::fs::create_dir_all(path).unwrap();
        let repo = Self(path.to_owned());
        repo.git(&[&["init", "--quiet", "--initial-branch=main"], arguments].concat());
        repo
    }

    /// Runs git in it and returns what it says, trimmed.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let (success, stdout, stderr) = self.try_git(arguments);
        assert!(success, "git {arguments:?}: {stderr}");
        stdout
    }

    pub(crate) fn try_git(&self, arguments: &[&str]) -> (bool, String, String) {
        let output = Command::new("git")
            .args(["-c", "protocol.file.allow=always"])
            .args(arguments)
            .current_dir(&self.0)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", "/nonexistent")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "A")
            .env("GIT_AUTHOR_EMAIL", "a@example.org")
            .env("GIT_COMMITTER_NAME", "A")
            .env("GIT_COMMITTER_EMAIL", "a@example.org")
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim().to_owned();
        (
            output.status.success(),
            text(output.stdout),
            text(output.stderr),
        )
    }

    /// Commits a file and returns the commit's id.
    pub(crate) fn commit(&self, file: &str, content: &str) -> String {
        let path = self.0.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", content]);
        self.git(&["rev-parse", "HEAD"])
    }
}
