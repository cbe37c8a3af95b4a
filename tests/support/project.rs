//! A project in a git repository of its own, with a store of its own, and the program run on it.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Longer than anything here takes, so that a test that hangs fails.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// Commands that touch no store.
const STORELESS: [&str; 5] = ["key", "doc", "fmt", "lint", "lsp"];

pub(crate) struct Project {
    /// Holds all the rest.
    _folder: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) store: PathBuf,
    pub(crate) home: PathBuf,
}

impl Project {
    /// A repository without a commit.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (root, home) = (folder.path().join("project"), folder.path().join("home"));
        let store = folder.path().join("store");
        for folder in [&root, &home] {
            fs::create_dir(folder).unwrap();
        }
        let project = Self {
            _folder: folder,
            root,
            store,
            home,
        };
        project.git(&["init", "--quiet", "--initial-branch=main"]);
        project
    }

    /// The same project with another store.
    pub(crate) fn with_store(mut self, store: &Path) -> Self {
        store.clone_into(&mut self.store);
        self
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Commits everything and returns the commit's id.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = self
            .command("git")
            .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
            .args(arguments)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "git {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.root)
            .env_clear()
            .env("HOME", &self.home);
        command.env("PATH", std::env::var_os("PATH").unwrap());
        // The registries that examples install from may be behind a proxy.
        for name in [
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "NO_PROXY",
            "http_proxy",
            "https_proxy",
            "no_proxy",
        ] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command
    }

    /// The program with these words, to be changed further before it runs.
    pub(crate) fn atelier(&self, words: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_atelier"));
        command.args(&words[..1]);
        if !STORELESS.contains(&words[0]) {
            command.arg("--store").arg(&self.store);
        }
        command.args(&words[1..]).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        self.run_command(self.atelier(words))
    }

    pub(crate) fn run_command(&self, command: Command) -> Ran {
        self.start_command(command).wait()
    }

    pub(crate) fn start_command(&self, mut command: Command) -> Running<'_> {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, lines) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            // Whoever listens may have seen enough.
            stderr
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| to.send(line))
                .ok();
        });
        let mut stdout = child.stdout.take().unwrap();
        let stdout = std::thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).unwrap();
            text
        });
        Running {
            project: self,
            child,
            lines,
            stderr: String::new(),
            stdout: Some(stdout),
        }
    }

    /// Builds, and returns the nodes' names with what became of them.
    pub(crate) fn build(&self, words: &[&str]) -> Vec<(String, String)> {
        let ran = self.run(&[&["build", "--json"], words].concat());
        assert_eq!(ran.code(), 0, "{ran:?}");
        ran.column("result")
    }

    /// Plans, and returns the nodes' names with what would become of them.
    pub(crate) fn plan(&self, words: &[&str]) -> Vec<(String, String)> {
        let ran = self.run(&[&["plan", "--json"], words].concat());
        assert_eq!(ran.code(), 0, "{ran:?}");
        ran.column("action")
    }
}

/// The program, running.
pub(crate) struct Running<'a> {
    project: &'a Project,
    pub(crate) child: Child,
    pub(crate) lines: Receiver<String>,
    /// What of `lines` was taken.
    pub(crate) stderr: String,
    stdout: Option<std::thread::JoinHandle<String>>,
}

impl Running<'_> {
    pub(crate) fn wait(self) -> Ran {
        self.wait_for(PATIENCE)
    }

    pub(crate) fn wait_for(mut self, patience: Duration) -> Ran {
        let status = self.end(patience);
        let stdout = self.stdout.take().unwrap().join().unwrap();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            writeln!(self.stderr, "{line}").unwrap();
        }
        let root = self.project.root.to_str().unwrap();
        let store = self.project.store.to_str().unwrap();
        let stderr = self
            .stderr
            .replace(root, "[project]")
            .replace(store, "[store]");
        Ran {
            status,
            stdout,
            stderr: unnamed_logs(&stderr),
        }
    }

    fn end(&mut self, patience: Duration) -> ExitStatus {
        let began = Instant::now();
        loop {
            match self.child.try_wait().unwrap() {
                Some(status) => return status,
                None if began.elapsed() < patience => std::thread::sleep(Duration::from_millis(10)),
                None => {
                    self.child.kill().unwrap();
                    panic!(
                        "it does not end:\n{}",
                        self.lines.try_iter().collect::<Vec<_>>().join("\n")
                    );
                }
            }
        }
    }
}

/// How a run of the program ended. Paths in `stderr` are written `[project]`, `[store]` and `[log]`.
#[derive(Debug)]
pub(crate) struct Ran {
    status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The exit code, or minus the signal.
    pub(crate) fn code(&self) -> i32 {
        self.status
            .code()
            .unwrap_or_else(|| -self.status.signal().unwrap())
    }

    /// Fails unless it ended so.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(
            self.code(),
            code,
            "stdout:\n{}\nstderr:\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).expect("JSON on stdout")
    }

    /// Each node's name with one of its fields.
    pub(crate) fn column(&self, field: &str) -> Vec<(String, String)> {
        let json = self.json();
        let nodes = json["nodes"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        nodes
            .map(|node| (text(&node["name"]), text(&node[field])))
            .collect()
    }
}

/// Logs have random names.
fn unnamed_logs(text: &str) -> String {
    let mut rest = text;
    let mut whole = String::new();
    while let Some((before, after)) = rest.split_once("[store]/logs/") {
        let end = after.find(".log").map_or(after.len(), |end| end + 4);
        whole = whole + before + "[log]";
        rest = &after[end..];
    }
    whole + rest
}

/// Pairs of texts, for comparing with what [`Project::build`] and [`Project::plan`] return.
pub(crate) fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
        .collect()
}
