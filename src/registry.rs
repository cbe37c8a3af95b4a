//! Images of registries: what a reference means by now, and their blobs in the store.
//!
//! Nothing here is touched, and no client made, until an image of a registry is wanted. Knows nothing of keys, of
//! unpacking or of what a node is.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use futures_util::stream::{StreamExt, TryStreamExt};
use tokio::sync::Semaphore;

use crate::oci::{self, Digest, Layer, Layout, OciError};

mod access;
mod blobs;
mod document;
mod endpoint;
mod fault;
mod login;
mod pull;
pub mod reference;
mod settings;
mod sources;
mod transport;

pub use blobs::Held;
use blobs::{Blobs, Part};
use endpoint::Endpoint;
pub use fault::{Fault, RegistryError, Sought};
use login::Logins;
pub use reference::Reference;
use reference::Version;
pub use settings::Settings;
use sources::Told;

/// So many layers are got at a time, whoever wants them.
const AT_ONCE: usize = 4;

/// An image has two documents, an index one more, and those of platforms that it does not name two each.
const DOCUMENTS: usize = 256;

/// All registries, as this process sees them. Clones are the same.
#[derive(Clone)]
pub struct Registries(Rc<Inner>);

struct Inner {
    blobs: Blobs,
    settings: BTreeMap<String, Settings>,
    logins: Logins,
    endpoints: RefCell<BTreeMap<String, Rc<Endpoint>>>,
    places: Semaphore,
    /// Mirrors that are not asked any more.
    passed_over: RefCell<BTreeMap<String, Told>>,
}

impl fmt::Debug for Registries {
    /// Without the environment, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registries")
            .field("blobs", &self.0.blobs)
            .field("settings", &self.0.settings)
            .finish_non_exhaustive()
    }
}

impl Registries {
    /// `settings` by the names of registries and mirrors; `environment` is the caller's, which says where logins are.
    pub fn new(
        store: &Path,
        settings: BTreeMap<String, Settings>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        Self(Rc::new(Inner {
            blobs: Blobs::below(store),
            settings,
            logins: Logins::of(environment.into_iter().collect()),
            endpoints: RefCell::default(),
            places: Semaphore::new(AT_ONCE),
            passed_over: RefCell::default(),
        }))
    }

    /// The folder of an image layout that has the layers that were pulled.
    pub fn layers(&self) -> PathBuf {
        self.0.blobs.layers()
    }

    /// Which image a reference means for `platform`: the digest of its manifest. A tag is looked up; what a digest means
    /// never changes, and is asked for once.
    pub async fn resolve(
        &self,
        reference: &Reference,
        platform: &str,
    ) -> Result<Digest, RegistryError> {
        let top = match &reference.version {
            Version::Digest(digest) => *digest,
            tag @ Version::Tag(_) => self.manifest(reference, tag).await?,
        };
        let find = |layout: &Layout| {
            let digest = layout.find_below(&top, platform)?;
            layout.load(&digest)?.check_platform(platform)?;
            Ok(digest)
        };
        self.look(reference, find).await
    }

    /// The image whose manifest has this digest, without its layers.
    pub async fn image(
        &self,
        reference: &Reference,
        digest: &Digest,
    ) -> Result<oci::Image, RegistryError> {
        self.look(reference, |layout| layout.load(digest)).await
    }

    /// Gets the layers that are not there.
    pub async fn pull(
        &self,
        reference: &Reference,
        layers: &[Layer],
    ) -> Result<Held, RegistryError> {
        let held = self.0.blobs.hold(layers);
        let held = held.map_err(|error| of(reference, Fault::Store(error)))?;
        futures_util::stream::iter(layers)
            .map(|layer| Box::pin(self.layer(reference, layer)))
            .buffer_unordered(AT_ONCE)
            .try_collect::<()>()
            .await?;
        Ok(held)
    }

    /// Takes away what crashes have left; returns how many things that were.
    pub fn sweep(&self) -> std::io::Result<usize> {
        self.0.blobs.sweep()
    }

    /// Looks into what is in the store, and gets what it lacks there.
    async fn look<T>(
        &self,
        reference: &Reference,
        look: impl Fn(&Layout) -> Result<T, OciError>,
    ) -> Result<T, RegistryError> {
        let wrong = |fault| of(reference, fault);
        let layout = self.0.blobs.documents();
        let layout = layout.map_err(|error| wrong(Fault::Store(error)))?;
        let mut documents = 0;
        loop {
            match look(&layout) {
                Ok(found) => return Ok(found),
                Err(OciError::Missing { what, digest, .. }) if documents < DOCUMENTS => {
                    documents += 1;
                    match what {
                        "configuration" => self.configuration(reference, &digest).await?,
                        _ => {
                            let version = Version::Digest(digest);
                            self.manifest(reference, &version).await?;
                        }
                    }
                }
                Err(error) => return Err(wrong(Fault::Image(error))),
            }
        }
    }

    async fn manifest(
        &self,
        reference: &Reference,
        version: &Version,
    ) -> Result<Digest, RegistryError> {
        let ask = async |endpoint: Rc<Endpoint>| {
            let logins = &self.0.logins;
            document::manifest(&endpoint, logins, &reference.repository, version).await
        };
        let (digest, content) = self.ask(reference, ask).await?;
        self.keep(reference, &digest, &content)?;
        Ok(digest)
    }

    async fn configuration(
        &self,
        reference: &Reference,
        digest: &Digest,
    ) -> Result<(), RegistryError> {
        let ask = async |endpoint: Rc<Endpoint>| {
            let logins = &self.0.logins;
            document::configuration(&endpoint, logins, &reference.repository, digest).await
        };
        let content = self.ask(reference, ask).await?;
        self.keep(reference, digest, &content)
    }

    fn keep(
        &self,
        reference: &Reference,
        digest: &Digest,
        content: &[u8],
    ) -> Result<(), RegistryError> {
        let kept = self.0.blobs.keep(digest, content);
        kept.map_err(|error| of(reference, Fault::Store(error)))
    }

    async fn layer(&self, reference: &Reference, layer: &Layer) -> Result<(), RegistryError> {
        // Never closed.
        let _place = self.0.places.acquire().await.ok();
        let store = |error| of(reference, Fault::Store(error));
        // What is wrong as a whole may be so since somebody else began it.
        for is_last in [false, true] {
            let Some(part) = self.0.blobs.part(layer).await.map_err(store)? else {
                return Ok(());
            };
            let was_begun = part.length > 0;
            let part = self.complete(reference, layer, part).await?;
            match part.publish().await.map_err(store)? {
                Ok(()) => return Ok(()),
                Err(_) if was_begun && !is_last => {}
                Err(found) => {
                    let expected = layer.digest;
                    let fault = Fault::Digest { expected, found };
                    return Err(of(reference, fault));
                }
            }
        }
        Ok(())
    }

    async fn complete(
        &self,
        reference: &Reference,
        layer: &Layer,
        part: Part,
    ) -> Result<Part, RegistryError> {
        // Whoever comes second goes on with what the first one got.
        let part = RefCell::new(Some(part));
        let ask = async |endpoint: Rc<Endpoint>| {
            let Some(mut own) = part.take() else {
                return Err(Fault::Settings("its layer is got already".to_owned()));
            };
            let logins = &self.0.logins;
            let repository = &reference.repository;
            let done = pull::complete(&endpoint, logins, repository, layer, &mut own).await;
            match done {
                Ok(()) => Ok(own),
                Err(fault) => {
                    part.replace(Some(own));
                    Err(fault)
                }
            }
        };
        self.ask(reference, ask).await
    }
}

fn of(reference: &Reference, fault: Fault) -> RegistryError {
    RegistryError {
        registry: reference.registry.clone(),
        fault,
    }
}
