//! Secrets removed from a folder that is kept and shared. Sandboxes may be at work in it meanwhile, and mean no good: what
//! was a folder is a link a moment later. So nothing here has a path: all is done to entries of folders that are held open,
//! each of which was reached from the root without following a link.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, OFlags, Stat, fstat, renameat, unlinkat};
use rustix::io::{Errno, pread, retry_on_intr};

use super::super::attributes::{self, Of};
use super::super::descent::{Lister, Name, kind, open, open_root, stat};
use super::super::failed;
use super::super::holes::{hole, may_have_holes};
use super::Needles;
use super::window::Window;
use crate::nonce;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

/// A file may have become a FIFO, which must not be waited for.
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// Removes from below `folder` whatever has changed since a time (in seconds since 1970) and holds a secret: files and links
/// that do in their name, content, target or attributes, folders with such a name and all in them, and such attributes of
/// folders. Returns which secrets these were. What goes away meanwhile is not looked at.
///
/// # Errors
///
/// What is there and cannot be read or removed, by its path.
pub fn cleanse(folder: &Path, needles: &Needles, since: i64) -> io::Result<Vec<usize>> {
    let began = || {
        let root = open_root(folder)?;
        let device = fstat(&root)?.st_dev;
        Ok((root.try_clone(), root, device))
    };
    let (copy, root, device) = began().map_err(|errno| failed("open", folder, b"", errno))?;
    let mut cleansing = Cleansing {
        root,
        device,
        here: copy?,
        levels: Vec::new(),
        lister: Lister::new(),
        window: Window::new(needles),
        needles,
        since,
        found: Vec::new(),
    };
    let done = cleansing.all();
    done.map_err(|errno| failed("search", folder, &cleansing.path(), errno))?;
    cleansing.found.sort_unstable();
    cleansing.found.dedup();
    Ok(cleansing.found)
}

struct Cleansing<'a> {
    root: OwnedFd,
    device: u64,
    /// The folder of the last level.
    here: OwnedFd,
    levels: Vec<Level>,
    lister: Lister,
    window: Window<'a>,
    needles: &'a Needles,
    since: i64,
    found: Vec<usize>,
}

struct Level {
    name: Name,
    inode: u64,
    subfolders: Vec<Name>,
    /// It goes, with all in it.
    doomed: bool,
}

impl Cleansing<'_> {
    fn all(&mut self) -> Result<(), Errno> {
        let root = open(self.root.as_fd(), b".", FOLDER)?;
        self.begin(Name::default(), root, false)?;
        while let Some(level) = self.levels.last_mut() {
            match level.subfolders.pop() {
                Some(name) => self.enter(name)?,
                None => self.leave()?,
            }
        }
        Ok(())
    }

    /// Where it is, for people.
    fn path(&self) -> Vec<u8> {
        let names: Vec<&[u8]> = self
            .levels
            .iter()
            .skip(1)
            .map(|level| &*level.name)
            .collect();
        self.needles.mask(&names.join(&b'/')).into_owned()
    }

    fn enter(&mut self, name: Name) -> Result<(), Errno> {
        let doomed = self.levels.last().is_some_and(|level| level.doomed);
        match open(self.here.as_fd(), &name, FOLDER) {
            Ok(folder) => self.begin(name, folder, doomed),
            Err(errno) if is_gone(errno) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Looks at a folder and at all in it that is no folder.
    fn begin(&mut self, name: Name, folder: OwnedFd, mut doomed: bool) -> Result<(), Errno> {
        let about = fstat(&folder)?;
        if about.st_dev != self.device {
            return Ok(());
        }
        if self.is_recent(&about) {
            let mut secrets = Vec::new();
            self.needles.search(&name, &mut secrets);
            doomed |= !secrets.is_empty();
            self.found.extend(secrets);
            self.attributes_of(folder.as_fd())?;
        }
        let mut subfolders = Vec::new();
        for (name, kind) in self.lister.names(folder.as_fd())? {
            match kind {
                FileType::Directory => subfolders.push(name),
                _ => self.other(folder.as_fd(), &name, doomed)?,
            }
        }
        self.here = folder;
        self.levels.push(Level {
            name,
            inode: about.st_ino,
            subfolders,
            doomed,
        });
        Ok(())
    }

    /// Goes back to the folder above, or to the nearest above that which is still there.
    fn leave(&mut self) -> Result<(), Errno> {
        let Some(left) = self.levels.pop() else {
            return Ok(());
        };
        let mut is_parent = true;
        while let Some(level) = self.levels.last() {
            match self.back_to(level.inode) {
                Ok(folder) => {
                    self.here = folder;
                    break;
                }
                Err(errno) if is_gone(errno) => {
                    self.levels.pop();
                    is_parent = false;
                }
                Err(errno) => return Err(errno),
            }
        }
        match left.doomed && is_parent && !self.levels.is_empty() {
            true => remove_folder(self.here.as_fd(), &left.name),
            false => Ok(()),
        }
    }

    /// The folder of the last level. `..` leads elsewhere if somebody has moved what was left; the names from the root on
    /// lead nowhere else.
    fn back_to(&self, inode: u64) -> Result<OwnedFd, Errno> {
        if let Ok(above) = open(self.here.as_fd(), b"..", FOLDER) {
            let about = fstat(&above)?;
            if (about.st_dev, about.st_ino) == (self.device, inode) {
                return Ok(above);
            }
        }
        let mut folder = open(self.root.as_fd(), b".", FOLDER)?;
        for level in self.levels.iter().skip(1) {
            folder = open(folder.as_fd(), &level.name, FOLDER)?;
        }
        Ok(folder)
    }

    fn is_recent(&self, about: &Stat) -> bool {
        about.st_ctime >= self.since
    }

    /// Looks at an entry that is no folder.
    fn other(&mut self, folder: BorrowedFd<'_>, name: &[u8], doomed: bool) -> Result<(), Errno> {
        let secrets = match doomed {
            true => Ok(Vec::new()),
            false => self.secrets_in(folder, name),
        };
        let secrets = match secrets {
            Err(errno) if is_gone(errno) => return Ok(()),
            other => other?,
        };
        if secrets.is_empty() && !doomed {
            return Ok(());
        }
        self.found.extend(secrets);
        match unlinkat(folder, name, AtFlags::empty()) {
            Err(errno) if errno != Errno::ISDIR && !is_gone(errno) => Err(errno),
            _ => Ok(()),
        }
    }

    fn secrets_in(&mut self, folder: BorrowedFd<'_>, name: &[u8]) -> Result<Vec<usize>, Errno> {
        let mut secrets = Vec::new();
        let about = stat(folder, name)?;
        if !self.is_recent(&about) {
            return Ok(secrets);
        }
        self.needles.search(name, &mut secrets);
        match kind(&about) {
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(folder, name, Vec::new())?;
                self.needles.search(target.to_bytes(), &mut secrets);
            }
            FileType::RegularFile => {
                let file = open(folder, name, FILE)?;
                let about = fstat(&file)?;
                if kind(&about) == FileType::RegularFile && about.st_dev == self.device {
                    secrets.extend(self.content(file.as_fd(), &about)?);
                    for (name, value) in attributes::read(Of::Open(file.as_fd()))? {
                        self.needles.search(&name, &mut secrets);
                        self.needles.search(&value, &mut secrets);
                    }
                }
            }
            _ => {}
        }
        Ok(secrets)
    }

    /// Somebody may go on writing: what was there when it was opened is searched.
    fn content(&mut self, file: BorrowedFd<'_>, about: &Stat) -> Result<Vec<usize>, Errno> {
        let size = about.st_size.cast_unsigned();
        let mut at = 0;
        while at < size {
            if may_have_holes(about) {
                let hole = hole(file, at, size);
                if hole > 0 {
                    self.window.skip();
                    at += hole;
                    continue;
                }
            }
            let space = self.window.space();
            match retry_on_intr(|| pread(file, &mut *space, at))? {
                0 => break,
                count => {
                    self.window.advance(count);
                    at += count as u64;
                }
            }
        }
        Ok(self.window.finish())
    }

    /// Takes what holds a secret from a folder that stays.
    fn attributes_of(&mut self, folder: BorrowedFd<'_>) -> Result<(), Errno> {
        for (name, value) in attributes::read(Of::Open(folder))? {
            let mut secrets = Vec::new();
            self.needles.search(&name, &mut secrets);
            self.needles.search(&value, &mut secrets);
            if secrets.is_empty() {
                continue;
            }
            match rustix::fs::fremovexattr(folder, &*name) {
                Ok(()) | Err(Errno::NODATA) => self.found.extend(secrets),
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }
}

/// Somebody may have put something new into it; its name goes all the same.
fn remove_folder(above: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
    let removed = match unlinkat(above, name, AtFlags::REMOVEDIR) {
        Err(Errno::NOTEMPTY | Errno::EXIST) => {
            renameat(above, name, above, format!("removed-{}", nonce::name()))
        }
        other => other,
    };
    match removed {
        Err(errno) if !is_gone(errno) => Err(errno),
        _ => Ok(()),
    }
}

/// Whether somebody has taken away what was there, or put something else in its place.
fn is_gone(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO | Errno::STALE
    )
}
