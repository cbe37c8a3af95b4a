//! Repositories of submodules on this machine, as git can serve from them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::git::fetch::{at, layout};
use crate::git::{Fetch, Problem, RepoLocation};

/// A repository of a submodule on disk, without its configuration: that names a work tree, and git would not serve from it
/// if that is not there. Dropped, it is gone.
pub(super) struct Borrowed {
    pub(super) location: RepoLocation,
    folder: PathBuf,
}

impl Borrowed {
    pub(super) fn of(
        repository: &Path,
        folder: PathBuf,
        fetch: &Fetch<'_>,
    ) -> Result<Self, Problem> {
        let borrowed = Self {
            location: RepoLocation::Disk(folder.clone()),
            folder,
        };
        let folder = &borrowed.folder;
        layout::lend(repository, folder, fetch.commit.format()).map_err(at(folder))?;
        Ok(borrowed)
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        // What stays behind lies in a folder that is thrown away as a whole.
        drop(fs::remove_dir_all(&self.folder));
    }
}
