//! Images as files: the OCI image layout, in a folder or a tar archive.
//!
//! Whatever is read is checked against its digest. Knows nothing of registries, of unpacking or of what a node is.

use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use crate::node::ImageDigest;

mod archive;
mod manifest;
mod platform;

use archive::Archive;
pub use archive::Blob;
pub(crate) use manifest::DOCUMENT_TYPES;
pub use manifest::{Image, Layer};

/// Of an index, a manifest or a configuration. Real ones have a few kilobytes.
pub(crate) const DOCUMENT_LIMIT: u64 = 4 << 20;

/// SHA-256 of a blob, the only algorithm that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

/// An image layout that has been opened.
#[derive(Debug)]
pub struct Layout {
    path: PathBuf,
    store: Store,
}

#[derive(Debug)]
enum Store {
    Folder,
    Archive(Archive),
}

#[derive(Debug, thiserror::Error)]
pub enum OciError {
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is not an OCI image layout: it has no {missing}", path.display())]
    NotALayout {
        path: PathBuf,
        missing: &'static str,
    },
    #[error("{} is compressed with {format}", path.display())]
    Compressed { path: PathBuf, format: &'static str },
    #[error("{} is damaged: {what}", path.display())]
    Damaged { path: PathBuf, what: String },
    #[error("{} lacks the {what} {digest}", path.display())]
    Missing {
        path: PathBuf,
        what: &'static str,
        digest: Digest,
    },
    #[error("it has no image for {wanted}, only for {}", .found.join(", "))]
    Platform { wanted: String, found: Vec<String> },
    #[error("it has no image")]
    Empty,
    #[error("it has {} images for {wanted}: {}", .found.len(), .found.join(", "))]
    Ambiguous { wanted: String, found: Vec<String> },
    #[error("{what} is of a kind that is not known here: {kind}")]
    Unsupported { what: String, kind: String },
}

impl OciError {
    /// The way out.
    pub fn help(&self) -> String {
        let text = match self {
            Self::Read { .. } => "check the path, which is relative to the file that names it",
            Self::NotALayout { .. } => {
                "make one with `skopeo copy docker://IMAGE oci:./dir` or `buildah push IMAGE oci:./dir`"
            }
            Self::Compressed { .. } => "decompress it first: the archive is read in place",
            Self::Damaged { .. } | Self::Missing { .. } => "copy the image again",
            Self::Platform { .. } => "copy the image for that platform, or say `platform=`",
            Self::Empty => "copy an image into it",
            Self::Ambiguous { .. } => "keep one image in a layout",
            Self::Unsupported { .. } => "copy the image with `skopeo copy --format oci`",
        };
        text.to_owned()
    }
}

impl Layout {
    pub fn open_folder(path: &Path) -> Result<Self, OciError> {
        let layout = Self {
            path: path.to_owned(),
            store: Store::Folder,
        };
        std::fs::read_dir(path).map_err(|source| layout.read_error(source))?;
        layout.check_version()
    }

    /// Opens a tar archive, by an index of its entries; nothing is extracted.
    pub fn open_archive(path: &Path) -> Result<Self, OciError> {
        let archive = Archive::open(path)?;
        Self {
            path: path.to_owned(),
            store: Store::Archive(archive),
        }
        .check_version()
    }

    fn check_version(self) -> Result<Self, OciError> {
        let marker = self.document("oci-layout", "oci-layout")?;
        let value: serde_json::Value = serde_json::from_slice(&marker)
            .map_err(|error| self.damaged(format!("oci-layout: {error}")))?;
        match value
            .get("imageLayoutVersion")
            .and_then(serde_json::Value::as_str)
        {
            Some(version) if version.starts_with("1.") => Ok(self),
            other => Err(OciError::Unsupported {
                what: self.path.display().to_string(),
                kind: format!("layout version {}", other.unwrap_or("none")),
            }),
        }
    }

    /// Opens a blob for reading. Its digest is for the reader to check: see [`Image::layers`].
    pub fn blob(&self, digest: &Digest) -> Result<Blob, OciError> {
        let missing = || OciError::Missing {
            path: self.path.clone(),
            what: "blob",
            digest: *digest,
        };
        self.open(&blob_path(digest))?.ok_or_else(missing)
    }

    /// Checks that the layers are there and have their sizes, without reading them.
    pub fn check_present(&self, image: &Image) -> Result<(), OciError> {
        for layer in &image.layers {
            let missing = || OciError::Missing {
                path: self.path.clone(),
                what: "layer",
                digest: layer.digest,
            };
            let blob = self.open(&blob_path(&layer.digest))?.ok_or_else(missing)?;
            if blob.size() != layer.size {
                let (has, size) = (blob.size(), layer.size);
                return Err(
                    self.damaged(format!("layer {} has {has} bytes of {size}", layer.digest))
                );
            }
        }
        Ok(())
    }

    fn open(&self, name: &str) -> Result<Option<Blob>, OciError> {
        match &self.store {
            Store::Folder => {
                Blob::open(&self.path.join(name)).map_err(|source| self.read_error(source))
            }
            Store::Archive(archive) => Ok(archive.find(name)),
        }
    }

    fn document(&self, name: &str, missing: &'static str) -> Result<Vec<u8>, OciError> {
        let not_there = || OciError::NotALayout {
            path: self.path.clone(),
            missing,
        };
        self.read_whole(self.open(name)?.ok_or_else(not_there)?, name)
    }

    fn read_whole(&self, blob: Blob, name: &str) -> Result<Vec<u8>, OciError> {
        let mut content = Vec::new();
        blob.take(DOCUMENT_LIMIT + 1)
            .read_to_end(&mut content)
            .map_err(|source| self.read_error(source))?;
        if content.len() as u64 > DOCUMENT_LIMIT {
            return Err(self.damaged(format!("{name} is larger than {DOCUMENT_LIMIT} bytes")));
        }
        Ok(content)
    }

    /// Reads a small blob and checks it.
    fn verified(&self, digest: &Digest, what: &'static str) -> Result<Vec<u8>, OciError> {
        let missing = || OciError::Missing {
            path: self.path.clone(),
            what,
            digest: *digest,
        };
        let blob = self.open(&blob_path(digest))?.ok_or_else(missing)?;
        let content = self.read_whole(blob, what)?;
        if Digest::of(&content) != *digest {
            return Err(self.damaged(format!("the {what} {digest} has another digest")));
        }
        Ok(content)
    }

    fn read_error(&self, source: io::Error) -> OciError {
        OciError::Read {
            path: self.path.clone(),
            source,
        }
    }

    fn damaged(&self, what: String) -> OciError {
        OciError::Damaged {
            path: self.path.clone(),
            what,
        }
    }
}

fn blob_path(digest: &Digest) -> String {
    format!("blobs/sha256/{}", hex::encode(digest.0))
}

impl Digest {
    pub fn of(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", hex::encode(self.0))
    }
}

impl FromStr for Digest {
    type Err = crate::node::NotADigest;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<ImageDigest>().map(|digest| Self(digest.0))
    }
}

impl From<Digest> for ImageDigest {
    fn from(digest: Digest) -> Self {
        Self(digest.0)
    }
}

impl From<ImageDigest> for Digest {
    fn from(digest: ImageDigest) -> Self {
        Self(digest.0)
    }
}
