//! Archives made by hand, since no tool writes the bad ones.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::{Ownership, Source, UnpackError, Unpacked, unpack_layers};
use crate::oci::Digest;

mod content;
mod names;
mod stack;

/// An archive in the making.
#[derive(Default)]
struct Tar(Vec<u8>);

impl Tar {
    fn entry(
        mut self,
        kind: u8,
        name: &str,
        change: impl FnOnce(&mut tar::Header),
        data: &[u8],
    ) -> Self {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::new(kind));
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_mode(if kind == b'5' { 0o755 } else { 0o644 });
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(1_000_000_000);
        header.set_size(data.len() as u64);
        change(&mut header);
        header.set_cksum();
        self.0.extend_from_slice(header.as_bytes());
        self.0.extend_from_slice(data);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    fn file(self, name: &str, data: &str) -> Self {
        self.entry(b'0', name, |_| {}, data.as_bytes())
    }

    fn folder(self, name: &str) -> Self {
        self.entry(b'5', name, |_| {}, b"")
    }

    fn link(self, kind: u8, name: &str, target: &str) -> Self {
        let set = |header: &mut tar::Header| {
            header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
        };
        self.entry(kind, name, set, b"")
    }

    fn symlink(self, name: &str, target: &str) -> Self {
        self.link(b'2', name, target)
    }

    /// An extended header for the next entry.
    fn pax(self, records: &[(&str, &[u8])]) -> Self {
        let mut data = Vec::new();
        for (key, value) in records {
            let rest = key.len() + value.len() + 3;
            let length = (1..1000)
                .find(|&length| length == rest + length.to_string().len())
                .unwrap();
            write!(data, "{length} {key}=").unwrap();
            data.extend_from_slice(value);
            data.push(b'\n');
        }
        self.entry(b'x', "pax", |_| {}, &data)
    }

    fn end(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 1024, 0);
        self.0
    }
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// A place for some layers.
struct Layers {
    folder: tempfile::TempDir,
    /// The nearest first.
    done: Vec<PathBuf>,
    ownership: Ownership,
}

fn unpack_layer(
    blob: impl std::io::Read + Send,
    digest: &Digest,
    into: &Path,
    below: &[PathBuf],
) -> Result<Unpacked, UnpackError> {
    unpack_layer_as(owners(), blob, digest, into, below)
}

fn unpack_layer_as(
    ownership: Ownership,
    blob: impl std::io::Read + Send,
    digest: &Digest,
    into: &Path,
    below: &[PathBuf],
) -> Result<Unpacked, UnpackError> {
    let source = Source {
        blob,
        digest: *digest,
        into: into.to_owned(),
        below: below.to_vec(),
    };
    let done = unpack_layers(vec![source], ownership)?;
    Ok(done[0])
}

/// As many as this user may make.
fn owners() -> Ownership {
    match is_root() {
        true => Ownership::Kept,
        false => Ownership::Caller,
    }
}

impl Layers {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            done: Vec::new(),
            ownership: owners(),
        }
    }

    fn try_add(&mut self, blob: &[u8]) -> Result<Unpacked, UnpackError> {
        let into = self.folder.path().join(self.done.len().to_string());
        fs::create_dir_all(&into).unwrap();
        let digest = Digest::of(blob);
        let unpacked = unpack_layer_as(self.ownership, blob, &digest, &into, &self.done)?;
        self.done.insert(0, into);
        Ok(unpacked)
    }

    /// Unpacks a layer on the others and returns where.
    fn add(&mut self, tar: Tar) -> PathBuf {
        self.try_add(&tar.end()).unwrap();
        self.done[0].clone()
    }
}

fn unpacked(tar: Tar) -> (Layers, PathBuf) {
    let mut layers = Layers::new();
    let path = layers.add(tar);
    (layers, path)
}

fn refusal(tar: Tar) -> UnpackError {
    Layers::new().try_add(&tar.end()).unwrap_err()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn is_whiteout(path: &Path) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|metadata| metadata.file_type().is_char_device() && metadata.rdev() == 0)
}

fn is_opaque(path: &Path) -> bool {
    let mut value = [0; 8];
    rustix::fs::lgetxattr(path, "user.overlay.opaque", &mut value[..])
        .is_ok_and(|length| &value[..length] == b"y")
}

fn xattr(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 256];
    let length = rustix::fs::lgetxattr(path, name, value.as_mut_slice()).ok()?;
    value.truncate(length);
    Some(value)
}
