//! The machine's own folders in a sandbox: read-only, and without what else is mounted in them.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::mount::{MountFlags, mount, mount_bind, mount_bind_recursive};

use super::super::protocol::Refusal;
use super::super::way::DEV;
use super::{Mounted, at, empty_root, identity, overlay, protect};

/// The machine's folders that make up the image `host`, beside /etc.
const SYSTEM: [&str; 8] = [
    "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "opt",
];

/// The root of image `host`: the system folders, and a copy-on-write view of /etc. Its changes are kept in `memory`, in the
/// folder that is returned.
pub(super) fn root(
    root: &Path,
    hidden: &[PathBuf],
    memory: &Path,
    hostname: &str,
) -> Mounted<PathBuf> {
    empty_root(root)?;
    system_folders(root)?;
    let changes = memory.join("etc-upper");
    at("make a folder in memory", fs::create_dir(&changes))?;
    // Written before /etc is mounted: in a user namespace its files belong to nobody, and so could not be replaced.
    let old = |name: &str| fs::read_to_string(Path::new("/etc").join(name)).unwrap_or_default();
    let keep = |uid| uid < DEV || uid == 65534;
    identity::write(&changes, old, hostname, keep)?;
    for path in hidden {
        hide(path, &changes)
            .map_err(|error| Refusal::new(format!("hide {}", path.display()), error))?;
    }
    let work = memory.join("etc-work");
    overlay::mount(&["/etc".to_owned()], &changes, &work, &root.join("etc"))?;
    Ok(changes)
}

pub(super) fn system_folders(root: &Path) -> Mounted<()> {
    SYSTEM.iter().try_for_each(|name| system_folder(root, name))
}

/// Shows one folder of the machine, or the symbolic link that stands in its place.
fn system_folder(root: &Path, name: &str) -> Mounted<()> {
    let (here, there) = (Path::new("/").join(name), root.join(name));
    let Ok(meta) = fs::symlink_metadata(&here) else {
        return Ok(());
    };
    if meta.is_symlink() {
        let link = || std::os::unix::fs::symlink(fs::read_link(&here)?, &there);
        return at("link a system folder", link());
    }
    at("make a mount point", fs::create_dir_all(&there))?;
    at("show a system folder", show(&here, &there))?;
    at("make a system folder read-only", protect(&there))
}

/// Shows a folder of the machine without what else is mounted in it.
pub(super) fn show(here: &Path, there: &Path) -> io::Result<()> {
    match mount_bind(here, there) {
        Ok(()) => return Ok(()),
        Err(rustix::io::Errno::INVAL) => {}
        Err(error) => return Err(error.into()),
    }
    // In a user namespace what is mounted in it cannot be left out: it is covered instead.
    mount_bind_recursive(here, there)?;
    let there = fs::canonicalize(there)?;
    let table = fs::read_to_string("/proc/self/mountinfo")?;
    for mounted in mounted_below(&table, &there) {
        if fs::symlink_metadata(&mounted)?.is_dir() {
            let flags = MountFlags::RDONLY | MountFlags::NODEV | MountFlags::NOSUID;
            mount("tmpfs", &mounted, "tmpfs", flags, c"mode=0755,size=0")?;
        } else {
            mount_bind("/dev/null", &mounted)?;
        }
    }
    Ok(())
}

/// The mount points below `folder`, without those below another one.
fn mounted_below(table: &str, folder: &Path) -> Vec<PathBuf> {
    let mut points: Vec<PathBuf> = table
        .lines()
        .filter_map(|line| line.split(' ').nth(4).map(unescape))
        .filter(|point| point != folder && point.starts_with(folder))
        .collect();
    points.sort();
    points.dedup_by(|below, above| below.starts_with(above));
    points
}

/// The kernel writes blanks and backslashes of names in octal.
fn unescape(name: &str) -> PathBuf {
    let escapes = [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ];
    let plain = escapes
        .into_iter()
        .fold(name.to_owned(), |name, (code, plain)| {
            name.replace(code, plain)
        });
    PathBuf::from(plain)
}

/// Hides a file or folder below /etc with a mark in the layer over it.
fn hide(path: &Path, changes: &Path) -> io::Result<()> {
    let (Ok(inside), true) = (
        path.strip_prefix("/etc"),
        fs::symlink_metadata(path).is_ok(),
    ) else {
        return Ok(()); // What is gone needs no hiding.
    };
    let mut folder = PathBuf::new();
    for name in inside.parent().into_iter().flatten() {
        folder.push(name);
        let (here, there) = (Path::new("/etc").join(&folder), changes.join(&folder));
        if !there.is_dir() {
            fs::create_dir(&there)?;
            let mode = fs::metadata(&here)?.permissions().mode();
            fs::set_permissions(&there, fs::Permissions::from_mode(mode))?;
        }
    }
    match mknodat(
        CWD,
        changes.join(inside),
        FileType::CharacterDevice,
        Mode::empty(),
        0,
    ) {
        // One of those that a sandbox has its own of.
        Err(rustix::io::Errno::EXIST) => Ok(()),
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    #[test]
    fn what_is_mounted_below_a_folder_is_found() {
        let table = "1 0 8:1 / / rw - ext4 x rw\n2 1 0:1 / /s/usr rw - tmpfs x rw\n\
                     3 2 0:1 / /s/usr/a\\040b rw - tmpfs x rw\n4 3 0:1 / /s/usr/a\\040b/c rw - tmpfs x rw\n\
                     5 1 0:1 / /s/usrx rw - tmpfs x rw\n";
        let found = super::mounted_below(table, Path::new("/s/usr"));
        assert_eq!(found, [PathBuf::from("/s/usr/a b")]);
    }
}
