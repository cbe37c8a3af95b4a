//! The directory of a layer while it is filled.
//!
//! Folders get their attributes, and whiteouts their effect, at the end: both depend on all that the layer holds, in
//! whatever order it comes.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, XattrFlags};
use rustix::io::Errno;

use super::archive::{Kind, Member, Reader};
use super::attributes::Attributes;
use super::content::{self, Stuck};
use super::place::{self, Found, Step, Way};
use super::{Ownership, UnpackError, Unpacked};

pub(super) struct Building<'a> {
    into: &'a Path,
    root: OwnedFd,
    below: &'a [PathBuf],
    ownership: Ownership,
    /// What each folder will look like.
    folders: BTreeMap<PathBuf, Attributes>,
    whiteouts: BTreeSet<PathBuf>,
    opaque: BTreeSet<PathBuf>,
    /// The folder that was found last, since most members share it with the one before: the name in the archive, the
    /// place, and the place opened.
    last: Option<Parent>,
    buffer: Vec<u8>,
    done: Unpacked,
}

struct Parent {
    named: PathBuf,
    place: PathBuf,
    fd: OwnedFd,
}

impl<'a> Building<'a> {
    pub(super) fn new(
        into: &'a Path,
        below: &'a [PathBuf],
        ownership: Ownership,
    ) -> Result<Self, UnpackError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, into, flags, Mode::empty())
            .map_err(UnpackError::write("open", into))?;
        Ok(Self {
            into,
            root,
            below,
            ownership,
            folders: BTreeMap::new(),
            whiteouts: BTreeSet::new(),
            opaque: BTreeSet::new(),
            last: None,
            buffer: vec![0; 256 << 10],
            done: Unpacked::default(),
        })
    }

    pub(super) fn add(
        &mut self,
        member: &Member,
        reader: &mut Reader<impl Read>,
    ) -> Result<(), UnpackError> {
        self.done.entries += 1;
        let path = place::normalise(&member.name)?;
        let (Some(named), Some(name)) = (path.parent(), path.file_name()) else {
            // The root of the layer itself.
            if member.kind == Kind::Folder {
                self.folders.insert(path, Attributes::of(member));
            }
            return Ok(());
        };
        if let Some(hidden) = name.as_bytes().strip_prefix(b".wh.") {
            return self.add_whiteout(named, OsStr::from_bytes(hidden));
        }
        match member.kind {
            Kind::Folder => self.add_folder(named, name, member),
            Kind::File => self.add_file(named, name, member, reader),
            Kind::Symlink => self.add_symlink(named, name, member),
            Kind::HardLink => self.add_link(named, name, member),
            Kind::Fifo => self.add_fifo(named, name, member),
            Kind::Device => {
                self.done.devices += 1;
                Ok(())
            }
        }
    }

    /// Notes what a `.wh.` entry hides. Of the marks that old union file systems kept for themselves (`.wh..wh.…`) only
    /// the opaque one means something.
    fn add_whiteout(&mut self, named: &Path, hidden: &OsStr) -> Result<(), UnpackError> {
        let bytes = hidden.as_bytes();
        if bytes == b".wh..opq" {
            let folder = self.parent(named)?.place.clone();
            self.opaque.insert(folder);
        } else if matches!(bytes, b"" | b"." | b"..") {
            return Err(UnpackError::Damaged("a whiteout hides nothing".to_owned()));
        } else if !bytes.starts_with(b".wh.") {
            let path = self.parent(named)?.place.join(hidden);
            self.whiteouts.insert(path);
        }
        Ok(())
    }

    fn add_folder(
        &mut self,
        named: &Path,
        name: &OsStr,
        member: &Member,
    ) -> Result<(), UnpackError> {
        let path = self.parent(named)?.place.join(name);
        let there = self.look(&path)?;
        if !matches!(there, Some(Found::Folder(_))) {
            self.clear(&path, there.as_ref())?;
            let parent = self.parent(named)?;
            make_folder(parent, name).map_err(UnpackError::write("make", &path))?;
        }
        self.folders.insert(path, Attributes::of(member));
        Ok(())
    }

    fn add_file(
        &mut self,
        named: &Path,
        name: &OsStr,
        member: &Member,
        reader: &mut Reader<impl Read>,
    ) -> Result<(), UnpackError> {
        let path = self.make_room(named, name)?;
        let parent = self.parent(named)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = rustix::fs::openat(&parent.fd, name, flags, mode);
        let mut file = File::from(file.map_err(UnpackError::write("make", &path))?);
        let copied = match &member.map {
            None => content::copy(reader, &mut file, member.size, &mut self.buffer),
            Some(map) => content::copy_parts(reader, &mut file, map, member.size, &mut self.buffer),
        };
        copied.map_err(|stuck| match stuck {
            Stuck::Reading(error) => super::Fault::Read(error).into(),
            Stuck::Writing(source) => UnpackError::Write {
                operation: "write",
                path: path.clone(),
                source,
            },
        })?;
        Attributes::of(member).apply(file.as_fd(), self.ownership, &path)
    }

    fn add_symlink(
        &mut self,
        named: &Path,
        name: &OsStr,
        member: &Member,
    ) -> Result<(), UnpackError> {
        let path = self.make_room(named, name)?;
        let ownership = self.ownership;
        let parent = self.parent(named)?;
        let made = rustix::fs::symlinkat(OsStr::from_bytes(&member.target), &parent.fd, name);
        made.and_then(|()| {
            Attributes::of(member).apply_unopened(parent.fd.as_fd(), name, ownership)
        })
        .map_err(UnpackError::write("make the symlink", &path))
    }

    fn add_fifo(&mut self, named: &Path, name: &OsStr, member: &Member) -> Result<(), UnpackError> {
        let path = self.make_room(named, name)?;
        let ownership = self.ownership;
        let parent = self.parent(named)?;
        let mode = Attributes::of(member).mode(ownership);
        let result = rustix::fs::mknodat(&parent.fd, name, FileType::Fifo, mode, 0)
            // The mode of a new file depends on the umask.
            .and_then(|()| rustix::fs::chmodat(&parent.fd, name, mode, AtFlags::empty()))
            .and_then(|()| {
                Attributes::of(member).apply_unopened(parent.fd.as_fd(), name, ownership)
            });
        result.map_err(UnpackError::write("make the pipe", &path))
    }

    /// A second name for a file of this layer, or for one of the layers below, which then is in this one too. Layers
    /// never change, so that they share the file does no harm.
    fn add_link(&mut self, named: &Path, name: &OsStr, member: &Member) -> Result<(), UnpackError> {
        let wanted = place::normalise(&member.target)?;
        let missing = || UnpackError::NoTarget {
            name: named.join(name).display().to_string(),
            target: wanted.display().to_string(),
        };
        let folder = wanted.parent().ok_or_else(missing)?;
        let target = self
            .parent(folder)?
            .place
            .join(wanted.file_name().ok_or_else(missing)?);
        if target == self.parent(named)?.place.join(name) {
            return Ok(());
        }
        let whole = match self.look(&target)? {
            Some(Found::Folder(_)) => return Err(missing()),
            Some(_) => self.into.join(&target),
            None => match self.look_below(&target)? {
                Some((Found::Other(_) | Found::Symlink(_), layer)) => layer.join(&target),
                Some((Found::Folder(_), _)) | None => return Err(missing()),
            },
        };
        let path = self.make_room(named, name)?;
        let parent = self.parent(named)?;
        rustix::fs::linkat(CWD, whole, &parent.fd, name, AtFlags::empty())
            .map_err(UnpackError::write("make the link", &path))
    }

    /// Takes away what is where a new file goes: of several entries with one name the last counts.
    fn make_room(&mut self, named: &Path, name: &OsStr) -> Result<PathBuf, UnpackError> {
        let path = self.parent(named)?.place.join(name);
        let there = self.look(&path)?;
        self.clear(&path, there.as_ref())?;
        Ok(path)
    }

    /// Removes what is at `path`, whose parent was found last and stays as it is.
    fn clear(&mut self, path: &Path, there: Option<&Found>) -> Result<(), UnpackError> {
        let whole = self.into.join(path);
        let cleared = match there {
            None => return Ok(()),
            Some(Found::Folder(_)) => std::fs::remove_dir_all(&whole),
            Some(Found::Symlink(_) | Found::Other(_)) => std::fs::remove_file(&whole),
        };
        cleared.map_err(|source| UnpackError::Write {
            operation: "replace",
            path: path.to_owned(),
            source,
        })?;
        self.folders.retain(|folder, _| !folder.starts_with(path));
        self.opaque.retain(|folder| !folder.starts_with(path));
        self.whiteouts
            .retain(|hidden| hidden == path || !hidden.starts_with(path));
        Ok(())
    }

    /// The folder that `named` leads to, made if it is not there.
    fn parent(&mut self, named: &Path) -> Result<&Parent, UnpackError> {
        if self.last.as_ref().is_none_or(|last| last.named != named) {
            self.last = None;
            let place = self.walk(named)?;
            let fd = self.open(&place, OFlags::PATH)?;
            self.last = Some(Parent {
                named: named.to_owned(),
                place,
                fd,
            });
        }
        self.last
            .as_ref()
            .ok_or_else(|| UnpackError::NotAFolder(named.display().to_string()))
    }

    /// Goes to a folder, step by step, through symlinks of this layer and those below, as if it were their root.
    fn walk(&mut self, named: &Path) -> Result<PathBuf, UnpackError> {
        let mut way = Way::to(named);
        let mut here = PathBuf::new();
        while let Some(step) = way.next() {
            let Step::Down(name) = step else {
                here.pop();
                continue;
            };
            let next = here.join(&name);
            let (found, is_mine) = match self.look(&next)? {
                Some(found) => (Some(found), true),
                None => (self.look_below(&next)?.map(|(found, _)| found), false),
            };
            match found {
                Some(Found::Symlink(target)) => {
                    way.follow(&target, &mut here)?;
                    continue;
                }
                Some(Found::Folder(_)) if is_mine => {}
                Some(Found::Folder(stat)) => {
                    self.imply(&here, &name, Attributes::of_stat(&stat))?;
                }
                Some(Found::Other(_)) if is_mine => {
                    return Err(UnpackError::NotAFolder(named.display().to_string()));
                }
                Some(Found::Other(_)) | None => {
                    self.imply(&here, &name, Attributes::plain_folder())?;
                }
            }
            here = next;
        }
        Ok(here)
    }

    /// Makes a folder that the layer has something in but does not describe.
    fn imply(
        &mut self,
        parent: &Path,
        name: &OsStr,
        attributes: Attributes,
    ) -> Result<(), UnpackError> {
        let path = parent.join(name);
        let fd = self.open(parent, OFlags::PATH)?;
        let parent = Parent {
            named: PathBuf::new(),
            place: parent.to_owned(),
            fd,
        };
        make_folder(&parent, name).map_err(UnpackError::write("make", &path))?;
        self.folders.insert(path, attributes);
        Ok(())
    }

    fn look(&self, path: &Path) -> Result<Option<Found>, UnpackError> {
        place::look(self.into, path).map_err(UnpackError::write("look at", path))
    }

    /// What the layers below have at `path`, unless this layer hides it.
    fn look_below(&self, path: &Path) -> Result<Option<(Found, &'a Path)>, UnpackError> {
        let is_hidden = path.ancestors().any(|place| self.whiteouts.contains(place))
            || path
                .ancestors()
                .skip(1)
                .any(|folder| self.opaque.contains(folder));
        if is_hidden {
            return Ok(None);
        }
        place::look_below(self.below, path).map_err(UnpackError::write("look below at", path))
    }

    /// Opens a folder of the layer. The walk has found no symlink on the way; the kernel makes sure.
    fn open(&self, place: &Path, flags: OFlags) -> Result<OwnedFd, UnpackError> {
        let path = if place.as_os_str().is_empty() {
            Path::new(".")
        } else {
            place
        };
        let flags = flags | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        rustix::fs::openat2(&self.root, path, flags, Mode::empty(), resolve)
            .map_err(UnpackError::write("open", place))
    }

    /// Gives whiteouts and folders what they have been waiting for.
    pub(super) fn finish(mut self) -> Result<Unpacked, UnpackError> {
        let top = PathBuf::new();
        if !self.folders.contains_key(&top) {
            let below = self.below.first().map(|layer| place::look(layer, &top));
            let attributes = match below
                .transpose()
                .map_err(UnpackError::write("look below at", &top))?
            {
                Some(Some(Found::Folder(stat))) => Attributes::of_stat(&stat),
                _ => Attributes::plain_folder(),
            };
            self.folders.insert(top, attributes);
        }
        for hidden in std::mem::take(&mut self.whiteouts) {
            match self.look(&hidden)? {
                // The layer takes away what was there and puts something of its own in its place.
                Some(Found::Folder(_)) => drop(self.opaque.insert(hidden)),
                Some(_) => {}
                None => self.make_whiteout(&hidden)?,
            }
        }
        for folder in &self.opaque {
            let fd = self.open(folder, OFlags::RDONLY)?;
            rustix::fs::fsetxattr(&fd, place::OPAQUE, b"y", XattrFlags::empty())
                .map_err(UnpackError::write("mark as opaque", folder))?;
        }
        // From the bottom up: a folder may be closed to its own owner afterwards.
        for (folder, attributes) in self.folders.iter().rev() {
            let fd = self.open(folder, OFlags::RDONLY)?;
            attributes.apply(fd.as_fd(), self.ownership, folder)?;
        }
        Ok(self.done)
    }

    fn make_whiteout(&self, hidden: &Path) -> Result<(), UnpackError> {
        let (Some(folder), Some(name)) = (hidden.parent(), hidden.file_name()) else {
            return Ok(());
        };
        let fd = self.open(folder, OFlags::PATH)?;
        rustix::fs::mknodat(&fd, name, FileType::CharacterDevice, Mode::empty(), 0)
            .map_err(UnpackError::write("make a whiteout for", hidden))
    }
}

/// Open to nobody else while it is filled.
fn make_folder(parent: &Parent, name: &OsStr) -> Result<(), Errno> {
    rustix::fs::mkdirat(&parent.fd, name, Mode::RWXU)
}
