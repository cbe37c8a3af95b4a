//! Small files that others may read at any moment: there as a whole or not at all. What they say may be lost with the
//! power; they are never half of it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// The ending of what is being written. Its writer holds a lock on it: without one it was left behind.
pub(crate) const ENDING: &str = "draft";

/// Puts another file in the place of one, that may be used by those who may use that.
pub(crate) fn rewrite(path: &Path, content: &[u8]) -> io::Result<()> {
    let permissions = fs::metadata(path)?.permissions();
    replace(path, content)?;
    fs::set_permissions(path, permissions)
}

/// Puts a file in its place.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let draft = path.with_extension(format!("{}.{ENDING}", std::process::id()));
    let written = || {
        let mut file = File::create(&draft)?;
        file.lock()?;
        file.write_all(content)?;
        fs::rename(&draft, path)
    };
    written().inspect_err(|_| drop(fs::remove_file(&draft)))
}
