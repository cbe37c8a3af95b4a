//! Files that a node puts into its workspace. Written as `dev` where the steps will run, and through no symbolic link: what
//! is keyed must lie where the file says.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2, unlinkat};
use rustix::io::Errno;

use crate::backend::WorkspaceFile;

const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Puts a file in the place of whatever file or link is there.
pub(crate) fn write(workspace: &Path, file: &WorkspaceFile) -> io::Result<()> {
    let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let folder = folders(workspace, folder)?;
    match unlinkat(&folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mut opened = File::from(openat(&folder, name, flags, Mode::from_raw_mode(0o600))?);
    opened.write_all(&file.content)?;
    // The mode that was asked for, whatever the umask is.
    opened.set_permissions(Permissions::from_mode(file.mode))
}

/// Makes a folder of the workspace, and those above it.
pub(crate) fn make_folder(workspace: &Path, path: &str) -> io::Result<()> {
    folders(workspace, path).map(drop)
}

/// Opens a folder of the workspace, and makes what of it is missing.
fn folders(workspace: &Path, path: &str) -> io::Result<OwnedFd> {
    let mut folder = openat(CWD, workspace, FOLDER, Mode::empty())?;
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        match mkdirat(&folder, segment, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        folder =
            openat2(&folder, segment, FOLDER, Mode::empty(), resolve).map_err(
                |error| match error {
                    Errno::LOOP | Errno::NOTDIR => {
                        io::Error::other(format!("`{segment}` is not a folder"))
                    }
                    other => other.into(),
                },
            )?;
    }
    Ok(folder)
}
