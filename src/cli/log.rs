//! `log`: what a bake printed, also long after it failed.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::args::LogArgs;
use super::failure::Failure;
use super::history::History;
use super::place::Words;
use super::project::{self, Project};
use super::ui;

pub(super) fn log(args: &LogArgs) -> Result<u8, Failure> {
    let words = Words::read(&args.words)?;
    let path = match (&words.file, words.targets.as_slice()) {
        (None, [word]) => match key_prefix(word) {
            Some(prefix) => of_key(&project::store_path(&args.store)?, prefix)?,
            None => of_target(args, words.file, word)?,
        },
        (Some(_), [target]) => of_target(args, words.file, target)?,
        _ => {
            return Err(Failure::usage(
                "one log at a time",
                "name one target, or one key",
            ));
        }
    };
    let text = std::fs::read(&path)
        .map_err(|error| Failure::machine(&format!("cannot read {}: {error}", path.display())))?;
    ui::print(&String::from_utf8_lossy(&text));
    Ok(0)
}

/// `snap-` and digits, or six digits and more, as no target is called.
pub(super) fn key_prefix(word: &str) -> Option<&str> {
    let digits = word.strip_prefix("snap-").unwrap_or(word);
    let hex = digits.len() >= 6
        && digits
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    hex.then_some(digits)
}

/// The newest log of the one key that begins so.
fn of_key(store: &Path, prefix: &str) -> Result<PathBuf, Failure> {
    let mut logs: Vec<(SystemTime, String, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(store.join("logs"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        let time = entry.metadata().and_then(|meta| meta.modified());
        if let (true, Ok(time)) = (name.starts_with(prefix), time) {
            let key = name.split('-').next().unwrap_or_default().to_owned();
            logs.push((time, key, entry.path()));
        }
    }
    logs.sort();
    let Some((_, key, path)) = logs.last() else {
        return Err(Failure::usage(
            format!("there is no log of a key {prefix}…"),
            "see `atelier snapshots`",
        ));
    };
    if logs.iter().any(|(_, other, _)| other != key) {
        return Err(Failure::usage(
            format!("several keys begin with {prefix}"),
            "give more digits",
        ));
    }
    Ok(path.clone())
}

/// The last bake of a target; a target may be called like a key, and then the file is named too.
fn of_target(args: &LogArgs, file: Option<PathBuf>, target: &str) -> Result<PathBuf, Failure> {
    let project = Project::load(file, &args.file, &args.store)?;
    project.select(&[target.to_owned()])?;
    History::of(&project.store, &project.file)
        .recall(target)
        .log
        .ok_or_else(|| {
            Failure::usage(
                format!("`{target}` was not baked with this store"),
                "bake it: atelier build",
            )
        })
}
