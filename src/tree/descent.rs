//! Folders by descriptor: down by a name, up by `..`, so that no depth runs out of descriptors or of `PATH_MAX`.

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, Stat};
use rustix::io::Errno;

/// The name of an entry in its folder.
pub(super) type Name = Box<[u8]>;

/// A place in a tree. It leads up again through `..` where it has let go of the folders above, so nobody may move folders
/// meanwhile.
pub(super) struct Descent {
    here: Arc<OwnedFd>,
    /// The nearest last.
    above: VecDeque<Arc<OwnedFd>>,
    /// How many of those to keep open: a way back that costs no call.
    kept: usize,
}

impl Descent {
    /// Begins at the folder `root`.
    pub(super) fn from(root: &Path, kept: usize) -> Result<Self, Errno> {
        Ok(Self {
            here: Arc::new(open_root(root)?),
            above: VecDeque::with_capacity(kept),
            kept,
        })
    }

    pub(super) fn here(&self) -> BorrowedFd<'_> {
        self.here.as_fd()
    }

    /// The descriptor of this place, for as long as somebody needs it.
    pub(super) fn share(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.here)
    }

    pub(super) fn down(&mut self, name: &[u8]) -> Result<(), Errno> {
        let below = open(self.here(), name, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let left = std::mem::replace(&mut self.here, Arc::new(below));
        self.above.push_back(left);
        if self.above.len() > self.kept {
            self.above.pop_front();
        }
        Ok(())
    }

    /// Goes back to the folder above. Only as often as [`Self::down`].
    pub(super) fn up(&mut self) -> Result<(), Errno> {
        self.here = match self.above.pop_back() {
            Some(above) => above,
            None => Arc::new(open(
                self.here(),
                b"..",
                OFlags::RDONLY | OFlags::DIRECTORY,
            )?),
        };
        Ok(())
    }
}

/// Opens the folder that a tree is in. It alone may be reached through a symlink.
pub(super) fn open_root(root: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, root, flags, Mode::empty())
}

/// Opens an entry, but no symlink, to read it. Leaves no time of access behind, where that is allowed: layers are not
/// written, and eighty thousand new times would be.
pub(super) fn open(folder: BorrowedFd<'_>, name: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    match rustix::fs::openat(folder, name, flags | OFlags::NOATIME, Mode::empty()) {
        Err(Errno::PERM) => rustix::fs::openat(folder, name, flags, Mode::empty()),
        opened => opened,
    }
}

/// Opens the folder at `path` below `root`, however long that is.
pub(super) fn open_below(root: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut here = open(root, b".", flags)?;
    for name in path.split(|&byte| byte == b'/') {
        if !name.is_empty() {
            here = open(here.as_fd(), name, flags)?;
        }
    }
    Ok(here)
}

pub(super) fn stat(folder: BorrowedFd<'_>, name: &[u8]) -> Result<Stat, Errno> {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
}

pub(super) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

pub(super) fn is_whiteout(stat: &Stat) -> bool {
    kind(stat) == FileType::CharacterDevice && stat.st_rdev == 0
}

/// Reads the names in folders.
pub(super) struct Lister(Vec<MaybeUninit<u8>>);

impl Lister {
    pub(super) fn new() -> Self {
        Self(vec![MaybeUninit::uninit(); 64 << 10])
    }

    /// The entries of a folder that was just opened, in no order, with their kinds.
    pub(super) fn names(&mut self, folder: BorrowedFd<'_>) -> Result<Vec<(Name, FileType)>, Errno> {
        let mut names = Vec::new();
        let mut entries = RawDir::new(folder, &mut self.0);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            // Not every file system tells.
            let kind = match entry.file_type() {
                FileType::Unknown => kind(&stat(folder, name)?),
                kind => kind,
            };
            names.push((Name::from(name), kind));
        }
        Ok(names)
    }
}

/// Names folders by number. A path is put together when it is needed: kept whole, the paths of a deep tree would take
/// memory by the square of its depth.
pub(super) struct Folders(Vec<(usize, Name)>);

impl Folders {
    /// The folder in which all others are.
    pub(super) const ROOT: usize = 0;

    pub(super) fn new() -> Self {
        Self(vec![(Self::ROOT, Name::default())])
    }

    pub(super) fn add(&mut self, parent: usize, name: Name) -> usize {
        self.0.push((parent, name));
        self.0.len() - 1
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn name(&self, folder: usize) -> &[u8] {
        &self.0[folder].1
    }

    /// The path of the entry `name` in a folder; of the folder itself, if the name is empty.
    pub(super) fn path(&self, mut folder: usize, name: &[u8]) -> Vec<u8> {
        let mut names = vec![name];
        while folder != Self::ROOT {
            let (parent, name) = &self.0[folder];
            names.push(name);
            folder = *parent;
        }
        names.reverse();
        let mut path = names.join(&b'/');
        if path.last() == Some(&b'/') {
            path.pop();
        }
        path
    }
}
