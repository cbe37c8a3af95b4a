//! The manifest of a layer: what is in it, entry by entry, with whiteouts and opaque marks.
//!
//! A manifest says nothing of other layers, of the time of access and of inode numbers; what overlayfs notes on entries for
//! itself (`user.overlay.*`) is left out but for the opaque mark. Of whiteouts it keeps their names alone, since overlayfs
//! makes one inode serve for many.
//!
//! Encoded, it is a header, the number of entries, and the entries in their order, all numbers little-endian; see
//! [`encode`]. On disk that is compressed with zstd; its digest is that of the plain form.

use std::io;

mod assemble;
mod describe;
mod encode;
mod read;
mod verify;
mod walk;

pub use describe::{Description, describe};
pub use verify::{Change, Difference, verify};

/// What is in a layer. In the order of paths, compared name by name: a folder, all in it, what comes after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The layer's root first. Depths grow by one at most, and only after a folder.
    entries: Vec<Entry>,
}

/// One entry of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// How many folders of the layer it is in: 0 for the root alone.
    pub depth: u32,
    /// Its last name; empty for the root.
    pub name: Box<[u8]>,
    pub kind: Kind,
    /// The mode without the kind: 0o7777 at most.
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    /// When its content last changed.
    pub mtime: Time,
    /// Extended attributes, sorted by name.
    pub attributes: Attributes,
    /// If the same file has a name further ahead: the index of the first such entry.
    pub first: Option<u32>,
}

/// Names and values.
pub type Attributes = Vec<(Box<[u8]>, Box<[u8]>)>;

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Folder,
    File {
        /// In bytes, holes counted.
        size: u64,
        /// BLAKE3 of the content, holes as zeros.
        content: [u8; 32],
    },
    Symlink {
        target: Box<[u8]>,
    },
    Fifo,
    Socket,
    Character {
        /// As the kernel encodes it in `st_rdev`.
        device: u64,
    },
    Block {
        device: u64,
    },
    /// Hides an entry of the layers below. Mode, owner and time of such an entry are 0 here.
    Whiteout,
}

/// A time as seconds since 1970 and nanoseconds after that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time {
    pub seconds: i64,
    pub nanoseconds: u32,
}

impl Manifest {
    /// All entries, in their order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Calls `visit` with each entry and its path from the layer's root, which is empty for the root itself.
    pub fn for_each_path(&self, mut visit: impl FnMut(&[u8], &Entry)) {
        let mut path = PathAt::default();
        for entry in &self.entries {
            path.go(entry);
            visit(path.bytes(), entry);
        }
    }

    /// The same with what belongs to the user and the group `from` given to those of `to`.
    #[must_use]
    pub fn with_owner(mut self, from: (u32, u32), to: (u32, u32)) -> Self {
        for entry in &mut self.entries {
            // Of a whiteout there is a name alone.
            if entry.kind != Kind::Whiteout {
                entry.uid = if entry.uid == from.0 { to.0 } else { entry.uid };
                entry.gid = if entry.gid == from.1 { to.1 } else { entry.gid };
            }
        }
        self
    }

    /// The BLAKE3 digest of the plain form.
    pub fn digest(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        encode::write(self, &mut |bytes| {
            hasher.update(bytes);
        });
        hasher.finalize()
    }

    /// The manifest as it is stored: compressed with zstd.
    ///
    /// # Errors
    ///
    /// If zstd fails, which only a lack of memory makes it do.
    pub fn encode(&self) -> io::Result<Vec<u8>> {
        encode::compress(self)
    }

    /// Reads what [`Self::encode`] has made.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidData`] if `stored` is damaged or was written by a version with another form.
    pub fn decode(stored: &[u8]) -> io::Result<Self> {
        encode::decompress(stored)
    }
}

/// The path of the entry that a walk over a manifest has come to.
#[derive(Default)]
struct PathAt {
    bytes: Vec<u8>,
    /// Where the path of the folder at each depth ends.
    ends: Vec<usize>,
}

impl PathAt {
    fn go(&mut self, entry: &Entry) {
        let Some(depth) = entry.depth.checked_sub(1) else {
            return;
        };
        self.ends.truncate(depth as usize);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
        if !self.bytes.is_empty() {
            self.bytes.push(b'/');
        }
        self.bytes.extend_from_slice(&entry.name);
        self.ends.push(self.bytes.len());
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests;
