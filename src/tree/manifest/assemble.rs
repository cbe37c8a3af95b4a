//! What many readers have recorded, put in order.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use rustix::fs::Stat;

use super::super::attributes::{OPAQUE, is_of_overlay};
use super::super::canary::{Found, Needles, Place};
use super::super::descent::Folders;
use super::{Attributes, Entry, Kind, Manifest, Time};

/// A device and a number on it.
pub(super) type Inode = (u64, u64);

/// What was found out about the content of a file.
#[derive(Clone, Default)]
pub(super) struct Content {
    pub(super) digest: [u8; 32],
    /// The secrets in it.
    pub(super) found: Vec<(usize, Place)>,
}

/// What was found out about an entry.
pub(super) struct Record {
    /// The folder that it is in.
    pub(super) folder: usize,
    /// The folder that it is.
    pub(super) opens: Option<usize>,
    /// If the entry may be one of several names.
    pub(super) inode: Option<Inode>,
    pub(super) entry: Entry,
    /// The secrets in it.
    pub(super) found: Vec<(usize, Place)>,
}

impl Entry {
    /// Without its depth, its attributes and what else it is a name of.
    pub(super) fn new(name: &[u8], kind: Kind, stat: &Stat) -> Self {
        Self {
            depth: 0,
            name: name.into(),
            kind,
            mode: stat.st_mode & 0o7777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            mtime: Time {
                seconds: stat.st_mtime,
                nanoseconds: u32::try_from(stat.st_mtime_nsec).unwrap_or(0),
            },
            attributes: Vec::new(),
            first: None,
        }
    }
}

impl Record {
    pub(super) fn new(folder: usize, entry: Entry) -> Self {
        Self {
            folder,
            opens: None,
            inode: None,
            entry,
            found: Vec::new(),
        }
    }

    /// Keeps attributes but for overlayfs's notes, and searches them and the entry's name.
    pub(super) fn take_attributes(&mut self, mut attributes: Attributes, needles: &Needles) {
        self.found
            .extend(search(&self.entry.name, needles, || Place::Name));
        attributes.retain(|(name, _)| !is_of_overlay(name) || **name == *OPAQUE);
        for (name, value) in &attributes {
            let place = || {
                let name = needles.mask(name);
                Place::Attribute(String::from_utf8_lossy(&name).into_owned())
            };
            let text = [name, &b"\0"[..], value].concat();
            self.found.extend(search(&text, needles, place));
        }
        self.entry.attributes = attributes;
    }

    /// Takes over what was found in the file by another of its names; the secrets, if this is the first.
    fn take_content(&mut self, content: &mut Content) {
        if let Kind::File {
            content: digest, ..
        } = &mut self.entry.kind
        {
            *digest = content.digest;
        }
        self.found.append(&mut content.found);
    }
}

/// The secrets in `bytes`, which are in one place.
pub(super) fn search(
    bytes: &[u8],
    needles: &Needles,
    place: impl Fn() -> Place,
) -> Vec<(usize, Place)> {
    let mut secrets = Vec::new();
    needles.search(bytes, &mut secrets);
    secrets
        .into_iter()
        .map(|secret| (secret, place()))
        .collect()
}

/// Makes a manifest of all records, and a list of the secrets. `contents` are those of files with several names.
pub(super) fn assemble(
    mut records: Vec<Record>,
    folders: &Folders,
    mut contents: HashMap<Inode, Content>,
    needles: &Needles,
) -> (Manifest, Vec<Found>) {
    records.sort_unstable_by(|a, b| (a.folder, &a.entry.name).cmp(&(b.folder, &b.entry.name)));
    let order = order(&records, folders.len());
    let mut records: Vec<Option<Record>> = records.into_iter().map(Some).collect();
    let mut entries = Vec::with_capacity(records.len());
    let (mut firsts, mut found) = (HashMap::new(), Vec::new());
    for (depth, index) in order {
        let Some(mut record) = records[index].take() else {
            continue;
        };
        record.entry.depth = depth;
        if let Some(inode) = record.inode {
            if let Some(content) = contents.get_mut(&inode) {
                record.take_content(content);
            }
            let index = u32::try_from(entries.len()).unwrap_or(u32::MAX);
            let first = *firsts.entry(inode).or_insert(index);
            record.entry.first = (first != index).then_some(first);
        }
        for (secret, place) in record.found {
            let path = folders.path(record.folder, &record.entry.name);
            found.push(Found {
                path: OsString::from_vec(needles.mask(&path).into_owned()).into(),
                secret,
                place,
            });
        }
        entries.push(record.entry);
    }
    (Manifest { entries }, found)
}

/// The order of a manifest: a depth and an index for each of the records, which are sorted by folder and name.
fn order(records: &[Record], folders: usize) -> Vec<(u32, usize)> {
    // Where the records of each folder begin.
    let mut starts = vec![0; folders + 1];
    for record in records {
        starts[record.folder + 1] += 1;
    }
    for folder in 0..folders {
        starts[folder + 1] += starts[folder];
    }
    let inside = |folder: usize| starts[folder]..starts[folder + 1];
    let mut order = Vec::with_capacity(records.len());
    let mut open = vec![inside(Folders::ROOT)];
    while let Some(rest) = open.last_mut() {
        let Some(index) = rest.next() else {
            open.pop();
            continue;
        };
        let record = &records[index];
        // The root stands beside what is in it, and has no name.
        let depth = if record.entry.name.is_empty() {
            0
        } else {
            open.len()
        };
        order.push((u32::try_from(depth).unwrap_or(u32::MAX), index));
        if let Some(folder) = record.opens {
            open.push(inside(folder));
        }
    }
    order
}
