//! Paths of the machine that the configuration adds to image `host`, read-only, each at its own place.

use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags, openat, symlinkat};

use super::super::protocol::Refusal;
use super::host::show;
use super::{Mounted, make_folders, open_in, protect};
use crate::resolve::host::HostPath;

/// Shows the paths in a root that is furnished already: some may lie below /tmp.
pub(super) fn show_all(root: &Path, paths: &[HostPath]) -> Mounted<()> {
    let mut places: Vec<&Path> = paths.iter().map(|path| path.real.as_path()).collect();
    // Outer ones first: they would cover the others.
    places.sort();
    places.dedup();
    let refused = |path: &Path, error| Refusal::new(format!("show {}", path.display()), error);
    for place in places {
        show_one(root, place).map_err(|error| refused(place, error))?;
    }
    // Then the links: nothing is mounted through them.
    for path in paths.iter().filter(|path| path.named != path.real) {
        link(root, path).map_err(|error| refused(&path.named, error))?;
    }
    Ok(())
}

/// The folders above are root's, and empty but for what is shown.
fn show_one(root: &Path, place: &Path) -> io::Result<()> {
    let inside = inside(place)?;
    let there = root.join(inside);
    if place.is_dir() {
        make_folders(root, inside, 0)?;
    } else {
        let (folder, name) = split(inside);
        let folder = make_folders(root, folder, 0)?;
        let flags = OFlags::CREATE | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(folder, name, flags, Mode::from_raw_mode(0o444))?;
    }
    show(place, &there)?;
    protect(&there)
}

/// The name that was written leads to the place, as on the machine. It may do so already, through a folder above it.
fn link(root: &Path, path: &HostPath) -> io::Result<()> {
    let named = inside(&path.named)?;
    if open_in(root, named, OFlags::PATH, 0).is_ok() {
        return Ok(());
    }
    let (folder, name) = split(named);
    Ok(symlinkat(&path.real, make_folders(root, folder, 0)?, name)?)
}

/// An absolute path, as one below a root.
fn inside(path: &Path) -> io::Result<&str> {
    let text = path.to_str().and_then(|path| path.strip_prefix('/'));
    text.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}
