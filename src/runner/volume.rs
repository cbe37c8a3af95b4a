//! The file system that the runner is given: the workspace, its manifest, and nothing else in the end.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use rustix::fs::syncfs;

use super::protocol::{Class, Failure, MANIFEST, WORKSPACE};
use super::{broken, machine};

/// What a file system keeps for itself.
const LOST_AND_FOUND: &str = "lost+found";

/// Where things lie for a moment.
const SCRATCH: &str = "scratch";

/// With less room than this, in bytes or files, whatever failed did so for want of it.
const ROOM: u64 = 1 << 20;
const INODES: u64 = 16;

pub(super) struct Volume {
    root: PathBuf,
}

impl Volume {
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let root = fs::canonicalize(path);
        let root = root.map_err(|error| broken(&format!("open {}", path.display()), &error))?;
        Ok(Self { root })
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.root.join(WORKSPACE)
    }

    pub(super) fn manifest(&self) -> PathBuf {
        self.root.join(MANIFEST)
    }

    /// An empty folder for what is needed for a moment; [`Volume::clear`] removes it.
    pub(super) fn scratch(&self) -> io::Result<PathBuf> {
        let folder = self.root.join(SCRATCH);
        remove(&folder)?;
        fs::create_dir(&folder)?;
        own(&folder)?;
        Ok(folder)
    }

    /// Makes the folder of the workspace, unless a parent has left it.
    pub(super) fn make_workspace(&self) -> io::Result<()> {
        let workspace = self.workspace();
        match fs::create_dir(&workspace) {
            Ok(()) => own(&workspace),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Removes all but the workspace.
    pub(super) fn clear(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.root)? {
            let entry = entry?;
            let name = entry.file_name();
            if name != WORKSPACE && name != LOST_AND_FOUND {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Brings it to the disk; writes that failed before are told here.
    pub(super) fn flush(&self) -> io::Result<()> {
        Ok(syncfs(File::open(&self.root)?)?)
    }

    pub(super) fn is_full(&self) -> bool {
        rustix::fs::statvfs(&self.root).is_ok_and(|disk| {
            // Some file systems, such as btrfs, have no number of inodes.
            let few = disk.f_files > 0 && disk.f_favail < INODES;
            disk.f_bavail * disk.f_frsize < ROOM || few
        })
    }

    /// Another failure, if there was no room; many programs say of a full disk only that they could not write.
    pub(super) fn for_lack_of_room(&self, what: impl FnOnce() -> String) -> Option<Failure> {
        let message = || format!("{}, and the workspace's volume is full", what());
        self.is_full().then(|| machine(Class::Full, message()))
    }

    /// Whether this is where the workspace is to be seen.
    pub(super) fn is_seen_at(&self, place: &Path) -> io::Result<bool> {
        Ok(fs::metadata(self.workspace())?.ino() == fs::metadata(place)?.ino())
    }
}

/// A new folder without what it has from the one above it: a group, and the mark that hands this on.
fn own(folder: &Path) -> io::Result<()> {
    chown(folder, None, Some(rustix::process::getegid().as_raw()))?;
    fs::set_permissions(folder, Permissions::from_mode(0o755))
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            open_up(path)?;
            fs::remove_dir_all(path)
        }
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Folders that are closed to their owner could not be emptied.
fn open_up(folder: &Path) -> io::Result<()> {
    for entry in walkdir::WalkDir::new(folder)
        .into_iter()
        .filter_map(Result::ok)
    {
        if entry.file_type().is_dir() {
            fs::set_permissions(entry.path(), Permissions::from_mode(0o700))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::Volume;

    #[test]
    fn a_workspace_is_made_without_the_marks_of_its_volume() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o2777)).unwrap();
        let volume = Volume::open(folder.path()).unwrap();
        volume.make_workspace().unwrap();
        let mode = fs::metadata(volume.workspace())
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o7777, 0o755);
        volume.make_workspace().unwrap();
    }

    #[test]
    fn what_does_not_belong_there_goes() {
        let folder = tempfile::tempdir().unwrap();
        let volume = Volume::open(folder.path()).unwrap();
        volume.make_workspace().unwrap();
        for name in ["ws/kept", "lost+found", "of a step", "of a step/closed"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("manifest"), "").unwrap();
        fs::write(folder.path().join("of a step/closed/file"), "").unwrap();
        let closed = Permissions::from_mode(0o000);
        fs::set_permissions(folder.path().join("of a step/closed"), closed).unwrap();
        volume.clear().unwrap();
        assert_eq!(names(folder.path()), ["lost+found", "ws"]);
        assert_eq!(names(&folder.path().join("ws")), ["kept"]);
    }

    fn names(folder: &std::path::Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}
