//! One file that may be kept in LFS, of a repository on this machine.

use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::{kept, store};
use crate::git::{AtCommit, Problem, disk};

/// What a checkout would have at `path`, where the commit has `content`: of a pointer, what that stands for.
pub(in crate::git) fn checked_out(
    root: &Path,
    path: &str,
    content: Vec<u8>,
    limit: u64,
) -> Result<AtCommit, Problem> {
    let Some(pointer) = kept::pointer(path, &content) else {
        return Ok(match content.len() as u64 {
            size if size > limit => AtCommit::TooLarge(size),
            _ => AtCommit::File(content),
        });
    };
    if pointer.size > limit {
        return Ok(AtCommit::TooLarge(pointer.size));
    }
    if pointer.size == 0 {
        return Ok(AtCommit::File(Vec::new()));
    }
    let places = disk::git_dirs(root).into_iter();
    let mut places = places.map(|git_dir| store::place(&git_dir, &pointer.oid));
    let read = places.find_map(|place| fs::read(place).ok());
    let is_it = |content: &Vec<u8>| hex::encode(Sha256::digest(content)) == pointer.oid;
    let content = read.filter(is_it).map(AtCommit::File);
    content.ok_or_else(|| Problem::LfsNotHere(path.to_owned()))
}
