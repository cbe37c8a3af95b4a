//! From index.json to one image: its manifest, its configuration, its layers.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::platform::{Offer, Platform, choose};
use super::{Digest, Layout, OciError};

/// An index may hold indexes; a deeper nest is nobody's image.
const DEPTH_LIMIT: usize = 4;

/// One image for one platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Of its manifest.
    pub digest: Digest,
    pub platform: String,
    /// `NAME=value`, as the image sets them.
    pub env: Vec<String>,
    /// The lowest first. Their digests are those of the blobs, and have not been checked.
    pub layers: Vec<Layer>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    pub digest: Digest,
    pub size: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Index {
    #[serde(default)]
    manifests: Vec<Descriptor>,
}

/// An index or a manifest: the kind is not always said.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Top {
    media_type: Option<String>,
    manifests: Option<Vec<Descriptor>>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    #[serde(default)]
    media_type: String,
    digest: String,
    size: u64,
    platform: Option<Platform>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Manifest {
    config: Descriptor,
    layers: Vec<Descriptor>,
}

/// Of the configuration only this counts: a sandbox has its own user, folder and command.
#[derive(Deserialize)]
struct Configuration {
    #[serde(flatten)]
    platform: Platform,
    #[serde(default)]
    config: Option<Runtime>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Runtime {
    #[serde(default)]
    env: Option<Vec<String>>,
}

impl Image {
    /// Fails if the configuration says another platform than the index that led here.
    pub fn check_platform(&self, wanted: &str) -> Result<(), OciError> {
        let kind = |platform: &str| platform.split('/').take(2).map(str::to_owned).collect();
        let (own, other): (Vec<String>, Vec<String>) = (kind(&self.platform), kind(wanted));
        match own == other {
            true => Ok(()),
            false => Err(OciError::Platform {
                wanted: wanted.to_owned(),
                found: vec![self.platform.clone()],
            }),
        }
    }
}

impl Layout {
    /// Finds the image for `platform`, such as `linux/amd64`, and returns the digest of its manifest.
    pub fn find(&self, platform: &str) -> Result<Digest, OciError> {
        let top = self.document("index.json", "index.json")?;
        let mut offers = Vec::new();
        let index = self.parse::<Index>(&top, "index.json")?;
        self.collect(&index, DEPTH_LIMIT, &mut offers)?;
        choose(&offers, platform)
    }

    /// The same for a manifest or an index in the layout, whatever the layout's own index says.
    pub fn find_below(&self, digest: &Digest, platform: &str) -> Result<Digest, OciError> {
        let content = self.verified(digest, "manifest")?;
        let top: Top = self.parse(&content, "manifest")?;
        let mut offers = Vec::new();
        match top.manifests {
            Some(manifests) => {
                self.collect(&Index { manifests }, DEPTH_LIMIT, &mut offers)?;
            }
            None => {
                let kind = top
                    .media_type
                    .unwrap_or_else(|| DOCUMENT_TYPES[2].to_owned());
                if !is_manifest(&kind) {
                    return Err(unsupported("an image", &kind));
                }
                let manifest: Manifest = self.parse(&content, "manifest")?;
                offers.push(Offer {
                    digest: *digest,
                    platform: self.configuration(&manifest)?.platform,
                    name: None,
                });
            }
        }
        choose(&offers, platform)
    }

    /// Reads the image whose manifest has this digest.
    pub fn load(&self, digest: &Digest) -> Result<Image, OciError> {
        let manifest: Manifest = self.parse(&self.verified(digest, "manifest")?, "manifest")?;
        let configuration = self.configuration(&manifest)?;
        let layers = manifest.layers.iter().map(|layer| {
            check_layer(layer)?;
            Ok(Layer {
                digest: self.digest(layer)?,
                size: layer.size,
            })
        });
        Ok(Image {
            digest: *digest,
            layers: layers.collect::<Result<_, _>>()?,
            env: configuration
                .config
                .and_then(|runtime| runtime.env)
                .unwrap_or_default(),
            platform: configuration.platform.to_string(),
        })
    }

    fn collect(
        &self,
        index: &Index,
        depth: usize,
        offers: &mut Vec<Offer>,
    ) -> Result<(), OciError> {
        for descriptor in &index.manifests {
            let digest = self.digest(descriptor)?;
            if is_index(&descriptor.media_type) {
                if depth == 0 {
                    return Err(self.damaged("its indexes are nested too deeply".to_owned()));
                }
                let inner = self.parse(&self.verified(&digest, "index")?, "index")?;
                self.collect(&inner, depth - 1, offers)?;
            } else if let Some(platform) = self.platform_of(descriptor, &digest)? {
                let name = descriptor
                    .annotations
                    .get("org.opencontainers.image.ref.name")
                    .cloned();
                offers.push(Offer {
                    digest,
                    platform,
                    name,
                });
            }
        }
        Ok(())
    }

    /// `None` for what is no image, such as a signature or an attestation.
    fn platform_of(
        &self,
        descriptor: &Descriptor,
        digest: &Digest,
    ) -> Result<Option<Platform>, OciError> {
        if !is_manifest(&descriptor.media_type) {
            return Ok(None);
        }
        if let Some(platform) = &descriptor.platform {
            return Ok((platform.os != "unknown").then(|| platform.clone()));
        }
        let manifest: Manifest = self.parse(&self.verified(digest, "manifest")?, "manifest")?;
        if !is_configuration(&manifest.config.media_type) {
            return Ok(None);
        }
        Ok(Some(self.configuration(&manifest)?.platform))
    }

    fn configuration(&self, manifest: &Manifest) -> Result<Configuration, OciError> {
        if !is_configuration(&manifest.config.media_type) {
            return Err(unsupported(
                "the configuration",
                &manifest.config.media_type,
            ));
        }
        let digest = self.digest(&manifest.config)?;
        self.parse(&self.verified(&digest, "configuration")?, "configuration")
    }

    fn digest(&self, descriptor: &Descriptor) -> Result<Digest, OciError> {
        if descriptor.digest.starts_with("sha256:") {
            descriptor
                .digest
                .parse()
                .map_err(|error| self.damaged(format!("{error}")))
        } else {
            Err(unsupported("a digest", &descriptor.digest))
        }
    }

    fn parse<T: DeserializeOwned>(&self, text: &[u8], what: &str) -> Result<T, OciError> {
        serde_json::from_slice(text).map_err(|error| self.damaged(format!("{what}: {error}")))
    }
}

/// The kinds of documents that lead to an image: two of indexes, two of manifests.
pub(crate) const DOCUMENT_TYPES: [&str; 4] = [
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
];

fn is_index(media_type: &str) -> bool {
    DOCUMENT_TYPES[..2].contains(&media_type)
}

fn is_manifest(media_type: &str) -> bool {
    DOCUMENT_TYPES[2..].contains(&media_type)
}

fn is_configuration(media_type: &str) -> bool {
    matches!(
        media_type,
        "application/vnd.oci.image.config.v1+json"
            | "application/vnd.docker.container.image.v1+json"
    )
}

/// The compression is seen from the bytes; here only what is no tar archive at all is refused.
fn check_layer(layer: &Descriptor) -> Result<(), OciError> {
    let name = layer.media_type.split('+').next().unwrap_or_default();
    let is_tar = matches!(
        name,
        "application/vnd.oci.image.layer.v1.tar"
            | "application/vnd.oci.image.layer.nondistributable.v1.tar"
            | "application/vnd.docker.image.rootfs.diff.tar"
            | "application/vnd.docker.image.rootfs.diff.tar.gzip"
            | "application/vnd.docker.image.rootfs.diff.tar.zstd"
            | "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"
    );
    let is_encrypted = layer.media_type.ends_with("+encrypted");
    if is_tar && !is_encrypted {
        Ok(())
    } else {
        Err(unsupported("a layer", &layer.media_type))
    }
}

fn unsupported(what: &str, kind: &str) -> OciError {
    OciError::Unsupported {
        what: what.to_owned(),
        kind: kind.to_owned(),
    }
}
