//! What identifies the machine's software, hashed.

use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::walk::{self, Folder};
use super::{Host, HostError, packages};

/// Of the encoding below: whoever changes that changes this.
const TAG: &[u8] = b"atelier/host/1";

/// Hashes pieces with their lengths, so that no two lists of pieces are the same bytes.
struct Pieces(Sha256);

impl Pieces {
    fn add(&mut self, piece: &[u8]) {
        self.0.update((piece.len() as u64).to_le_bytes());
        self.0.update(piece);
    }

    fn number(&mut self, number: i64) {
        self.0.update(number.to_le_bytes());
    }
}

/// Returns the fingerprint and the folders that were walked for it.
pub(super) fn take(host: &Host) -> Result<([u8; 32], Vec<Folder>), HostError> {
    let mut pieces = Pieces(Sha256::new());
    pieces.add(TAG);
    pieces.add(&release(host)?);
    let installed = packages::installed(host)?;
    pieces.number(installed.len().try_into().unwrap_or(i64::MAX));
    for package in &installed {
        pieces.add(package.as_bytes());
    }
    let mut folders = Vec::new();
    for top in tops(host, installed.is_empty()) {
        pieces.add(b"top");
        pieces.add(
            top.strip_prefix(&host.root)
                .unwrap_or(&top)
                .as_os_str()
                .as_bytes(),
        );
        add_below(&mut pieces, &top, &mut folders)?;
    }
    for path in &host.extra {
        pieces.add(b"extra");
        pieces.add(path.named.as_os_str().as_bytes());
        pieces.add(path.real.as_os_str().as_bytes());
        add_below(&mut pieces, &path.real, &mut folders)?;
    }
    pieces.add(b"end");
    Ok((pieces.0.finalize().into(), folders))
}

/// Where no package manager tells what is in /usr, its metadata must.
fn tops(host: &Host, is_without_packages: bool) -> Vec<PathBuf> {
    let usual = if is_without_packages {
        "usr"
    } else {
        "usr/local"
    };
    [usual, "opt"].iter().map(|path| host.at(path)).collect()
}

/// The fields that name the release; the others are for people.
fn release(host: &Host) -> Result<Vec<u8>, HostError> {
    let read = ["etc/os-release", "usr/lib/os-release"]
        .iter()
        .find_map(|path| fs::read(host.at(path)).ok());
    let text = read.ok_or(HostError::NoRelease)?;
    let wanted = [
        "ID=",
        "VERSION_ID=",
        "VERSION_CODENAME=",
        "BUILD_ID=",
        "IMAGE_VERSION=",
        "VARIANT_ID=",
    ];
    let text = String::from_utf8_lossy(&text);
    let lines = text
        .lines()
        .filter(|line| wanted.iter().any(|field| line.starts_with(field)));
    Ok(lines.collect::<Vec<_>>().join("\n").into_bytes())
}

fn add_below(pieces: &mut Pieces, top: &Path, folders: &mut Vec<Folder>) -> Result<(), HostError> {
    walk::visit(top, folders, &mut |path, metadata| {
        let name = path.strip_prefix(top).unwrap_or(path);
        add_entry(pieces, name, path, metadata);
    })
}

/// A folder is known by its entries: its own time and size move without a change, as when a temporary file comes and
/// goes.
fn add_entry(pieces: &mut Pieces, name: &Path, path: &Path, metadata: &Metadata) {
    pieces.add(name.as_os_str().as_bytes());
    pieces.number(metadata.mode().into());
    if metadata.is_dir() {
        return;
    }
    if metadata.is_symlink() {
        let target = fs::read_link(path).unwrap_or_default();
        pieces.add(target.as_os_str().as_bytes());
        return;
    }
    pieces.number(metadata.size().try_into().unwrap_or(i64::MAX));
    pieces.number(metadata.mtime());
    pieces.number(metadata.mtime_nsec());
}
