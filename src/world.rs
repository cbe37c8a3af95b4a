//! The language's view of a project on disk: a folder, outside of which nothing is read.

use std::path::{Path, PathBuf};

use atelier_lang::source::{ReadError, VirtualPath, World};

use crate::resolve::files::read_beneath;

pub struct Disk {
    root: PathBuf,
}

impl Disk {
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }
}

impl World for Disk {
    fn read(&self, path: &VirtualPath, limit: u64) -> Result<Vec<u8>, ReadError> {
        read_beneath(&self.root, path, limit)
    }
}
