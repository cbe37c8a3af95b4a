//! A stack of layers as one: what an overlay mount of them shows, written into a folder.
//!
//! Every layer has one place in its tree that moves along, so a stack of K layers takes about K descriptors, however deep
//! the trees are.

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, Stat};
use rustix::io::Errno;

use super::attributes::{Look, Of, is_opaque};
use super::descent::{Descent, Folders, Lister, Name, is_whiteout, open_below, open_root, stat};
use super::{failed, shown};

mod copy;

use copy::Copier;

/// What the merged layer's files are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Material {
    /// They are the layers' own files, by further names: on the same file system, and neither may ever be written again.
    /// Then `st_nlink` counts the names in the layers too. What overlayfs has noted on a file (`user.overlay.origin`)
    /// stays on it; nobody reads that in a lower layer.
    Link,
    /// They are files of their own; they share their blocks with the layers' where the file system can do that.
    Copy,
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Names in the merged layer: folders and all else, without its root.
    pub entries: u64,
    /// Bytes of files that now share their blocks with those in the layers (FICLONE).
    pub cloned: u64,
    /// Bytes of data that were copied; holes are not counted.
    pub copied: u64,
    /// Attributes other than `user.*` that this process may not set, and left out.
    pub unset: u64,
}

/// With more names than this, a file is copied even if it could be linked: with as many again it would meet the limit of
/// its file system (65,000 on ext4, 32,000 on ext2) half-way, and no longer be one file.
const MANY: u64 = 16_000;

/// Descriptors for all ways back together; see [`Descent`].
const KEPT: usize = 128;

/// Writes what a read-only overlay mount of `layers`, the lowest first, would show into the empty folder `into`, as one
/// layer that needs none below it. Whiteouts and opaque folders have had their effect and are gone, and so are the other
/// attributes `user.overlay.*` of folders and, with [`Material::Copy`], of files. All else is kept exactly: content and
/// holes, modes, owners, times of change to the nanosecond (`into`'s too), extended attributes, and which names are one
/// file.
///
/// # Errors
///
/// An entry that cannot be read or written, by its path; the kind of the error is that of the call, so a full disk is
/// [`io::ErrorKind::StorageFull`]. [`io::ErrorKind::CrossesDevices`] if a layer to be linked is on another file system;
/// [`io::ErrorKind::DirectoryNotEmpty`] if `into` is not empty. `into` then holds rubbish.
pub fn merge(layers: &[PathBuf], into: &Path, by: Material) -> io::Result<Merged> {
    merge_with(layers, into, by, MANY)
}

fn merge_with(layers: &[PathBuf], into: &Path, by: Material, many: u64) -> io::Result<Merged> {
    let kept = KEPT / (layers.len() + 1);
    let open =
        |path: &Path| Descent::from(path, kept).map_err(|errno| failed("open", path, b"", errno));
    let target = open(into)?;
    let merge = Merge {
        layers,
        into,
        by,
        many,
        sources: layers
            .iter()
            .map(|layer| open(layer))
            .collect::<io::Result<_>>()?,
        target,
        folders: Folders::new(),
        copies: HashMap::new(),
        lister: Lister::new(),
        copier: Copier::new(),
        done: Merged::default(),
    };
    merge.run()
}

struct Merge<'a> {
    layers: &'a [PathBuf],
    into: &'a Path,
    by: Material,
    many: u64,
    /// For each layer, its part of the current folder, or of the nearest one above in which it has a part.
    sources: Vec<Descent>,
    /// The current folder, being filled.
    target: Descent,
    folders: Folders,
    /// Where files with more than one name were copied to, by device and inode: a folder and a name.
    copies: HashMap<(u64, u64), (usize, Name)>,
    lister: Lister,
    copier: Copier,
    done: Merged,
}

/// A folder that is being filled.
struct Level {
    folder: usize,
    /// Which layers have a part of it, the topmost first.
    parts: Vec<usize>,
    look: Look,
    /// What is left to do in it.
    subfolders: Vec<Subfolder>,
}

struct Subfolder {
    name: Name,
    /// Which layers have it, the topmost first, until something hides the rest; whether one is opaque is not known yet.
    parts: Vec<usize>,
}

/// What is known of a name in the current folder from the layers above.
enum Seen {
    /// Whatever the layers below have there is hidden.
    Closed,
    /// A folder, so far, into which folders below are merged: an index into the subfolders.
    Folder(usize),
}

impl Merge<'_> {
    fn run(mut self) -> io::Result<Merged> {
        self.prepare()?;
        let mut levels = Vec::new();
        if let Some(top) = self.layers.len().checked_sub(1) {
            let parts = (0..=top).rev().collect();
            levels.push(self.level(Folders::ROOT, parts)?);
        }
        while let Some(mut level) = levels.pop() {
            match level.subfolders.pop() {
                Some(subfolder) => {
                    let next = self.enter(level.folder, subfolder)?;
                    levels.extend([level, next]);
                }
                None => self.leave(&level, !levels.is_empty())?,
            }
        }
        Ok(self.done)
    }

    /// Makes sure that `into` is empty and that nothing made in it inherits access rights from it.
    fn prepare(&mut self) -> io::Result<()> {
        let found = self.lister.names(self.target.here());
        let found = found.map_err(|errno| failed("read", self.into, b"", errno))?;
        if !found.is_empty() {
            return Err(failed("merge layers into", self.into, b"", Errno::NOTEMPTY));
        }
        match rustix::fs::fremovexattr(self.target.here(), c"system.posix_acl_default") {
            Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
            Err(errno) => Err(failed("remove the rights of", self.into, b"", errno)),
        }
    }

    /// Goes into a folder in the layers that have a part of it, makes it, and all in it that is not a folder.
    fn enter(&mut self, parent: usize, subfolder: Subfolder) -> io::Result<Level> {
        let Subfolder { name, parts } = subfolder;
        let mut open = Vec::with_capacity(parts.len());
        for layer in parts {
            let source = &mut self.sources[layer];
            let entered = source.down(&name).and_then(|()| is_opaque(source.here()));
            open.push(layer);
            if entered.map_err(|errno| self.unread(layer, parent, &name, errno))? {
                break;
            }
        }
        let made = rustix::fs::mkdirat(self.target.here(), &*name, Mode::RWXU)
            .and_then(|()| self.target.down(&name));
        made.map_err(|errno| self.unwritten("make", parent, &name, errno))?;
        self.done.entries += 1;
        let folder = self.folders.add(parent, name);
        self.level(folder, open)
    }

    fn level(&mut self, folder: usize, parts: Vec<usize>) -> io::Result<Level> {
        // A merged folder looks like its topmost part.
        let top = parts[0];
        let fd = self.sources[top].here();
        let look = rustix::fs::fstat(fd).and_then(|stat| Look::of(Of::Open(fd), stat));
        let look = look.map_err(|errno| self.unread(top, folder, b"", errno))?;
        let subfolders = self.fill(folder, &parts)?;
        Ok(Level {
            folder,
            parts,
            look,
            subfolders,
        })
    }

    /// Makes all that the current folder shows but folders, and returns those.
    fn fill(&mut self, folder: usize, parts: &[usize]) -> io::Result<Vec<Subfolder>> {
        let mut subfolders: Vec<Subfolder> = Vec::new();
        let mut seen: HashMap<Name, Seen> = HashMap::new();
        for (above, &layer) in parts.iter().enumerate() {
            let is_lowest = above + 1 == parts.len();
            let names = self.lister.names(self.sources[layer].here());
            let names = names.map_err(|errno| self.unread(layer, folder, b"", errno))?;
            for (name, kind) in names {
                let is_folder = kind == FileType::Directory;
                let now = match seen.get(&name) {
                    Some(Seen::Closed) => continue,
                    Some(&Seen::Folder(index)) if is_folder => {
                        subfolders[index].parts.push(layer);
                        continue;
                    }
                    Some(Seen::Folder(_)) => Seen::Closed,
                    None if is_folder => {
                        subfolders.push(Subfolder {
                            name: name.clone(),
                            parts: vec![layer],
                        });
                        Seen::Folder(subfolders.len() - 1)
                    }
                    None => {
                        self.add(folder, layer, &name)?;
                        Seen::Closed
                    }
                };
                if !is_lowest {
                    seen.insert(name, now);
                }
            }
        }
        Ok(subfolders)
    }

    /// Makes what a layer shows that is not a folder.
    fn add(&mut self, folder: usize, layer: usize, name: &Name) -> io::Result<()> {
        let from = self.sources[layer].here();
        let stat = stat(from, name).map_err(|errno| self.unread(layer, folder, name, errno))?;
        if is_whiteout(&stat) {
            return Ok(());
        }
        self.done.entries += 1;
        if self.by == Material::Link && stat.st_nlink < self.many {
            let to = self.target.here();
            match rustix::fs::linkat(from, &**name, to, &**name, AtFlags::empty()) {
                Err(Errno::MLINK) => {}
                linked => {
                    return linked.map_err(|errno| self.unwritten("link", folder, name, errno));
                }
            }
        }
        self.copy(folder, layer, name, &stat)
    }

    /// Makes a file of its own, or a further name of the one that was made for an earlier name.
    fn copy(&mut self, folder: usize, layer: usize, name: &Name, stat: &Stat) -> io::Result<()> {
        let inode = (stat.st_dev, stat.st_ino);
        if stat.st_nlink > 1 {
            match self.link_copy(inode, name) {
                Ok(true) => return Ok(()),
                // Even the copy has as many names as a file can have.
                Ok(false) | Err(Errno::MLINK) => {}
                Err(errno) => return Err(self.unwritten("link", folder, name, errno)),
            }
            self.copies.insert(inode, (folder, name.clone()));
        }
        let (from, to) = (self.sources[layer].here(), self.target.here());
        let copied = self.copier.copy(from, name, stat, to, &mut self.done);
        copied.map_err(|errno| {
            let path = self.folders.path(folder, name);
            let operation = format!("copy {}/{} to", self.layers[layer].display(), shown(&path));
            failed(&operation, self.into, &path, errno)
        })
    }

    /// Whether there was a copy of this inode to be linked.
    fn link_copy(&self, inode: (u64, u64), name: &[u8]) -> Result<bool, Errno> {
        let Some((folder, first)) = self.copies.get(&inode) else {
            return Ok(false);
        };
        let root = open_root(self.into)?;
        let folder = open_below(root.as_fd(), &self.folders.path(*folder, b""))?;
        rustix::fs::linkat(folder, &**first, self.target.here(), name, AtFlags::empty())?;
        Ok(true)
    }

    /// Gives the current folder its look and goes back to the one above, unless it is the root.
    fn leave(&mut self, level: &Level, is_below: bool) -> io::Result<()> {
        // Not before it is full: files that are made change its time, and would inherit access rights.
        let applied = level.look.apply(Of::Open(self.target.here()));
        self.done.unset += applied
            .map_err(|errno| self.unwritten("set the attributes of", level.folder, b"", errno))?;
        if is_below {
            let mut went = self.target.up();
            for &layer in &level.parts {
                went = went.and_then(|()| self.sources[layer].up());
            }
            went.map_err(|errno| self.unwritten("leave", level.folder, b"", errno))?;
        }
        Ok(())
    }

    fn unread(&self, layer: usize, folder: usize, name: &[u8], errno: Errno) -> io::Error {
        failed(
            "read",
            &self.layers[layer],
            &self.folders.path(folder, name),
            errno,
        )
    }

    fn unwritten(&self, operation: &str, folder: usize, name: &[u8], errno: Errno) -> io::Error {
        failed(
            operation,
            self.into,
            &self.folders.path(folder, name),
            errno,
        )
    }
}

#[cfg(test)]
mod tests;
