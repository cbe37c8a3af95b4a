//! The lock: what inputs were pinned to, in a file beside the project's.
//!
//! An entry pins, absence floats. What lies on this machine (image `host`, layouts, repositories and files on disk) is
//! never locked: it is read as it is. Nor is what the file pins itself. Knows nothing of keys, stores or backends.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use atelier_lang::diag::{Code, Diagnostic};
use atelier_lang::graph::{Reference, RepoSource};
use atelier_lang::source::Sources;
use atelier_lang::spelling::quoted;

use crate::node::{ImageDigest, ObjectId};
use crate::resolve::RepoInput;

mod pins;
mod read;
pub mod update;

pub use pins::{Locked, NotLocked};
pub use read::read;

/// A lock that cannot be used, or that lacks what it has to have.
pub const UNUSABLE: Code = Code(502);

/// The version of the notation that this program reads and writes.
const VERSION: u32 = 1;

/// Every entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    pub images: BTreeMap<ImageKey, LockedImage>,
    pub repos: BTreeMap<RepoKey, LockedRepo>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImageKey {
    /// As the file writes it: an alias, or a reference.
    pub name: String,
    pub platform: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedImage {
    pub digest: ImageDigest,
    /// The reference that an alias stood for: what another configuration says by that name is another image.
    pub reference: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RepoKey {
    /// Normalised.
    pub url: String,
    /// In full, such as `refs/heads/main`.
    pub reference: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockedRepo {
    pub head: ObjectId,
    /// The ref was the default branch: it answers where the file names none.
    pub is_default: bool,
}

/// What is wrong with a lock file, in its order.
#[derive(Debug)]
pub struct Unusable {
    pub sources: Sources,
    pub diagnostics: Vec<Diagnostic>,
}

impl Lock {
    /// The entry of an image called `name`; `reference` is what a registry would be asked for.
    pub fn image(&self, name: &str, platform: &str, reference: &str) -> Option<ImageDigest> {
        let key = ImageKey {
            name: name.to_owned(),
            platform: platform.to_owned(),
        };
        let entry = self.images.get(&key)?;
        let same = entry.reference.as_deref().unwrap_or(name) == reference;
        same.then_some(entry.digest)
    }

    /// The entry of a repository: its URL, the full name of its ref, and the commit.
    pub fn repo(&self, input: &RepoInput) -> Option<(&RepoKey, ObjectId)> {
        let RepoSource::Url(url) = &input.source else {
            return None;
        };
        let wanted = match &input.reference {
            None => None,
            Some(Reference::Branch(name)) => Some(format!("refs/heads/{name}")),
            Some(Reference::Tag(name)) => Some(format!("refs/tags/{name}")),
            Some(Reference::Commit(_)) => return None,
        };
        let found = self
            .of_url(url)
            .find(|(key, entry)| match wanted.as_deref() {
                Some(wanted) => key.reference == wanted,
                None => entry.is_default,
            });
        found.map(|(key, entry)| (key, entry.head))
    }

    /// The entries of one repository.
    fn of_url(&self, url: &str) -> impl Iterator<Item = (&RepoKey, &LockedRepo)> {
        let is_same = move |(key, _): &(&RepoKey, &LockedRepo)| key.url == url;
        self.repos.iter().filter(is_same)
    }

    /// The file's text: a line for each entry, in order. The empty lines between let git merge two updates of neighbours.
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "// Written by `atelier update`. Commit it: builds then take these inputs until the next update.\nlock {VERSION}\n"
        );
        for (key, entry) in &self.images {
            let (name, platform) = (quoted(&key.name), quoted(&key.platform));
            let digest = entry.digest;
            write!(
                text,
                "\nimage {name} platform={platform} digest=\"{digest}\""
            )
            .ok();
            if let Some(reference) = &entry.reference {
                write!(text, " reference={}", quoted(reference)).ok();
            }
            text.push('\n');
        }
        for (key, entry) in &self.repos {
            let (url, reference) = (quoted(&key.url), quoted(&key.reference));
            let head = entry.head;
            write!(text, "\nrepo {url} ref={reference} head=\"{head}\"").ok();
            text.push_str(match entry.is_default {
                true => " default=#true\n",
                false => "\n",
            });
        }
        text
    }
}

/// Where the lock of a file is: `prebuild.lock.kdl` for `prebuild.kdl`.
pub fn beside(file: &Path) -> PathBuf {
    let stem = match file.extension() {
        Some(ending) if ending == "kdl" => file.file_stem(),
        _ => file.file_name(),
    };
    let mut name = OsString::from(stem.unwrap_or_default());
    name.push(".lock.kdl");
    file.with_file_name(name)
}

#[cfg(test)]
mod tests;
