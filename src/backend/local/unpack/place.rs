//! Where a name in an archive leads: always to a place inside the layer.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Stat};
use rustix::io::Errno;

use super::UnpackError;

/// As many symlinks as the kernel follows.
const HOP_LIMIT: usize = 40;

/// What is at a place.
pub(super) enum Found {
    Folder(Box<Stat>),
    Symlink(PathBuf),
    Other(Box<Stat>),
}

/// A step on the way to a place.
pub(super) enum Step {
    Down(OsString),
    /// By a symlink.
    Up,
}

/// Makes a name relative and plain. A leading `/` means the root of the layer, as it does for every unpacker; `..` has
/// no business in an archive.
pub(super) fn normalise(name: &[u8]) -> Result<PathBuf, UnpackError> {
    let mut path = PathBuf::new();
    for segment in name.split(|&byte| byte == b'/') {
        match segment {
            b"" | b"." => {}
            b".." => {
                return Err(UnpackError::Escape(
                    String::from_utf8_lossy(name).into_owned(),
                ));
            }
            segment if segment.contains(&0) => {
                return Err(UnpackError::Damaged("a name holds a zero".to_owned()));
            }
            segment => path.push(OsStr::from_bytes(segment)),
        }
    }
    Ok(path)
}

/// The steps that are left to go, and how many symlinks have been followed.
pub(super) struct Way {
    left: VecDeque<Step>,
    hops: usize,
}

impl Way {
    pub(super) fn to(path: &Path) -> Self {
        Self {
            left: steps(path).into(),
            hops: 0,
        }
    }

    pub(super) fn next(&mut self) -> Option<Step> {
        self.left.pop_front()
    }

    /// Goes where a symlink at `here` leads, which never is above the layer's root.
    pub(super) fn follow(&mut self, target: &Path, here: &mut PathBuf) -> Result<(), UnpackError> {
        self.hops += 1;
        if self.hops > HOP_LIMIT {
            return Err(UnpackError::Loop(target.display().to_string()));
        }
        if target.is_absolute() {
            here.clear();
        }
        for step in steps(target).into_iter().rev() {
            self.left.push_front(step);
        }
        Ok(())
    }
}

fn steps(path: &Path) -> Vec<Step> {
    let segments = path.as_os_str().as_bytes().split(|&byte| byte == b'/');
    let named = segments.filter(|segment| !matches!(segment, [] | [b'.']));
    named
        .map(|segment| match segment {
            b".." => Step::Up,
            segment => Step::Down(OsString::from_vec(segment.to_vec())),
        })
        .collect()
}

/// What is at `path` below `folder`. Only for a path whose parents are known to be folders there.
pub(super) fn look(folder: &Path, path: &Path) -> Result<Option<Found>, Errno> {
    let whole = folder.join(path);
    let stat = match rustix::fs::statat(CWD, &whole, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    Ok(Some(match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Found::Folder(Box::new(stat)),
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(CWD, &whole, Vec::new())?;
            Found::Symlink(PathBuf::from(OsString::from_vec(target.into_bytes())))
        }
        _ => Found::Other(Box::new(stat)),
    }))
}

/// What the layers in `below`, the nearest first, show at `path` together, and in which of them it is.
pub(super) fn look_below<'a>(
    below: &'a [PathBuf],
    path: &Path,
) -> Result<Option<(Found, &'a Path)>, Errno> {
    let mut parents: Vec<&Path> = path.ancestors().skip(1).collect();
    parents.reverse();
    for layer in below {
        let mut is_cut = false;
        let mut is_here = true;
        for parent in &parents {
            match look(layer, parent)? {
                Some(Found::Folder(_)) => is_cut = is_cut || is_opaque(&layer.join(parent)),
                // A whiteout, or something else in the folder's place, hides what is further down.
                Some(_) => return Ok(None),
                None => {
                    is_here = false;
                    break;
                }
            }
        }
        let found = if is_here { look(layer, path)? } else { None };
        match found {
            Some(Found::Other(stat)) if is_whiteout(&stat) => return Ok(None),
            Some(found) => return Ok(Some((found, layer))),
            None if is_cut => return Ok(None),
            None => {}
        }
    }
    Ok(None)
}

pub(super) const OPAQUE: &str = "user.overlay.opaque";

fn is_opaque(folder: &Path) -> bool {
    let mut value = [0; 2];
    rustix::fs::lgetxattr(folder, OPAQUE, &mut value[..])
        .is_ok_and(|length| &value[..length] == b"y")
}

fn is_whiteout(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice && stat.st_rdev == 0
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::normalise;

    #[test]
    fn names_stay_inside() {
        assert_eq!(normalise(b"./a//b/").unwrap(), Path::new("a/b"));
        assert_eq!(normalise(b"/etc/x").unwrap(), Path::new("etc/x"));
        assert_eq!(normalise(b"./").unwrap(), Path::new(""));
        for bad in [&b"../x"[..], b"a/../../x", b"a/..", b"a\0b"] {
            assert!(normalise(bad).is_err(), "{bad:?}");
        }
    }
}
