//! What of a repository has been fetched already, on its way to a runner: an archive of its `.git`, and of the lists beside
//! it, as [`crate::checkout::fetch`] has made them.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What it is called in the archive.
const NAME: &str = "repository";

/// Writes what was fetched to `fetched`, and what lies beside it under the same name and an ending.
pub fn pack(fetched: &Path, to: impl Write) -> io::Result<()> {
    let mut archive = tar::Builder::new(to);
    archive.follow_symlinks(false);
    archive.mode(tar::HeaderMode::Deterministic);
    for (ending, path) in parts(fetched)? {
        let name = format!("{NAME}{ending}");
        match path.is_dir() {
            true => archive.append_dir_all(name, path)?,
            false => archive.append_path_with_name(path, name)?,
        }
    }
    archive.into_inner()?.flush()
}

/// Puts what was packed to `fetched`, and beside it.
pub(super) fn unpack(from: impl Read, fetched: &Path) -> io::Result<()> {
    let folder = fetched.with_extension("unpacked");
    fs::create_dir(&folder)?;
    tar::Archive::new(from).unpack(&folder)?;
    for (ending, path) in parts(&folder.join(NAME))? {
        let mut to = fetched.as_os_str().to_owned();
        to.push(ending);
        fs::rename(path, to)?;
    }
    fs::remove_dir(folder)
}

/// The ending of each, and its path.
fn parts(fetched: &Path) -> io::Result<Vec<(String, std::path::PathBuf)>> {
    let name = fetched.file_name().map_or(&b""[..], OsStr::as_bytes);
    let mut parts = Vec::new();
    for entry in fs::read_dir(fetched.parent().unwrap_or(fetched))? {
        let entry = entry?;
        let ending = entry.file_name();
        let ending = ending.as_bytes().strip_prefix(name).map(<[u8]>::to_vec);
        match ending.map(String::from_utf8) {
            Some(Ok(ending)) if ending.is_empty() || ending.starts_with('.') => {
                parts.push((ending, entry.path()));
            }
            _ => {}
        }
    }
    parts.sort();
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{pack, unpack};

    #[test]
    fn what_was_packed_is_unpacked_under_another_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("1/objects")).unwrap();
        fs::write(at("1/objects/pack"), [0, 159, 146, 150]).unwrap();
        fs::write(at("1.taken"), "a\0").unwrap();
        fs::create_dir(at("10")).unwrap();
        let mut packed = Vec::new();
        pack(&at("1"), &mut packed).unwrap();
        unpack(packed.as_slice(), &at("7")).unwrap();
        assert_eq!(fs::read(at("7/objects/pack")).unwrap(), [0, 159, 146, 150]);
        assert_eq!(fs::read_to_string(at("7.taken")).unwrap(), "a\0");
        let mut again = Vec::new();
        pack(&at("7"), &mut again).unwrap();
        assert!(again == packed);
    }
}
