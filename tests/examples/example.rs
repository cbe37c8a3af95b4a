//! One example in a repository of its own, and the store that they all share.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use walkdir::WalkDir;

use crate::project::Project;

/// Fresh for each run of the tests; what one example downloads, another need not.
pub(crate) fn store() -> PathBuf {
    static STORE: OnceLock<PathBuf> = OnceLock::new();
    let make = || {
        let store = Path::new(env!("CARGO_TARGET_TMPDIR")).join("examples-store");
        match fs::remove_dir_all(&store) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{error}"),
            _ => store,
        }
    };
    STORE.get_or_init(make).clone()
}

/// A repository with one example, as it lies in this one.
pub(crate) fn example(name: &str) -> Project {
    let project = Project::empty().with_store(&store());
    let from = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("examples")
        .join(name);
    let into = project.root.join("examples").join(name);
    let left_by_hand = |name: &str| ["node_modules", "dist", ".git"].contains(&name);
    let entries = WalkDir::new(&from)
        .into_iter()
        .filter_entry(|entry| !entry.file_name().to_str().is_some_and(left_by_hand));
    for entry in entries.map(Result::unwrap) {
        let target = into.join(entry.path().strip_prefix(&from).unwrap());
        if entry.file_type().is_dir() {
            fs::create_dir_all(target).unwrap();
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
    project.commit("the example");
    project
}

/// Its file, as a word of the command line.
pub(crate) fn file(name: &str) -> String {
    format!("examples/{name}/prebuild.kdl")
}
