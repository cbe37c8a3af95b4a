//! Secrets in a folder that is kept and shared, of which only the latest changes are looked at.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::Needles;
use super::window::Window;

/// The files and links below `folder` that have changed since a time (in seconds since 1970) and hold a secret, in their
/// name, content or target, each with the secret's index. Others may be at work there: what goes away meanwhile is not
/// looked at.
///
/// # Errors
///
/// A file that is there and cannot be read.
pub fn find_recent(
    folder: &Path,
    needles: &Needles,
    since: i64,
) -> io::Result<Vec<(usize, PathBuf)>> {
    let mut found = Vec::new();
    let mut window = Window::new(needles);
    for entry in WalkDir::new(folder).into_iter().flatten() {
        let recent = entry.metadata().is_ok_and(|meta| meta.ctime() >= since);
        if !recent || entry.file_type().is_dir() {
            continue;
        }
        let mut secrets = Vec::new();
        needles.search(entry.file_name().as_bytes(), &mut secrets);
        if entry.path_is_symlink() {
            let target = std::fs::read_link(entry.path()).unwrap_or_default();
            needles.search(target.as_os_str().as_bytes(), &mut secrets);
        } else if entry.file_type().is_file() {
            secrets.extend(in_content(entry.path(), &mut window)?);
        }
        found.extend(
            secrets
                .into_iter()
                .map(|secret| (secret, entry.path().to_owned())),
        );
    }
    Ok(found)
}

fn in_content(path: &Path, window: &mut Window<'_>) -> io::Result<Vec<usize>> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    loop {
        match file.read(window.space())? {
            0 => return Ok(window.finish()),
            count => window.advance(count),
        }
    }
}
