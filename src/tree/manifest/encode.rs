//! A manifest as bytes and back.
//!
//! ```text
//! manifest = "atelier manifest 1\n", count: u64, entry…
//! entry    = depth: u32, name, kind: u8, first: u32 (0, or an index + 1), own
//! own      = for a whiteout: nothing
//!            else: mode: u32, uid: u32, gid: u32, seconds: i64, nanoseconds: u32, of its kind, count: u32, (name, value)…
//! of its kind = for a file: size: u64, BLAKE3: 32 bytes; for a symlink: its target; for a device: u64
//! name, target, value = length: u32, bytes
//! ```

use std::io::{self, Write};

use super::{Entry, Kind, Manifest, Time};

const HEADER: &[u8] = b"atelier manifest 1\n";

/// zstd's own default: hashes do not compress, and names do at any level.
const LEVEL: i32 = 3;

pub(super) fn compress(manifest: &Manifest) -> io::Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
    let mut result = Ok(());
    write(manifest, &mut |bytes| {
        if result.is_ok() {
            result = encoder.write_all(bytes);
        }
    });
    result?;
    encoder.finish()
}

pub(super) fn decompress(stored: &[u8]) -> io::Result<Manifest> {
    let damaged = |error: io::Error| damaged(&error.to_string());
    let plain = zstd::decode_all(stored).map_err(damaged)?;
    let mut reader = Reader(&plain);
    if reader.take(HEADER.len())? != HEADER {
        return Err(self::damaged("it was written by another version"));
    }
    let count = u64::from_le_bytes(reader.array()?);
    let mut entries: Vec<Entry> = Vec::new();
    let mut order = Order::default();
    for _ in 0..count {
        let entry = reader.entry()?;
        order.check(&entries, &entry)?;
        entries.push(entry);
    }
    if entries.is_empty() || !reader.0.is_empty() {
        return Err(self::damaged("it has another length than it says"));
    }
    Ok(Manifest { entries })
}

/// Gives the plain form to `sink`, part by part.
pub(super) fn write(manifest: &Manifest, sink: &mut dyn FnMut(&[u8])) {
    sink(HEADER);
    sink(&(manifest.entries.len() as u64).to_le_bytes());
    let mut part = Vec::new();
    for entry in &manifest.entries {
        part.clear();
        entry.write(&mut part);
        sink(&part);
    }
}

impl Entry {
    fn write(&self, to: &mut Vec<u8>) {
        number(to, self.depth);
        text(to, &self.name);
        to.push(self.kind.tag());
        number(to, self.first.map_or(0, |first| first + 1));
        if self.kind == Kind::Whiteout {
            return;
        }
        number(to, self.mode);
        number(to, self.uid);
        number(to, self.gid);
        to.extend_from_slice(&self.mtime.seconds.to_le_bytes());
        number(to, self.mtime.nanoseconds);
        match &self.kind {
            Kind::File { size, content } => {
                to.extend_from_slice(&size.to_le_bytes());
                to.extend_from_slice(content);
            }
            Kind::Symlink { target } => text(to, target),
            Kind::Character { device } | Kind::Block { device } => {
                to.extend_from_slice(&device.to_le_bytes());
            }
            Kind::Folder | Kind::Fifo | Kind::Socket | Kind::Whiteout => {}
        }
        length(to, self.attributes.len());
        for (name, value) in &self.attributes {
            text(to, name);
            text(to, value);
        }
    }
}

impl Kind {
    fn tag(&self) -> u8 {
        match self {
            Self::Folder => b'd',
            Self::File { .. } => b'f',
            Self::Symlink { .. } => b'l',
            Self::Fifo => b'p',
            Self::Socket => b's',
            Self::Character { .. } => b'c',
            Self::Block { .. } => b'b',
            Self::Whiteout => b'w',
        }
    }
}

fn number(to: &mut Vec<u8>, number: u32) {
    to.extend_from_slice(&number.to_le_bytes());
}

/// Of a name, a link or an attribute: the kernel's limits are below 64 KiB.
fn length(to: &mut Vec<u8>, length: usize) {
    number(to, u32::try_from(length).unwrap_or(u32::MAX));
}

fn text(to: &mut Vec<u8>, bytes: &[u8]) {
    length(to, bytes.len());
    to.extend_from_slice(bytes);
}

fn damaged(what: &str) -> io::Error {
    let message = format!("the manifest is damaged: {what}");
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// What is left to read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> io::Result<&'a [u8]> {
        let (taken, rest) = self
            .0
            .split_at_checked(count)
            .ok_or_else(|| damaged("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| damaged("it ends too early"))
    }

    fn number(&mut self) -> io::Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn text(&mut self) -> io::Result<Box<[u8]>> {
        let length = self.number()? as usize;
        Ok(self.take(length)?.into())
    }

    fn entry(&mut self) -> io::Result<Entry> {
        let (depth, name) = (self.number()?, self.text()?);
        let [tag] = self.array()?;
        let first = self.number()?.checked_sub(1);
        let mut entry = Entry {
            depth,
            name,
            kind: Kind::Whiteout,
            mode: 0,
            uid: 0,
            gid: 0,
            mtime: Time::default(),
            attributes: Vec::new(),
            first,
        };
        if tag == b'w' {
            return Ok(entry);
        }
        entry.mode = self.number()?;
        entry.uid = self.number()?;
        entry.gid = self.number()?;
        entry.mtime.seconds = i64::from_le_bytes(self.array()?);
        entry.mtime.nanoseconds = self.number()?;
        entry.kind = self.kind(tag)?;
        for _ in 0..self.number()? {
            entry.attributes.push((self.text()?, self.text()?));
        }
        Ok(entry)
    }

    fn kind(&mut self, tag: u8) -> io::Result<Kind> {
        Ok(match tag {
            b'd' => Kind::Folder,
            b'f' => Kind::File {
                size: u64::from_le_bytes(self.array()?),
                content: self.array()?,
            },
            b'l' => Kind::Symlink {
                target: self.text()?,
            },
            b'p' => Kind::Fifo,
            b's' => Kind::Socket,
            b'c' => Kind::Character {
                device: u64::from_le_bytes(self.array()?),
            },
            b'b' => Kind::Block {
                device: u64::from_le_bytes(self.array()?),
            },
            _ => return Err(damaged("it has an entry of no known kind")),
        })
    }
}

/// The names in whose folders the next entry may be, each the last one of its depth.
#[derive(Default)]
struct Order(Vec<Box<[u8]>>);

impl Order {
    /// Whether an entry may follow those before: there is one way to write a manifest.
    fn check(&mut self, before: &[Entry], entry: &Entry) -> io::Result<()> {
        let depth = entry.depth as usize;
        let is_first_in_order = entry
            .first
            .is_none_or(|first| (first as usize) < before.len());
        let is_in_place = match before.last() {
            None => depth == 0 && entry.name.is_empty() && entry.kind == Kind::Folder,
            Some(last) if depth > self.0.len() => {
                last.kind == Kind::Folder && depth == self.0.len() + 1
            }
            Some(_) => depth > 0 && self.0[depth - 1] < entry.name,
        };
        if !is_in_place || !is_first_in_order {
            return Err(damaged("its entries are out of order"));
        }
        if let Some(above) = depth.checked_sub(1) {
            self.0.truncate(above);
            self.0.push(entry.name.clone());
        }
        Ok(())
    }
}
