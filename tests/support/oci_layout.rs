//! OCI layouts for tests, built from nothing.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub(crate) const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
pub(crate) const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// A layout in a folder.
pub(crate) struct OciLayout(pub(crate) PathBuf);

impl OciLayout {
    pub(crate) fn create(path: &Path) -> Self {
        std::fs::create_dir_all(path.join("blobs/sha256")).unwrap();
        std::fs::write(path.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
        Self(path.to_owned())
    }

    pub(crate) fn blob_path(&self, digest: &str) -> PathBuf {
        self.0
            .join("blobs/sha256")
            .join(digest.strip_prefix("sha256:").unwrap())
    }

    /// Stores a blob and returns its descriptor.
    pub(crate) fn blob(&self, media_type: &str, content: &[u8]) -> Value {
        let digest = format!("sha256:{}", hex::encode(Sha256::digest(content)));
        std::fs::write(self.blob_path(&digest), content).unwrap();
        json!({ "mediaType": media_type, "digest": digest, "size": content.len() })
    }

    pub(crate) fn json(&self, media_type: &str, content: &Value) -> Value {
        self.blob(media_type, &serde_json::to_vec(content).unwrap())
    }

    /// Stores an image and returns the descriptor of its manifest, without a platform.
    pub(crate) fn image(&self, platform: &str, layers: &[&[u8]]) -> Value {
        let mut parts = platform.split('/');
        let mut config = json!({
            "os": parts.next(),
            "architecture": parts.next(),
            "config": { "Env": ["PATH=/bin", "LANG=C"], "User": "nobody" },
            "rootfs": { "type": "layers", "diff_ids": [] },
        });
        if let Some(variant) = parts.next() {
            config["variant"] = json!(variant);
        }
        let config = self.json(CONFIG, &config);
        let layers: Vec<Value> = layers.iter().map(|layer| self.blob(LAYER, layer)).collect();
        self.json(
            MANIFEST,
            &json!({ "schemaVersion": 2, "config": config, "layers": layers }),
        )
    }

    /// Stores an index and returns its descriptor.
    pub(crate) fn index(&self, manifests: &[Value]) -> Value {
        self.json(
            INDEX,
            &json!({ "schemaVersion": 2, "manifests": manifests }),
        )
    }

    pub(crate) fn set_top(&self, manifests: &[Value]) {
        let index = json!({ "schemaVersion": 2, "manifests": manifests });
        std::fs::write(
            self.0.join("index.json"),
            serde_json::to_vec(&index).unwrap(),
        )
        .unwrap();
    }

    /// Packs it into a tar archive. Some tools write names with `./`.
    pub(crate) fn archive(&self, path: &Path, prefix: &str) {
        let mut builder = tar::Builder::new(std::fs::File::create(path).unwrap());
        let mut waiting = vec![PathBuf::new()];
        while let Some(folder) = waiting.pop() {
            for entry in std::fs::read_dir(self.0.join(&folder)).unwrap() {
                let name = folder.join(entry.unwrap().file_name());
                let whole = self.0.join(&name);
                if whole.is_dir() {
                    waiting.push(name);
                } else {
                    let mut header = tar::Header::new_gnu();
                    let content = std::fs::read(whole).unwrap();
                    header.set_size(content.len() as u64);
                    header.set_mode(0o644);
                    let name = format!("{prefix}{}", name.display());
                    // Not `append_data`, which takes the prefix away.
                    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
                    header.set_cksum();
                    builder.append(&header, content.as_slice()).unwrap();
                }
            }
        }
        builder.finish().unwrap();
    }
}

/// The descriptor with a platform, as an index for several of them has it.
pub(crate) fn on(platform: &str, mut descriptor: Value) -> Value {
    let mut parts = platform.split('/');
    descriptor["platform"] = json!({ "os": parts.next(), "architecture": parts.next() });
    if let Some(variant) = parts.next() {
        descriptor["platform"]["variant"] = json!(variant);
    }
    descriptor
}

/// The descriptor with a name, as copying tools give it.
pub(crate) fn named(name: &str, mut descriptor: Value) -> Value {
    descriptor["annotations"] = json!({ "org.opencontainers.image.ref.name": name });
    descriptor
}

pub(crate) fn digest(descriptor: &Value) -> String {
    descriptor["digest"].as_str().unwrap().to_owned()
}
