//! A node with every input pinned: exactly what enters its key, and nothing else.
//!
//! Unresolved states cannot be written down here: no optional digest, no path of the machine, no time.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

pub use atelier_lang::graph::{Shell, User};

/// The identity of a snapshot: SHA-256 of the node's preimage. Compared as 32 bytes, shown as `snap-` and 12 digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentKey(pub [u8; 32]);

/// The digest of an image's manifest for one platform, or of what makes up the image `host`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageDigest(pub [u8; 32]);

/// A git object id, which says by its length which hash made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectId {
    Sha1([u8; 20]),
    Sha256([u8; 32]),
}

/// Text that is not 32 (or, for an object id, 20) bytes in lower-case hex.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a hexadecimal digest")]
pub struct NotADigest(String);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedNode {
    pub kind: Kind,
    pub source: Source,
    /// By where they land in the workspace.
    pub repos: BTreeMap<String, ResolvedRepo>,
    /// By where they land in the workspace.
    pub files: BTreeMap<String, ResolvedFile>,
    /// Effective variables; in the key only if there is a step.
    pub env: BTreeMap<String, String>,
    /// Effective folders before PATH; in the key only if there is a step.
    pub path: Vec<String>,
    pub steps: Vec<ResolvedStep>,
    /// Toolchains mounted while baking, by mount path.
    pub needs: BTreeMap<String, ContentKey>,
    /// The mount path that a toolchain provides; empty for a prebuild.
    pub provides: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Prebuild,
    Toolchain,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Image {
        digest: ImageDigest,
        platform: String,
    },
    Parent(ContentKey),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolvedRepo {
    Commit {
        /// Normalised; empty for a repository on disk without an origin.
        url: String,
        /// `refs/heads/…` or `refs/tags/…`; empty where a commit is given or a repository on disk is read at its HEAD.
        reference: String,
        commit: ObjectId,
        /// Commits of history; 0 means all of it.
        depth: u32,
        submodules: bool,
        lfs: bool,
    },
    Only {
        format: ObjectFormat,
        entries: BTreeSet<TreeEntry>,
        submodules: bool,
        lfs: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectFormat {
    Sha1,
    Sha256,
}

/// One path of a commit's tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TreeEntry {
    pub path: String,
    /// As git writes it, such as `100644`.
    pub mode: String,
    /// `None` for a stub, whose content is not in the key.
    pub object: Option<ObjectId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedFile {
    /// Four octal digits.
    pub mode: String,
    /// BLAKE3 of the content.
    pub content: [u8; 32],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedStep {
    pub user: User,
    /// Relative to /home/dev.
    pub folder: String,
    pub shell: Shell,
    pub command: String,
}

impl ContentKey {
    pub fn to_hex(self) -> String {
        hex::encode(self.0)
    }

    /// The name people see; 48 bits, so never compared.
    pub fn snapshot_name(self) -> String {
        format!("snap-{}", hex::encode(&self.0[..6]))
    }
}

impl ObjectId {
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Sha1(bytes) => bytes,
            Self::Sha256(bytes) => bytes,
        }
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let sha1 = bytes.try_into().map(Self::Sha1);
        sha1.or_else(|_| bytes.try_into().map(Self::Sha256)).ok()
    }

    pub fn format(&self) -> ObjectFormat {
        match self {
            Self::Sha1(_) => ObjectFormat::Sha1,
            Self::Sha256(_) => ObjectFormat::Sha256,
        }
    }
}

fn parse_32(text: &str) -> Result<[u8; 32], NotADigest> {
    let mut bytes = [0; 32];
    let lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
    match hex::decode_to_slice(text, &mut bytes) {
        Ok(()) if lower => Ok(bytes),
        _ => Err(NotADigest(text.to_owned())),
    }
}

impl FromStr for ContentKey {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        parse_32(text).map(Self)
    }
}

impl FromStr for ImageDigest {
    type Err = NotADigest;

    /// Reads `sha256:` and 64 digits.
    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let digits = text
            .strip_prefix("sha256:")
            .ok_or_else(|| NotADigest(text.to_owned()))?;
        parse_32(digits).map(Self)
    }
}

impl FromStr for ObjectId {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let bytes = hex::decode(text).ok();
        bytes
            .filter(|_| !text.bytes().any(|byte| byte.is_ascii_uppercase()))
            .and_then(|bytes| Self::from_bytes(&bytes))
            .ok_or_else(|| NotADigest(text.to_owned()))
    }
}

impl fmt::Debug for ContentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}

impl fmt::Display for ImageDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", hex::encode(self.0))
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.as_bytes()))
    }
}
