//! This repository, baked with the Rust that the tests were built with, wherever that is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::example::store;
use crate::project::{Project, pairs};

/// A compiler works for a minute, and for many where others work too.
const PATIENCE: Duration = Duration::from_mins(20);

const FILE: &str = "examples/self/prebuild.kdl";

/// A repository of what git knows of this one, or would.
fn this_repository() -> Project {
    let project = Project::empty().with_store(&store());
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listed = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(here)
        .output()
        .unwrap();
    let names = String::from_utf8(listed.stdout).unwrap();
    let files = names
        .split_terminator('\0')
        .filter(|name| here.join(name).is_file());
    for name in files {
        let target = project.root.join(name);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(here.join(name), target).unwrap();
    }
    project.commit("this repository");
    project
}

/// The caller's configuration, as the example asks for it; and what the caller would add to the command line.
pub(crate) fn show_rust(project: &Project) -> Vec<String> {
    let sysroot = Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()
        .unwrap();
    let mut paths = vec![String::from_utf8(sysroot.stdout).unwrap().trim().to_owned()];
    let mut words = Vec::new();
    // A machine that reaches the registry through a mirror says so there.
    if let Some(config) = cargo_config() {
        words.push(format!("--env=CARGO_FLAGS=--config {}", config.display()));
        paths.push(config.display().to_string());
    }
    let is_network = |name: &str| {
        ["CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTRIES_"]
            .iter()
            .any(|begin| name.starts_with(begin))
    };
    let variables = std::env::vars().filter(|(name, _)| is_network(name));
    words.extend(variables.map(|(name, value)| format!("--env={name}={value}")));
    let folder = project.home.join(".config/atelier");
    fs::create_dir_all(&folder).unwrap();
    let paths: Vec<String> = paths.iter().map(|path| format!("{path:?}")).collect();
    let text = format!("host {{ path {}; }}\n", paths.join(" "));
    fs::write(folder.join("config.kdl"), text).unwrap();
    words
}

fn cargo_config() -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")))?;
    ["config.toml", "config"]
        .iter()
        .map(|name| home.join(name))
        .find(|path| path.is_file())
}

#[test]
fn this_repository_is_baked_and_built_without_a_network() {
    let project = this_repository();
    let words = show_rust(&project);
    let words: Vec<&str> = [FILE]
        .into_iter()
        .chain(words.iter().map(String::as_str))
        .collect();
    let build = project.atelier(&[&["build", "--json"], words.as_slice()].concat());
    let ran = project.start_command(build).wait_for(PATIENCE).expect(0);
    assert_eq!(
        ran.column("result"),
        pairs(&[("deps", "baked"), ("language", "baked")])
    );
    // What the caller added is in no key.
    assert_eq!(
        project.plan(&[FILE]),
        pairs(&[("deps", "reuse"), ("language", "reuse")])
    );
    // Cargo finds nothing to do in a sandbox: contents and times are those of the bake.
    let again = "cd src && git status --porcelain && cargo build --offline --locked -p atelier-lang ${CARGO_FLAGS-} 2>&1";
    let up = [&["up"], words.as_slice(), &["--", "sh", "-c", again]].concat();
    let ran = project.run(&up).expect(0);
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    assert!(ran.stdout.contains("Finished"), "{}", ran.stdout);
}
