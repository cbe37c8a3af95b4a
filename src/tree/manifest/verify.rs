//! A layer compared with its manifest.

use std::cmp::Reverse;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::mem::discriminant;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::super::canary::Needles;
use super::super::shown;
use super::{Attributes, Entry, Kind, Manifest, PathAt, Time, describe};

/// Something that is not as the manifest has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// From the layer's root; empty for the root itself.
    pub path: PathBuf,
    pub change: Change,
}

/// What is different; first what the manifest has, then what there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// With how many entries in it, of a folder. Those are not told one by one.
    Missing {
        inside: u64,
    },
    /// With how many entries in it, of a folder. Those are not told one by one.
    Added {
        inside: u64,
    },
    /// It is something else: the names of the kinds.
    Kind(&'static str, &'static str),
    /// In bytes.
    Size(u64, u64),
    /// Of the same size.
    Content,
    /// Where a symlink leads.
    Target,
    Device(u64, u64),
    Mode(u32, u32),
    /// User and group.
    Owner((u32, u32), (u32, u32)),
    Time(Time, Time),
    /// The attribute of this name has another value, or is there or not.
    Attribute(String),
    /// Which other names the file has.
    Names,
}

/// Tells what in a layer is not as `manifest` has it, in the order of paths. Reads every file; see [`describe`].
///
/// # Errors
///
/// An entry that cannot be read, by its path, as with [`describe`].
pub fn verify(layer: &Path, manifest: &Manifest) -> io::Result<Vec<Difference>> {
    let now = describe(layer, &Needles::none())?.manifest;
    Ok(compare(&manifest.entries, &now.entries))
}

/// Both are in the same order, and one that the other has not is passed with all in it, so that the next ones of both are
/// always in one folder, or one of them has left it.
fn compare(was: &[Entry], is: &[Entry]) -> Vec<Difference> {
    let mut path = PathAt::default();
    let mut differences = Vec::new();
    // For each entry of the manifest, the index of its counterpart.
    let mut matches = vec![None; was.len()];
    let (mut w, mut i) = (0, 0);
    loop {
        let (old, new) = match (was.get(w), is.get(i)) {
            (Some(old), Some(new)) if place(old) == place(new) => (old, new),
            (Some(old), new) if new.is_none_or(|new| place(old) < place(new)) => {
                path.go(old);
                let inside = inside(was, w);
                add(
                    &mut differences,
                    &path,
                    Change::Missing {
                        inside: inside as u64,
                    },
                );
                w += 1 + inside;
                continue;
            }
            (_, Some(new)) => {
                path.go(new);
                let inside = inside(is, i);
                add(
                    &mut differences,
                    &path,
                    Change::Added {
                        inside: inside as u64,
                    },
                );
                i += 1 + inside;
                continue;
            }
            (_, None) => return differences,
        };
        path.go(old);
        for change in changes(old, new) {
            add(&mut differences, &path, change);
        }
        matches[w] = u32::try_from(i).ok();
        if new.first != old.first.and_then(|first| matches[first as usize]) {
            add(&mut differences, &path, Change::Names);
        }
        let same_folder = old.kind == Kind::Folder && new.kind == Kind::Folder;
        w += 1 + if same_folder { 0 } else { inside(was, w) };
        i += 1 + if same_folder { 0 } else { inside(is, i) };
    }
}

/// What orders the entries of one folder and of those above it: it is left when all in it has been seen.
fn place(entry: &Entry) -> (Reverse<u32>, &[u8]) {
    (Reverse(entry.depth), &entry.name)
}

/// How many entries are in the one at `index`.
fn inside(entries: &[Entry], index: usize) -> usize {
    let depth = entries[index].depth;
    let after = entries[index + 1..].iter();
    after.take_while(|entry| entry.depth > depth).count()
}

fn add(differences: &mut Vec<Difference>, path: &PathAt, change: Change) {
    let path = PathBuf::from(OsString::from_vec(path.bytes().to_vec()));
    differences.push(Difference { path, change });
}

fn changes(old: &Entry, new: &Entry) -> Vec<Change> {
    let mut changes = Vec::new();
    match (&old.kind, &new.kind) {
        (
            Kind::File { size, content },
            Kind::File {
                size: new_size,
                content: new_content,
            },
        ) => {
            if size != new_size {
                changes.push(Change::Size(*size, *new_size));
            } else if content != new_content {
                changes.push(Change::Content);
            }
        }
        (Kind::Symlink { target }, Kind::Symlink { target: new }) => {
            changes.extend((target != new).then_some(Change::Target));
        }
        (Kind::Character { device }, Kind::Character { device: new })
        | (Kind::Block { device }, Kind::Block { device: new }) => {
            changes.extend((device != new).then_some(Change::Device(*device, *new)));
        }
        (old, new) if discriminant(old) != discriminant(new) => {
            // Of something else, all else is different too.
            return vec![Change::Kind(old.name(), new.name())];
        }
        _ => {}
    }
    if old.mode != new.mode {
        changes.push(Change::Mode(old.mode, new.mode));
    }
    let (owner, new_owner) = ((old.uid, old.gid), (new.uid, new.gid));
    if owner != new_owner {
        changes.push(Change::Owner(owner, new_owner));
    }
    if old.mtime != new.mtime {
        changes.push(Change::Time(old.mtime, new.mtime));
    }
    changes.extend(attribute_changes(&old.attributes, &new.attributes));
    changes
}

fn attribute_changes(old: &Attributes, new: &Attributes) -> Vec<Change> {
    let gone_or_other = old.iter().filter(|attribute| !new.contains(attribute));
    let added = new
        .iter()
        .filter(|(name, _)| !old.iter().any(|(old, _)| old == name));
    let names = gone_or_other.chain(added).map(|(name, _)| shown(name));
    names.map(Change::Attribute).collect()
}

impl Kind {
    fn name(&self) -> &'static str {
        match self {
            Self::Folder => "a folder",
            Self::File { .. } => "a file",
            Self::Symlink { .. } => "a symlink",
            Self::Fifo => "a FIFO",
            Self::Socket => "a socket",
            Self::Character { .. } => "a character device",
            Self::Block { .. } => "a block device",
            Self::Whiteout => "a whiteout",
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_os_str().as_bytes() {
            b"" => f.write_str("the layer's root")?,
            path => f.write_str(&shown(path))?,
        }
        match &self.change {
            Change::Missing { inside: 0 } => f.write_str(" is missing"),
            Change::Missing { inside } => write!(f, " is missing, with the {inside} entries in it"),
            Change::Added { inside: 0 } => f.write_str(" was added"),
            Change::Added { inside } => write!(f, " was added, with the {inside} entries in it"),
            Change::Kind(was, is) => write!(f, " was {was}, and is {is}"),
            Change::Size(was, is) => write!(f, " had {was} bytes, and has {is}"),
            Change::Content => f.write_str(" has another content"),
            Change::Target => f.write_str(" leads elsewhere"),
            Change::Device(was, is) => write!(f, " was device {was:#x}, and is {is:#x}"),
            Change::Mode(was, is) => write!(f, " had the mode {was:04o}, and has {is:04o}"),
            Change::Owner((user, group), (new_user, new_group)) => {
                write!(
                    f,
                    " belonged to {user}:{group}, and does to {new_user}:{new_group}"
                )
            }
            Change::Time(was, is) => write!(f, " was last changed at {was}, and now at {is}"),
            Change::Attribute(name) => write!(f, " has another attribute {name}"),
            Change::Names => f.write_str(" shares its file with other names"),
        }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.seconds, self.nanoseconds)
    }
}
