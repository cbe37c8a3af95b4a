//! The contents of files in LFS, in the `lfs` folder of a `.git`, each by its digest.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::kept::Kept;
use crate::git::fetch::{at, layout};
use crate::git::{Problem, disk};

pub(super) fn place(git_dir: &Path, oid: &str) -> PathBuf {
    let folder = git_dir.join("lfs/objects").join(&oid[..2]);
    folder.join(&oid[2..4]).join(oid)
}

/// The files whose content is not there.
pub(super) fn missing<'a>(git_dir: &Path, kept: &'a [Kept]) -> Vec<&'a Kept> {
    let is_there = |kept: &Kept| {
        let metadata = fs::metadata(place(git_dir, &kept.oid));
        // An empty file has no object.
        kept.size == 0 || metadata.is_ok_and(|metadata| metadata.len() == kept.size)
    };
    kept.iter().filter(|kept| !is_there(kept)).collect()
}

/// Copies what a repository on this machine has.
pub(super) async fn borrow_from(root: &Path, git_dir: &Path, kept: &[Kept]) -> Result<(), Problem> {
    let stores = disk::git_dirs(root);
    let (kept, into) = (kept.to_vec(), git_dir.to_owned());
    let copied = tokio::task::spawn_blocking(move || {
        for kept in &kept {
            for store in &stores {
                if copy(
                    &place(store, &kept.oid),
                    &place(&into, &kept.oid),
                    &kept.oid,
                )? {
                    break;
                }
            }
        }
        tidy(&into)
    });
    let copied = copied.await.map_err(io::Error::other).flatten();
    copied.map_err(at(git_dir))
}

/// Copies an object, unless it is not there or not what its name says.
fn copy(from: &Path, to: &Path, oid: &str) -> io::Result<bool> {
    if to.exists() {
        return Ok(true);
    }
    if !from.is_file() {
        return Ok(false);
    }
    let draft = to.with_extension("draft");
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    fs::copy(from, &draft)?;
    if hex::encode(digest(&draft)?) != oid {
        fs::remove_file(&draft)?;
        return Ok(false);
    }
    fs::rename(&draft, to)?;
    Ok(true)
}

fn digest(path: &Path) -> io::Result<[u8; 32]> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finalize().into()),
            read => hasher.update(&buffer[..read]),
        }
    }
}

/// Leaves the objects alone, for everybody to read.
pub(super) fn tidy(git_dir: &Path) -> io::Result<()> {
    let lfs = git_dir.join("lfs");
    if !lfs.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(&lfs)? {
        let entry = entry?;
        match entry.file_name() == "objects" {
            true => layout::open_to_all(&entry.path())?,
            false => fs::remove_dir_all(entry.path())?,
        }
    }
    layout::open_to_all(&lfs)
}
