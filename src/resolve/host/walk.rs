//! Walks over the machine's folders. Only names and metadata are read, and no symlink is followed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::HostError;

/// A folder and when its list of entries last changed.
pub(super) type Folder = (PathBuf, (i64, i64));

/// Visits everything below `path` in byte order of names, folders before their content. Absence is fine; what may not
/// be read is shown as it is from outside.
pub(super) fn visit(
    path: &Path,
    folders: &mut Vec<Folder>,
    seen: &mut impl FnMut(&Path, &Metadata),
) -> Result<(), HostError> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if is_absence(&error) => return Ok(()),
        Err(source) => {
            return Err(HostError::Read {
                path: path.to_owned(),
                source,
            });
        }
    };
    seen(path, &metadata);
    if metadata.is_dir() {
        folders.push((path.to_owned(), stamp(&metadata)));
        for name in names(path) {
            visit(&path.join(name), folders, seen)?;
        }
    }
    Ok(())
}

/// It may also go while we look.
fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied
    )
}

pub(super) fn stamp(metadata: &Metadata) -> (i64, i64) {
    (metadata.mtime(), metadata.mtime_nsec())
}

pub(super) fn names(folder: &Path) -> BTreeSet<std::ffi::OsString> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries
        .filter_map(Result::ok)
        .map(|entry| entry.file_name())
        .collect()
}

/// What below `root/etc` must not be shown in a sandbox, with the folders that were looked at. The paths are those of
/// the machine, without `root`.
pub(super) fn hidden(root: &Path, folder: &Path) -> (BTreeSet<PathBuf>, Vec<Folder>) {
    let mut hidden = BTreeSet::new();
    let mut folders = Vec::new();
    collect_hidden(root, folder, &mut hidden, &mut folders);
    (hidden, folders)
}

fn collect_hidden(
    root: &Path,
    folder: &Path,
    hidden: &mut BTreeSet<PathBuf>,
    folders: &mut Vec<Folder>,
) {
    let here = root.join(folder);
    let Ok(metadata) = fs::symlink_metadata(&here) else {
        return;
    };
    folders.push((here.clone(), stamp(&metadata)));
    for name in names(&here) {
        let path = folder.join(&name);
        let Ok(metadata) = fs::symlink_metadata(root.join(&path)) else {
            continue;
        };
        if is_secret(&path, &name) || !is_for_everyone(&metadata) {
            hidden.insert(Path::new("/").join(path));
        } else if metadata.is_dir() {
            collect_hidden(root, &path, hidden, folders);
        }
    }
}

/// A symlink shows nothing by itself: what it leads to is judged where it lies.
fn is_for_everyone(metadata: &Metadata) -> bool {
    let needed = if metadata.is_dir() { 0o5 } else { 0o4 };
    metadata.is_symlink() || metadata.mode() & needed == needed
}

/// What is secret by its name, even where somebody made it readable.
fn is_secret(path: &Path, name: &OsStr) -> bool {
    let text = path.to_string_lossy();
    let name = name.to_string_lossy();
    let is_backup = name.ends_with('-') && path.parent() == Some(Path::new("etc"));
    let is_host_key = name.starts_with("ssh_host_") && name.ends_with("_key");
    is_backup || is_host_key || matches!(&*text, "etc/shadow" | "etc/gshadow" | "etc/ssl/private")
}
