//! Mode, owner, times and extended attributes, set in the order in which one does not undo the other.

use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Gid, Mode, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::Errno;

use super::archive::Member;
use super::{Ownership, UnpackError};

#[derive(Clone, Debug)]
pub(super) struct Attributes {
    pub(super) mode: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) time: (i64, u32),
    pub(super) xattrs: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Attributes {
    pub(super) fn of(member: &Member) -> Self {
        let xattrs = member
            .xattrs
            .iter()
            .filter(|(name, _)| is_kept(name))
            .cloned()
            .collect();
        Self {
            mode: member.mode,
            uid: member.uid,
            gid: member.gid,
            time: member.time,
            xattrs,
        }
    }

    /// Of a folder that nothing describes.
    pub(super) fn plain_folder() -> Self {
        Self {
            mode: 0o755,
            uid: 0,
            gid: 0,
            time: (0, 0),
            xattrs: Vec::new(),
        }
    }

    pub(super) fn of_stat(stat: &rustix::fs::Stat) -> Self {
        Self {
            mode: stat.st_mode & 0o7777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            time: (
                stat.st_mtime,
                u32::try_from(stat.st_mtime_nsec).unwrap_or(0),
            ),
            xattrs: Vec::new(),
        }
    }

    /// Sets everything on an open file or folder. A change of owner clears the setuid bit and capabilities, so these
    /// come after it, and the times last.
    pub(super) fn apply(
        &self,
        fd: BorrowedFd<'_>,
        ownership: Ownership,
        path: &Path,
    ) -> Result<(), UnpackError> {
        let failed = UnpackError::write("set the attributes of", path);
        if ownership == Ownership::Kept {
            let (uid, gid) = self.owner();
            rustix::fs::fchown(fd, Some(uid), Some(gid)).map_err(&failed)?;
        }
        rustix::fs::fchmod(fd, self.mode(ownership)).map_err(&failed)?;
        for (name, value) in &self.xattrs {
            let is_users = name.starts_with(b"user.");
            if !is_users && ownership == Ownership::Caller {
                continue;
            }
            match rustix::fs::fsetxattr(fd, name.as_slice(), value, XattrFlags::empty()) {
                // A file system or a kernel that keeps it from this process takes nothing else from the file.
                Err(Errno::PERM | Errno::ACCESS | Errno::OPNOTSUPP) if !is_users => {}
                set => set.map_err(&failed)?,
            }
        }
        rustix::fs::futimens(fd, &self.times()).map_err(&failed)
    }

    /// Sets what a thing has that cannot be opened, such as a symlink.
    pub(super) fn apply_unopened(
        &self,
        folder: BorrowedFd<'_>,
        name: &std::ffi::OsStr,
        ownership: Ownership,
    ) -> Result<(), Errno> {
        if ownership == Ownership::Kept {
            let (uid, gid) = self.owner();
            rustix::fs::chownat(
                folder,
                name,
                Some(uid),
                Some(gid),
                AtFlags::SYMLINK_NOFOLLOW,
            )?;
        }
        rustix::fs::utimensat(folder, name, &self.times(), AtFlags::SYMLINK_NOFOLLOW)
    }

    /// What a set-id bit gives is the rights of the owner who is left out.
    pub(super) fn mode(&self, ownership: Ownership) -> Mode {
        let mode = Mode::from_raw_mode(self.mode);
        match ownership {
            Ownership::Kept => mode,
            Ownership::Caller => mode - (Mode::SUID | Mode::SGID),
        }
    }

    fn owner(&self) -> (Uid, Gid) {
        (Uid::from_raw(self.uid), Gid::from_raw(self.gid))
    }

    fn times(&self) -> Timestamps {
        let time = Timespec {
            tv_sec: self.time.0,
            tv_nsec: self.time.1.into(),
        };
        Timestamps {
            last_access: time,
            last_modification: time,
        }
    }
}

/// What overlayfs keeps in attributes would let an image hide files of the layers below, or show others.
fn is_kept(name: &[u8]) -> bool {
    let is_in = |space: &[u8]| {
        name.strip_prefix(space)
            .is_some_and(|rest| !rest.starts_with(b"overlay."))
    };
    name == b"security.capability" || is_in(b"user.") || is_in(b"trusted.")
}
