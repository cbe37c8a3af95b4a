//! What was written outside of the workspace, where everything is thrown away: people have to know, or they wonder where
//! a program went that a step installed.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::super::protocol::Written;

/// More names than that only count.
const NAMES: usize = 100;

/// Folders that hold what is written, each with where the sandbox sees it, and what is in them before any step.
pub(super) struct Outside {
    places: Vec<(PathBuf, &'static str)>,
    before: BTreeMap<PathBuf, Mark>,
}

/// Changes with every change of a file's content or attributes.
type Mark = (i64, i64);

impl Outside {
    pub(super) fn watch(places: Vec<(PathBuf, &'static str)>) -> Self {
        let before = places
            .iter()
            .flat_map(|(place, _)| entries(place))
            .map(|(path, meta)| (path, mark(&meta)))
            .collect();
        Self { places, before }
    }

    /// What has changed since: files, and folders in which nothing has.
    pub(super) fn written(&self) -> Written {
        let mut written = Written::default();
        for (place, shown) in &self.places {
            // Folders come after their content; one that has something new in it goes without saying.
            let mut told: Option<PathBuf> = None;
            for (path, meta) in entries(place) {
                let goes_without_saying =
                    meta.is_dir() && told.as_ref().is_some_and(|told| told.starts_with(&path));
                if self.before.get(&path) == Some(&mark(&meta)) || goes_without_saying {
                    continue;
                }
                // A folder that was there has changed because something in it has gone: that leaves its own mark.
                if meta.is_dir() && self.before.contains_key(&path) {
                    continue;
                }
                written.count += 1;
                if written.names.len() < NAMES {
                    written.names.push(name(&path, &meta, place, shown));
                }
                told = Some(path);
            }
        }
        written.names.sort();
        written
    }
}

fn name(path: &Path, meta: &Metadata, place: &Path, shown: &str) -> String {
    let inside = path.strip_prefix(place).unwrap_or(path);
    let name = Path::new(shown).join(inside).display().to_string();
    let is_whiteout = meta.file_type().is_char_device() && meta.rdev() == 0;
    match is_whiteout {
        true => format!("{name} (removed)"),
        false => name,
    }
}

fn mark(meta: &Metadata) -> Mark {
    (meta.ctime(), meta.ctime_nsec())
}

/// Everything below a folder, without what is mounted there. What cannot be looked at is not counted.
fn entries(place: &Path) -> impl Iterator<Item = (PathBuf, Metadata)> {
    let walk = WalkDir::new(place)
        .min_depth(1)
        .contents_first(true)
        .same_file_system(true);
    walk.into_iter().flatten().filter_map(|entry| {
        let meta = entry.metadata().ok()?;
        Some((entry.into_path(), meta))
    })
}
