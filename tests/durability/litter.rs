//! What a store may hold when nothing runs.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;

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
        for folder in [&self.store, &self.store.join("targets")] {
            let mut names = names(folder);
            names.retain(|name| name.contains(".draft"));
            assert_eq!(names, [] as [String; 0]);
        }
    }
}

fn layers(record: &Path) -> Vec<String> {
    let record: Value = serde_json::from_slice(&fs::read(record).unwrap()).unwrap();
    let layers = record["layers"].as_array().unwrap().iter();
    layers
        .map(|layer| layer.as_str().unwrap().to_owned())
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
