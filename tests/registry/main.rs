//! Images of a real registry: Debian's docker-registry on loopback, alone and behind a server that spoils what passes.
#![cfg(test)]

mod faults;
mod identities;
mod locks;
mod logins;
mod mirrors;
mod programs;
mod pulling;
mod resolving;
mod together;
mod tokens;
mod transport;

#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../support/front.rs"]
mod front;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../support/git_server.rs"]
mod git_server;
#[path = "../support/http.rs"]
mod http;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../support/oci_layout.rs"]
mod oci_layout;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../support/processes.rs"]
mod processes;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../support/project.rs"]
mod project;
#[path = "../support/registry.rs"]
mod registry;
#[path = "../support/repo.rs"]
mod repo;
#[path = "../support/rootfs.rs"]
mod rootfs;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../support/wrapped.rs"]
mod wrapped;

use std::collections::BTreeMap;
use std::future::Future;
use std::path::Path;

use atelier::registry::{Reference, Registries, RegistryError};
use atelier::resolve::host;
use oci_layout::OciLayout;
use serde_json::Value;
use tempfile::TempDir;

/// A folder for images to push, and one for a store.
pub(crate) struct Bench {
    folder: TempDir,
    pub(crate) layout: OciLayout,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let layout = OciLayout::create(&folder.path().join("image"));
        Self { folder, layout }
    }

    pub(crate) fn store(&self) -> std::path::PathBuf {
        self.folder.path().join("store")
    }

    /// An image of this machine's platform with a shell, and layers on it.
    pub(crate) fn image(&self, layers: &[&[u8]]) -> Value {
        let shell = rootfs::shell();
        let layers: Vec<&[u8]> = [shell.as_slice()]
            .into_iter()
            .chain(layers.iter().copied())
            .collect();
        self.layout.image(&host::platform(), &layers)
    }

    /// As a process of its own would ask.
    pub(crate) fn registries(&self) -> Registries {
        registries(&self.store())
    }
}

pub(crate) fn registries(store: &Path) -> Registries {
    Registries::new(store, BTreeMap::new(), [])
}

/// What `text` means for a platform.
pub(crate) fn resolve(
    registries: &Registries,
    text: &str,
    platform: &str,
) -> Result<String, RegistryError> {
    let reference = Reference::parse(text).unwrap();
    let digest = run(registries.resolve(&reference, platform))?;
    Ok(digest.to_string())
}

pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(work)
}

impl project::Project {
    pub(crate) fn write_at_home(&self, path: &str, text: &str) {
        let path = self.home.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Writes the caller's own config.kdl.
    pub(crate) fn configure(&self, text: &str) {
        self.write_at_home(".config/atelier/config.kdl", text);
    }
}
