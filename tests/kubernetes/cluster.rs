//! A project, the program, and a look at the cluster.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{OnceLock, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Held to read by whoever needs the cluster whole, and to write by whoever hurts it.
static CLUSTER: RwLock<()> = RwLock::new(());

pub(crate) fn whole() -> RwLockReadGuard<'static, ()> {
    CLUSTER
        .read()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

pub(crate) fn alone() -> RwLockWriteGuard<'static, ()> {
    CLUSTER
        .write()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A folder with a file, and a store of its own: a machine.
pub(crate) struct Machine {
    folder: TempDir,
}

/// What a program said, and how it ended.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Machine {
    /// `KEY` in the file is another word each time, so that every test has keys of its own.
    pub(crate) fn with(file: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let word = folder.path().file_name().unwrap().to_str().unwrap();
        let word: String = word.chars().filter(char::is_ascii_alphanumeric).collect();
        std::fs::write(
            folder.path().join("prebuild.kdl"),
            file.replace("KEY", &word),
        )
        .unwrap();
        Self { folder }
    }

    /// Another machine with the same file.
    pub(crate) fn other(&self) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(
            self.path().join("prebuild.kdl"),
            folder.path().join("prebuild.kdl"),
        )
        .unwrap();
        Self { folder }
    }

    /// The folder of a configuration that is the cluster's own but for what is changed in it.
    pub(crate) fn configure(&self, change: impl FnOnce(String) -> String) -> std::path::PathBuf {
        let own = std::env::var_os("XDG_CONFIG_HOME").unwrap();
        let text = std::fs::read_to_string(Path::new(&own).join("atelier/config.kdl")).unwrap();
        let folder = self.path().join("config");
        std::fs::create_dir_all(folder.join("atelier")).unwrap();
        std::fs::write(folder.join("atelier/config.kdl"), change(text)).unwrap();
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn command(&self, command: &str, arguments: &[&str]) -> Command {
        self.command_on("kubernetes", command, arguments)
    }

    pub(crate) fn command_on(&self, backend: &str, command: &str, arguments: &[&str]) -> Command {
        let mut call = Command::new(env!("CARGO_BIN_EXE_atelier"));
        call.arg(command)
            .args(["--backend", backend, "--store"])
            .arg(self.path().join("store"))
            .args(arguments)
            .current_dir(self.path())
            .stdin(Stdio::null());
        call
    }

    pub(crate) fn run(&self, command: &str, arguments: &[&str]) -> Said {
        self.command(command, arguments).output().unwrap().into()
    }

    /// Runs a command that has to succeed; returns what it printed.
    pub(crate) fn good(&self, command: &str, arguments: &[&str]) -> String {
        let said = self.run(command, arguments);
        assert_eq!(
            said.code,
            Some(0),
            "{command} {arguments:?}: {}{}",
            said.out,
            said.err
        );
        said.out
    }

    /// Starts a build whose output can be waited for.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        self.start_with(arguments, &[])
    }

    /// The same, with variables.
    pub(crate) fn start_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Running {
        let path = self.path().join("output");
        let file = std::fs::File::create_new(&path).unwrap();
        let mut call = self.command("build", arguments);
        call.envs(variables.iter().copied());
        call.stdout(file.try_clone().unwrap()).stderr(file);
        Running {
            child: call.spawn().unwrap(),
            output: path,
        }
    }
}

impl Machine {
    /// Makes a repository with one commit, and one file that is called like its folder.
    pub(crate) fn repository(&self, name: &str) {
        let folder = self.path().join(name);
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.arg("-C").arg(&folder);
            git.args(["-c", "user.name=a", "-c", "user.email=a@b"]);
            assert!(git.args(arguments).status().unwrap().success());
        };
        std::fs::create_dir(&folder).unwrap();
        git(&["init", "-q"]);
        std::fs::write(folder.join(name), "content").unwrap();
        git(&["add", "."]);
        git(&["commit", "-qm", "one"]);
    }
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

pub(crate) struct Running {
    child: Child,
    output: std::path::PathBuf,
}

impl Running {
    pub(crate) fn output(&self) -> String {
        std::fs::read_to_string(&self.output).unwrap()
    }

    /// Waits for a line of output that ends so.
    pub(crate) fn until(&self, line: &str) {
        wait(
            &format!("`{line}` in the output"),
            Duration::from_mins(2),
            || self.output().lines().any(|told| told.ends_with(line)),
        );
    }

    /// Waits until this is somewhere in the output.
    pub(crate) fn until_said(&self, text: &str) {
        wait(
            &format!("`{text}` in the output"),
            Duration::from_mins(2),
            || self.output().contains(text),
        );
    }

    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status();
        assert!(sent.unwrap().success());
    }

    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        (code, self.output())
    }
}

pub(crate) fn wait(what: &str, limit: Duration, done: impl Fn() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < limit, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// What kubectl prints.
pub(crate) fn kubectl(arguments: &[&str]) -> String {
    let output = Command::new("kubectl")
        .args(["-n", "atelier"])
        .args(arguments)
        .output();
    let output =
        output.expect("tests/cluster/up, then tests/cluster/enter cargo test --test kubernetes");
    let said = Said::from(output);
    assert_eq!(said.code, Some(0), "kubectl {arguments:?}: {}", said.err);
    said.out
}

/// Applies a manifest.
pub(crate) fn apply(manifest: &str) {
    use std::io::Write;
    let mut child = Command::new("kubectl")
        .args(["-n", "atelier", "apply", "-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(manifest.as_bytes())
        .unwrap();
    assert!(child.wait().unwrap().success(), "{manifest}");
}

/// The objects of a bake, of every kind, but for published snapshots.
pub(crate) fn litter(key: &str) -> Vec<String> {
    let of = format!("atelier.dev/of=bake-{}", &key[..12]);
    let kinds = "pods,persistentvolumeclaims,leases,configmaps,secrets";
    let mut found = kubectl(&["get", kinds, "-l", &of, "-o", "name"]);
    let unpublished = format!("{of},!atelier.dev/key");
    found += &kubectl(&["get", "volumesnapshots", "-l", &unpublished, "-o", "name"]);
    found.lines().map(str::to_owned).collect()
}

/// Everything of a bake in the cluster but its published snapshot: objects of every kind that there is, what stands for volumes and
/// snapshots, and what waits for a finalizer.
pub(crate) fn remains(key: &str) -> Vec<String> {
    static KINDS: OnceLock<String> = OnceLock::new();
    let kinds = KINDS.get_or_init(|| {
        let all = [
            "api-resources",
            "--verbs=list",
            "--namespaced",
            "-o",
            "name",
        ];
        let kinds = kubectl(&all).lines().collect::<Vec<_>>().join(",");
        assert!(
            kinds.contains("leases") && kinds.contains("volumesnapshots"),
            "{kinds}"
        );
        kinds
    });
    let of = format!("atelier.dev/of=bake-{}", &key[..12]);
    let name = "jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.deletionTimestamp}{'\\n'}{end}";
    let mut found: Vec<String> = lines(&kubectl(&["get", kinds, "-l", &of, "-o", name]));
    // Its preimage belongs to the snapshot.
    found.retain(|line| {
        let is_published = line.starts_with(&format!("VolumeSnapshot/snap-{}", &key[..12]));
        let is_of_it = line.starts_with("ConfigMap/");
        !line.ends_with(' ') || !(is_published || is_of_it)
    });
    let claims =
        "jsonpath={range .items[*]}{.kind}/{.metadata.name} {.spec.claimRef.name}{'\\n'}{end}";
    let contents = "jsonpath={range .items[*]}{.kind}/{.metadata.name} {.spec.volumeSnapshotRef.name}{'\\n'}{end}";
    found.extend(lines(&kubectl(&["get", "persistentvolumes", "-o", claims])));
    let contents = lines(&kubectl(&["get", "volumesnapshotcontents", "-o", contents]));
    let published: Vec<String> = published(key)
        .iter()
        .map(|name| name.rsplit('/').next().unwrap().to_owned())
        .collect();
    let is_kept = |line: &String| {
        published
            .iter()
            .any(|name| line.ends_with(&format!(" {name}")))
    };
    found.extend(contents.into_iter().filter(|line| !is_kept(line)));
    found.retain(|line| line.contains(&key[..12]));
    found
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// The names of the published snapshots of a key.
pub(crate) fn published(key: &str) -> Vec<String> {
    let of = format!("atelier.dev/of=bake-{},atelier.dev/key", &key[..12]);
    let found = kubectl(&["get", "volumesnapshots", "-l", &of, "-o", "name"]);
    found.lines().map(str::to_owned).collect()
}

impl Machine {
    /// The key of a target, in hexadecimal digits.
    pub(crate) fn key(&self, target: &str) -> String {
        let plan = self.good("plan", &["--json", target]);
        let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
        let nodes = plan["nodes"].as_array().unwrap();
        let node = nodes.iter().find(|node| node["name"] == target).unwrap();
        node["key"].as_str().unwrap().to_owned()
    }
}

/// How many pods of these keys have ever come to a node.
pub(crate) fn pods_ever(keys: &[String]) -> usize {
    let of = "jsonpath={range .items[*]}{.involvedObject.name}{'\\n'}{end}";
    let scheduled = ["--field-selector", "reason=Scheduled", "-o", of];
    let events = kubectl(&[&["get", "events"][..], &scheduled].concat());
    let is_of = |line: &&str| keys.iter().any(|key| line.contains(&key[..12]));
    events.lines().filter(is_of).count()
}

/// A file of the cluster's own folder, such as that of the process id of one of its programs.
pub(crate) fn run_folder() -> std::path::PathBuf {
    std::env::var_os("RUN")
        .expect("tests/cluster/enter says where the cluster is")
        .into()
}

/// A call of the driver that fails with a text, or hangs if that begins so, until this is dropped.
pub(crate) struct Fault(std::path::PathBuf);

pub(crate) fn fault(call: &str, text: &str) -> Fault {
    let path = run_folder().join("volumes/faults").join(call);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    Fault(path)
}

impl Drop for Fault {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

/// Ends a program of the cluster, and keeps it from being started again.
pub(crate) fn hold_down(program: &str) {
    std::fs::write(run_folder().join("stopped").join(program), "").unwrap();
    kill(program);
}

pub(crate) fn let_up(program: &str) {
    std::fs::remove_file(run_folder().join("stopped").join(program)).unwrap();
}

/// Kills a program of the cluster, which is started again.
pub(crate) fn kill(program: &str) {
    let id = std::fs::read_to_string(run_folder().join("pids").join(program)).unwrap();
    let killed = Command::new("kill").args(["-9", id.trim()]).status();
    assert!(killed.unwrap().success());
}
