//! Modes, owners, times and extended attributes, read and set.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Stat, Timespec, Timestamps, Uid, XattrFlags,
};
use rustix::io::Errno;

use super::descent::kind;
use super::manifest::Attributes;

pub(super) const OPAQUE: &[u8] = b"user.overlay.opaque";

/// What overlayfs keeps for itself in a layer that is mounted with `userxattr`.
const OVERLAY: &[u8] = b"user.overlay.";

/// What others keep there: a mount writes their `user.overlay.x` as this, and shows it without.
const ESCAPED: &[u8] = b"user.overlay.overlay.";

/// An entry whose attributes are meant.
#[derive(Clone, Copy)]
pub(super) enum Of<'a> {
    Open(BorrowedFd<'a>),
    /// What cannot be opened: a symlink, a FIFO, a socket, a device. Attributes of these are reached through /proc.
    Named(BorrowedFd<'a>, &'a [u8]),
}

/// Whether an attribute belongs to overlayfs, and not to whoever wrote the file.
pub(super) fn is_of_overlay(name: &[u8]) -> bool {
    name.starts_with(OVERLAY) && !name.starts_with(ESCAPED)
}

/// Whether the folder hides what is below it in other layers.
pub(super) fn is_opaque(folder: BorrowedFd<'_>) -> Result<bool, Errno> {
    let mut value = [0; 2];
    match rustix::fs::fgetxattr(folder, OPAQUE, &mut value[..]) {
        Ok(length) => Ok(&value[..length] == b"y"),
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::RANGE) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// All attributes that this process may see, sorted by name.
pub(super) fn read(of: Of<'_>) -> Result<Attributes, Errno> {
    let mut names = [0; 256];
    let mut more = Vec::new();
    let names = match of.list(&mut names) {
        Ok(length) => &names[..length],
        Err(Errno::OPNOTSUPP) => &[],
        Err(Errno::RANGE) => {
            more.resize(of.list_length()?, 0);
            let length = of.list(&mut more)?;
            &more[..length]
        }
        Err(errno) => return Err(errno),
    };
    let mut attributes = Attributes::new();
    for name in names.split(|&byte| byte == 0) {
        if !name.is_empty() {
            attributes.push((name.into(), of.value(name)?));
        }
    }
    attributes.sort_unstable();
    Ok(attributes)
}

impl Of<'_> {
    fn list(self, names: &mut [u8]) -> Result<usize, Errno> {
        match self {
            Self::Open(fd) => rustix::fs::flistxattr(fd, names),
            Self::Named(folder, entry) => rustix::fs::llistxattr(path(folder, entry), names),
        }
    }

    fn list_length(self) -> Result<usize, Errno> {
        match self {
            Self::Open(fd) => rustix::fs::flistxattr_query(fd),
            Self::Named(folder, entry) => rustix::fs::llistxattr_query(path(folder, entry)),
        }
    }

    fn value(self, name: &[u8]) -> Result<Box<[u8]>, Errno> {
        let length = match self {
            Self::Open(fd) => rustix::fs::fgetxattr_query(fd, name)?,
            Self::Named(folder, entry) => rustix::fs::lgetxattr_query(path(folder, entry), name)?,
        };
        let mut value = vec![0; length];
        let buffer = value.as_mut_slice();
        let length = match self {
            Self::Open(fd) => rustix::fs::fgetxattr(fd, name, buffer)?,
            Self::Named(folder, entry) => rustix::fs::lgetxattr(path(folder, entry), name, buffer)?,
        };
        value.truncate(length);
        Ok(value.into())
    }

    fn set(self, name: &[u8], value: &[u8]) -> Result<(), Errno> {
        match self {
            Self::Open(fd) => rustix::fs::fsetxattr(fd, name, value, XattrFlags::empty()),
            Self::Named(folder, entry) => {
                rustix::fs::lsetxattr(path(folder, entry), name, value, XattrFlags::empty())
            }
        }
    }
}

/// No call takes a folder's descriptor and a name for these.
fn path(folder: BorrowedFd<'_>, name: &[u8]) -> Vec<u8> {
    let mut path = format!("/proc/self/fd/{}/", folder.as_raw_fd()).into_bytes();
    path.extend_from_slice(name);
    path
}

/// What an entry looks like from outside.
pub(super) struct Look {
    stat: Stat,
    attributes: Attributes,
}

/// Makes the folder `to` look like the folder `from`: mode, owner, time of change, and extended attributes without
/// those of overlayfs.
///
/// # Errors
///
/// That of the call that failed.
pub fn take_after(from: &Path, to: &Path) -> io::Result<()> {
    let open = |path| {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::open(path, flags, Mode::empty())
    };
    let (from, to) = (open(from)?, open(to)?);
    let look = Look::of(Of::Open(from.as_fd()), rustix::fs::fstat(&from)?)?;
    look.apply(Of::Open(to.as_fd()))?;
    Ok(())
}

impl Look {
    /// Without what overlayfs has noted on the entry.
    pub(super) fn of(of: Of<'_>, stat: Stat) -> Result<Self, Errno> {
        let mut attributes = read(of)?;
        attributes.retain(|(name, _)| !is_of_overlay(name));
        Ok(Self { stat, attributes })
    }

    /// Gives an entry this look, and returns how many attributes it may not have here. In the order in which one does not
    /// undo the other: a change of owner clears the set-id bits and capabilities, and times come last.
    pub(super) fn apply(&self, to: Of<'_>) -> Result<u64, Errno> {
        let stat = &self.stat;
        let (uid, gid) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
        let mode = Mode::from_raw_mode(stat.st_mode & 0o7777);
        match to {
            Of::Open(fd) => {
                rustix::fs::fchown(fd, Some(uid), Some(gid))?;
                rustix::fs::fchmod(fd, mode)?;
            }
            Of::Named(folder, name) => {
                let flags = AtFlags::SYMLINK_NOFOLLOW;
                rustix::fs::chownat(folder, name, Some(uid), Some(gid), flags)?;
                if kind(stat) != FileType::Symlink {
                    rustix::fs::chmodat(folder, name, mode, AtFlags::empty())?;
                }
            }
        }
        let mut unset = 0;
        for (name, value) in &self.attributes {
            match to.set(name, value) {
                Ok(()) => {}
                // Only some may set what is not the user's: capabilities, labels.
                Err(Errno::PERM | Errno::ACCESS | Errno::OPNOTSUPP)
                    if !name.starts_with(b"user.") =>
                {
                    unset += 1;
                }
                Err(errno) => return Err(errno),
            }
        }
        let times = self.times();
        match to {
            Of::Open(fd) => rustix::fs::futimens(fd, &times)?,
            Of::Named(folder, name) => {
                rustix::fs::utimensat(folder, name, &times, AtFlags::SYMLINK_NOFOLLOW)?;
            }
        }
        Ok(unset)
    }

    fn times(&self) -> Timestamps {
        let time = |seconds, nanoseconds: u64| Timespec {
            tv_sec: seconds,
            tv_nsec: nanoseconds.try_into().unwrap_or(0),
        };
        Timestamps {
            last_access: time(self.stat.st_atime, self.stat.st_atime_nsec),
            last_modification: time(self.stat.st_mtime, self.stat.st_mtime_nsec),
        }
    }
}
