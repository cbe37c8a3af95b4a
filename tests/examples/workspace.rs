//! A Rust workspace with a dependency layer: what it depends on is fetched and built from manifests alone, and a commit to
//! its sources compiles its own crates only.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::git_server::GitServer;
use crate::project::{Project, pairs};
use crate::repo::Repo;
use crate::rust::show_rust;

/// The workspace, its dependency, and the server of both.
struct Workspace {
    project: Project,
    server: GitServer,
    web: Repo,
    greet: Repo,
    folder: PathBuf,
}

/// As the user's guide has it.
const FILE: &str = r#"
from dev-base
repo "URL/web" {
    layer {
        only Cargo.lock "**/Cargo.toml"
        stub "**/src/lib.rs" "**/src/main.rs"
        run "cargo fetch --locked"
        run "cargo build --offline --locked --workspace --lib 2>&1 | tee ~/deps.log"
    }
    run "cargo build --offline --locked 2>&1 | tee ~/code.log"
}
"#;

const MEMBERS: &str = "[workspace]\nmembers = [\"app\", \"words\"]\nresolver = \"3\"\n";

fn manifest(name: &str, dependencies: &str) -> String {
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependencies}\n"
    )
}

impl Workspace {
    fn new() -> Self {
        let project = Project::empty();
        let folder = project.root.parent().unwrap().to_owned();
        std::fs::create_dir(folder.join("served")).unwrap();
        let server = GitServer::start(&folder.join("served"));
        let repository = |name: &str| {
            let repo = Repo::init(&folder.join(name), &[]);
            let bare = folder.join(format!("served/{name}.git"));
            Repo::init(&bare, &["--bare"]);
            repo.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
            repo
        };
        let (web, greet) = (repository("web"), repository("greet"));
        let workspace = Self {
            project,
            server,
            web,
            greet,
            folder,
        };
        workspace.fill();
        show_rust(&workspace.project);
        let root = workspace.server.url("web");
        let root = root.strip_suffix("/web").unwrap();
        workspace
            .project
            .write("prebuild.kdl", &FILE.replace("URL", root));
        workspace
    }

    fn fill(&self) {
        write(&self.greet, "Cargo.toml", &manifest("greet", ""));
        self.greet_says("hello");
        let url = self.server.url("greet");
        write(&self.web, "Cargo.toml", MEMBERS);
        let of_words = format!("greet = {{ git = \"{url}\" }}");
        write(&self.web, "words/Cargo.toml", &manifest("words", &of_words));
        let of_app = "words = { path = \"../words\" }";
        write(&self.web, "app/Cargo.toml", &manifest("app", of_app));
        let words = "pub fn words() -> String { format!(\"{} world\", greet::greet()) }\n";
        write(&self.web, "words/src/lib.rs", words);
        let main = "fn main() { println!(\"{}\", words::words()); }\n";
        write(&self.web, "app/src/main.rs", main);
        self.lock();
    }

    fn greet_says(&self, word: &str) {
        let source = format!("pub fn greet() -> &'static str {{ \"{word}\" }}\n");
        self.greet.commit("src/lib.rs", &source);
        self.greet.git(&["push", "--quiet", "origin", "main"]);
    }

    /// Locks what it depends on, as it is now, and publishes that.
    fn lock(&self) {
        let cargo = Command::new("cargo")
            .args(["update", "--quiet"])
            .current_dir(&self.web.0)
            .env("CARGO_HOME", self.folder.join("cargo"))
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&cargo.stderr);
        assert!(cargo.status.success(), "{stderr}");
        self.publish("locked");
    }

    fn publish(&self, message: &str) {
        self.web.git(&["add", "--all"]);
        self.web.git(&["commit", "--quiet", "--message", message]);
        self.web.git(&["push", "--quiet", "origin", "main"]);
    }

    /// What became of the dependencies and of the code, what was compiled for each, and what the program says.
    fn build(&self) -> ([String; 2], [Vec<String>; 2], String) {
        let results = self.project.build(&[]);
        let [(deps, _), (code, _)] = results.as_slice() else {
            panic!("{results:?}");
        };
        assert_eq!((deps.as_str(), code.as_str()), ("default-deps", "default"));
        let [deps, code] = [&results[0].1, &results[1].1].map(String::clone);
        let show = |script: &str| {
            let ran = self.project.run(&["up", "--", "sh", "-ec", script]);
            ran.expect(0).stdout
        };
        let compiled = ["deps.log", "code.log"].map(|log| compiled(&show(&format!("cat {log}"))));
        ([deps, code], compiled, show("web/target/debug/app"))
    }
}

fn write(repo: &Repo, path: &str, text: &str) {
    let path: PathBuf = repo.0.join(path);
    std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).unwrap();
    std::fs::write(path, text).unwrap();
}

/// The crates that cargo says it compiled.
fn compiled(log: &str) -> Vec<String> {
    let lines = log.lines().map(str::trim_start);
    let mut names: Vec<String> = lines
        .filter_map(|line| line.strip_prefix("Compiling "))
        .map(|rest| rest.split(' ').next().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn the_code_s_build_compiles_the_workspace_s_own_crates_only() {
    let workspace = Workspace::new();
    let all = |results: [&str; 2], said: &str| {
        let compiled = [&["greet", "words"][..], &["app", "words"]];
        (
            results.map(str::to_owned),
            compiled.map(|names| names.iter().map(ToString::to_string).collect()),
            format!("{said}\n"),
        )
    };
    assert_eq!(workspace.build(), all(["baked", "baked"], "hello world"));
    // A commit to a source: the dependencies are there.
    let main = "fn main() { println!(\"{}!\", words::words()); }\n";
    write(&workspace.web, "app/src/main.rs", main);
    workspace.publish("loud");
    assert_eq!(workspace.build(), all(["reused", "baked"], "hello world!"));
    // Another version of what it depends on: both.
    workspace.greet_says("goodbye");
    workspace.lock();
    assert_eq!(workspace.build(), all(["baked", "baked"], "goodbye world!"));
    assert_eq!(
        workspace.project.plan(&[]),
        pairs(&[("default-deps", "reuse"), ("default", "reuse")])
    );
}
