//! Layers as trees of files: many merged into one, one described, searched and compared with its description.
//!
//! Plain functions on folders that are at rest. They know nothing of the store, of sandboxes or of users: whoever calls
//! them has the rights that the files ask for. A layer is what an overlay mount with `userxattr` takes as one: it may
//! hold whiteouts (character devices 0:0) and opaque folders (`user.overlay.opaque` = y).
//!
//! Trees are made by strangers. They are walked by descriptors, so names may be longer together than one call takes, and
//! by loops that keep a fixed number of descriptors, so no depth exhausts the stack or the process.

use std::io;
use std::path::Path;

use rustix::io::Errno;

mod attributes;
mod canary;
mod descent;
mod holes;
mod manifest;
mod merge;

pub use attributes::take_after;
pub use canary::{Found, Needles, Place, base64_forms, cleanse};
pub use manifest::{
    Attributes, Change, Description, Difference, Entry, Kind, Manifest, Time, describe, verify,
};
pub use merge::{Material, Merged, merge};

/// An error that says what could not be done to which entry, `path` below `root`.
fn failed(operation: &str, root: &Path, path: &[u8], errno: Errno) -> io::Error {
    let error = io::Error::from(errno);
    let place = match path {
        [] => root.display().to_string(),
        path => format!("{}/{}", root.display(), shown(path)),
    };
    io::Error::new(error.kind(), format!("cannot {operation} {place}: {error}"))
}

/// A path for people: one line, whatever bytes are in it.
fn shown(path: &[u8]) -> String {
    let mut text = String::new();
    for char in String::from_utf8_lossy(path).chars() {
        match char.is_control() {
            true => text.extend(char.escape_default()),
            false => text.push(char),
        }
    }
    text
}

#[cfg(test)]
mod tests;
