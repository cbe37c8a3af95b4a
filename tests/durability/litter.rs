//! What a store may hold when nothing runs.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;

use crate::processes::wait_until;
use crate::project::Project;

impl Project {
    /// Nothing is left of what went wrong: no process, mount, scratch folder, layer or record that nobody uses, no lock
    /// that is held, and nothing to delete.
    pub(crate) fn assert_no_litter(&self) {
        self.assert_nothing_left();
        let trash = self.store.join("trash");
        wait_until("the trash to be emptied", || names(&trash).is_empty());
        let (records, others): (Vec<_>, Vec<_>) = names(&self.store.join("s"))
            .into_iter()
            .partition(|name| Path::new(name).extension().is_some_and(|end| end == "json"));
        assert_eq!(others, [] as [String; 0]);
        let used: BTreeSet<String> = records
            .iter()
            .flat_map(|name| layers(&self.store.join("s").join(name)))
            .collect();
        let layers: BTreeSet<String> = names(&self.store.join("l"))
            .into_iter()
            .map(|name| format!("l/{name}"))
            .collect();
        assert_eq!(layers, used);
        for lock in names(&self.store.join("locks")) {
            let lock = File::open(self.store.join("locks").join(lock)).unwrap();
            lock.try_lock().expect("a lock that nobody holds");
        }
        assert_no_groups_left();
        for folder in [&self.store, &self.store.join("targets")] {
            let mut names = names(folder);
            names.retain(|name| name.contains(".draft"));
            assert_eq!(names, [] as [String; 0]);
        }
    }
}

/// Control groups that nobody holds go. Others may be between a kill and a sweep just now, but not for long.
fn assert_no_groups_left() {
    let mut left = free_groups();
    left.retain(|group| !groups_before().contains(group));
    wait_until("control groups to be removed", || {
        let now = free_groups();
        left.retain(|group| now.contains(group));
        left.is_empty()
    });
}

/// Those that were there when this was first asked: what other programs left.
pub(crate) fn groups_before() -> &'static [PathBuf] {
    static BEFORE: OnceLock<Vec<PathBuf>> = OnceLock::new();
    BEFORE.get_or_init(free_groups)
}

fn free_groups() -> Vec<PathBuf> {
    let mut groups = Vec::new();
    let hierarchies = fs::read_dir("/sys/fs/cgroup")
        .into_iter()
        .flatten()
        .flatten();
    let roots = hierarchies.map(|entry| entry.path());
    for root in roots.chain([PathBuf::from("/sys/fs/cgroup")]) {
        let entries = fs::read_dir(root).into_iter().flatten().flatten();
        groups.extend(entries.map(|entry| entry.path()).filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            let held = |folder: File| matches!(folder.try_lock(), Err(TryLockError::WouldBlock));
            name.starts_with("atelier-") && File::open(path).is_ok_and(|folder| !held(folder))
        }));
    }
    groups
}

fn layers(record: &Path) -> Vec<String> {
    let record: Value = serde_json::from_slice(&fs::read(record).unwrap()).unwrap();
    let layers = record["layers"].as_array().unwrap().iter();
    layers
        .map(|layer| layer["name"].as_str().unwrap().to_owned())
        .collect()
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Compares two lists, and shows the first lines that differ.
#[track_caller]
pub(crate) fn assert_same(found: &str, expected: &str, what: &str) {
    if found != expected {
        let only = |one: &str, other: &str| -> Vec<String> {
            let lines = one.lines().filter(|line| !other.contains(line));
            lines.take(5).map(str::to_owned).collect()
        };
        let (more, less) = (only(found, expected), only(expected, found));
        panic!("{what}: there is {more:#?} instead of {less:#?}");
    }
}
