//! Patterns and the tree of a commit → the files that a node takes. And what is remembered of that.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atelier_lang::glob::Globs;
use serde::{Deserialize, Serialize};

use super::{OnlyInput, PinError, PinnedTree};
use crate::git::Listed;
use crate::node::{ObjectId, TreeEntry};

/// Picks what the patterns name out of a commit's tree. A path that both lists name is a stub, if it is a plain file: links
/// and submodules have no content that could be left out.
pub fn select(listed: &[Listed], only: &OnlyInput) -> Result<PinnedTree, PinError> {
    let files = Globs::new(only.files.iter().map(String::as_str));
    let stubs = Globs::new(only.stubs.iter().map(String::as_str));
    let mut seen = [vec![false; files.len()], vec![false; stubs.len()]];
    let mut entries = BTreeSet::new();
    for Listed { path, mode, object } in listed {
        let text = String::from_utf8_lossy(path);
        let is_file = files.name(&text, &mut seen[0]);
        let is_stub = mode.starts_with("100") && stubs.name(&text, &mut seen[1]);
        if !is_file && !is_stub {
            continue;
        }
        if std::str::from_utf8(path).is_err() {
            return Err(PinError {
                input: text.into_owned(),
                cause: "the path is not UTF-8, and so cannot be in a key".to_owned(),
                help: "take it away from the files, with only \"!GLOB\"".to_owned(),
            });
        }
        entries.insert(TreeEntry {
            path: text.into_owned(),
            mode: mode.clone(),
            object: (!is_stub).then_some(*object),
        });
    }
    let unmatched = seen.map(|seen| {
        let unseen = seen.iter().enumerate().filter(|(_, seen)| !**seen);
        unseen.map(|(index, _)| index).collect()
    });
    Ok(PinnedTree { entries, unmatched })
}

/// What the patterns name at a commit never changes, so it is kept.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    version: u32,
    commit: String,
    files: Vec<String>,
    stubs: Vec<String>,
    /// Path, mode and object; a stub's object is empty.
    entries: Vec<(String, String, String)>,
    unmatched: [Vec<usize>; 2],
}

/// Of the files above.
const VERSION: u32 = 1;

/// No listing takes so long.
const ABANDONED: Duration = Duration::from_hours(1);

/// Where that is, by commit and patterns.
fn place(folder: &Path, commit: ObjectId, only: &OnlyInput) -> PathBuf {
    let mut hasher = blake3::Hasher::new();
    // Each list by its length, each text by its own.
    for list in [&only.files, &only.stubs] {
        hasher.update(&(list.len() as u64).to_le_bytes());
        for text in list {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
    }
    let patterns = hasher.finalize().to_hex();
    folder.join(format!("{commit}-{}.json", &patterns[..16]))
}

/// What was kept, if anything was.
pub(super) fn recall(folder: &Path, commit: ObjectId, only: &OnlyInput) -> Option<PinnedTree> {
    let text = fs::read(place(folder, commit, only)).ok()?;
    let kept: Kept = serde_json::from_slice(&text).ok()?;
    let is_this = kept.version == VERSION
        && kept.commit == commit.to_string()
        && kept.files == only.files
        && kept.stubs == only.stubs;
    let entry = |(path, mode, object): (String, String, String)| {
        let object = match object.as_str() {
            "" => None,
            object => Some(object.parse().ok()?),
        };
        Some(TreeEntry { path, mode, object })
    };
    let entries: Option<BTreeSet<_>> = kept.entries.into_iter().map(entry).collect();
    let entries = entries.filter(|_| is_this)?;
    Some(PinnedTree {
        entries,
        unmatched: kept.unmatched,
    })
}

/// A folder to fetch into that is not there yet. Those of runs that were killed are removed.
pub(super) fn scratch(folder: &Path) -> PathBuf {
    fs::create_dir_all(folder).ok();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|modified| modified.elapsed().ok());
        let is_scratch = path.extension().is_some_and(|ending| ending == "git");
        if is_scratch && age.is_some_and(|age| age > ABANDONED) {
            fs::remove_dir_all(path).ok();
        }
    }
    let started = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let number = started.map_or(0, |since| since.as_nanos());
    folder.join(format!("{}-{number}.git", std::process::id()))
}

/// Keeps it; a failure only means that the next run asks again.
pub(super) fn keep(folder: &Path, commit: ObjectId, only: &OnlyInput, tree: &PinnedTree) {
    let entries = tree.entries.iter().map(|entry| {
        let object = entry.object.as_ref().map(ObjectId::to_string);
        (
            entry.path.clone(),
            entry.mode.clone(),
            object.unwrap_or_default(),
        )
    });
    let kept = Kept {
        version: VERSION,
        commit: commit.to_string(),
        files: only.files.clone(),
        stubs: only.stubs.clone(),
        entries: entries.collect(),
        unmatched: tree.unmatched.clone(),
    };
    if let Ok(text) = serde_json::to_vec(&kept) {
        fs::create_dir_all(folder)
            .and_then(|()| crate::draft::replace(&place(folder, commit, only), &text))
            .ok();
    }
}
