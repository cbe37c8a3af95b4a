//! Images in the store: what a sandbox's root is made of. Each layer is unpacked once, and is there as a whole or not.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::protocol::{Refusal, RootLayers};
use super::store::{self, Store, TREE, failed, sync_folder};
use super::unpack::{Ownership, Source, unpack_layers};
use super::way::Way;
use super::work::{self, Job};
use super::{Local, environment};
use crate::backend::{BackendError, BakeError, Class};
use crate::oci::{self, Digest, Layout, OciError};
use crate::resolve::{ImageLocation, PinError, PinnedImage};

mod platform;
mod pulled;

/// An image that sandboxes can be started from.
pub(super) struct Image {
    pub root: RootLayers,
    /// What the image sets.
    pub variables: BTreeMap<String, String>,
}

/// Why an image is not ready.
#[derive(Debug)]
pub(super) enum ImageError {
    Backend(BackendError),
    /// Its registry did not give it.
    Pull(PinError),
}

/// Where an image layout is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum LayoutPlace {
    Folder(PathBuf),
    Archive(PathBuf),
}

impl LayoutPlace {
    fn open(&self) -> Result<Layout, OciError> {
        match self {
            Self::Folder(path) => Layout::open_folder(path),
            Self::Archive(path) => Layout::open_archive(path),
        }
    }
}

/// Unpacks what of an image is not in the store yet; `say` is told what takes time.
pub(super) async fn ready(
    local: &Local,
    image: &PinnedImage,
    say: &mut dyn FnMut(&str),
) -> Result<Image, ImageError> {
    let store = &local.store;
    let place = match &image.location {
        ImageLocation::Host {
            hidden,
            extra,
            path,
        } => {
            let (hidden, extra) = (hidden.clone(), extra.clone());
            return Ok(Image {
                root: RootLayers::Host { hidden, extra },
                variables: environment::of_host(path),
            });
        }
        ImageLocation::Layout(_) | ImageLocation::Archive(_) | ImageLocation::Registry(_)
            if store.way().is_direct() =>
        {
            let message =
                "an image cannot be used without a sandbox: --sandbox direct takes `host` alone";
            let help = "use `from host`, or leave out --sandbox direct";
            return Err(BackendError::new(Class::Denied, message)
                .with_help(help)
                .into());
        }
        ImageLocation::Registry(reference) => {
            return pulled::ready(local, reference, image, say).await;
        }
        ImageLocation::Layout(path) => LayoutPlace::Folder(path.clone()),
        ImageLocation::Archive(path) => LayoutPlace::Archive(path.clone()),
    };
    // The image that was keyed, whatever the layout offers by now.
    let digest = Digest(image.digest.0);
    let loading = {
        let place = place.clone();
        tokio::task::spawn_blocking(move || place.open()?.load(&digest))
    };
    let loaded = loading.await;
    let loaded = loaded.map_err(|error| BackendError::new(Class::Bug, error.to_string()))?;
    let image = loaded.map_err(|error| unreadable(&error))?;
    platform::check(&image.platform, Path::new("/"))?;
    let layers = names(&image);
    if let Some(_locks) = lock_missing(store, &layers).await? {
        add_missing(store, &place, &image, &layers).await?;
    }
    Ok(made(&image, &layers))
}

fn made(image: &oci::Image, layers: &[String]) -> Image {
    Image {
        root: RootLayers::Image(layers.iter().map(|layer| store::tree(layer)).collect()),
        variables: variables(image),
    }
}

/// A layer as the process that works unpacks it; see `unpack::Source`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LayerToUnpack {
    digest: [u8; 32],
    into: PathBuf,
    below: Vec<PathBuf>,
}

/// Has those layers that are not there to itself, for as long as the value is held; `None` if all are there.
async fn lock_missing(store: &Store, names: &[String]) -> Result<Option<Vec<File>>, BackendError> {
    let is_there = |name: &String| store.root().join(name).is_dir();
    if names.iter().all(is_there) {
        return Ok(None);
    }
    // From the lowest up, as everybody does: nobody waits for who waits.
    let mut locks = Vec::new();
    for name in names.iter().filter(|name| !is_there(name)) {
        locks.push(lock(store, name).await?);
    }
    Ok(Some(locks))
}

/// A layer may take folders' modes from those below it: what is unpacked is this one on those, and so is its name.
fn names(image: &oci::Image) -> Vec<String> {
    let mut chain = Sha256::new();
    let name = |layer: &oci::Layer| {
        chain.update(layer.digest.0);
        format!("i/{}", hex::encode(&chain.clone().finalize()[..12]))
    };
    image.layers.iter().map(name).collect()
}

/// How often who waits for another's unpacking looks.
const LOOK: Duration = Duration::from_millis(20);

/// Held by the one who unpacks a layer; freed by its end, however it ends.
async fn lock(store: &Store, name: &str) -> Result<File, BackendError> {
    let path = store.root().join("locks").join(name.replace('/', "-"));
    let failed = |error: io::Error| failed("lock an image layer", &error);
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(failed)?;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::WouldBlock) => tokio::time::sleep(LOOK).await,
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
    }
}

/// Unpacks the layers that are not there in a folder of their own, flushes them, and moves them to their places.
async fn add_missing(
    store: &Store,
    place: &LayoutPlace,
    image: &oci::Image,
    names: &[String],
) -> Result<(), BackendError> {
    let scratch = store.scratch(&[])?;
    let mut layers = Vec::new();
    let mut moves = Vec::new();
    // The nearest first.
    let mut below: Vec<PathBuf> = Vec::new();
    for (number, (layer, name)) in image.layers.iter().zip(names).enumerate() {
        let there = store.root().join(name);
        if there.is_dir() {
            below.insert(0, store.root().join(store::tree(name)));
            continue;
        }
        let made = scratch.path(&format!("image-{number}"));
        let into = made.join(TREE);
        fs::create_dir_all(&into).map_err(|error| failed("make a folder in the store", &error))?;
        layers.push(LayerToUnpack {
            digest: layer.digest.0,
            into: into.clone(),
            below: below.clone(),
        });
        below.insert(0, into);
        moves.push((made, there));
    }
    if layers.is_empty() {
        return Ok(());
    }
    let layout = place.clone();
    let () = work::have_done(store.way(), Job::Unpack { layout, layers }).await?;
    let kept = scratch.flush().await.and_then(|()| {
        for (made, there) in &moves {
            fs::rename(made, there)?;
        }
        sync_folder(&store.root().join("i"))
    });
    kept.map_err(|error| failed("keep an image layer", &error))
}

/// Unpacks layers, as the process that works.
pub(super) fn unpack_all(
    way: Way,
    place: &LayoutPlace,
    layers: Vec<LayerToUnpack>,
) -> Result<(), Refusal> {
    let refused = |error: OciError| Refusal::new("read the image", io::Error::other(error));
    let layout = place.open().map_err(refused)?;
    let source = |layer: LayerToUnpack| {
        let digest = Digest(layer.digest);
        Ok(Source {
            blob: layout.blob(&digest)?,
            digest,
            into: layer.into,
            below: layer.below,
        })
    };
    let sources: Result<Vec<_>, OciError> = layers.into_iter().map(source).collect();
    let ownership = match way.has_root() {
        true => Ownership::Kept,
        false => Ownership::Caller,
    };
    unpack_layers(sources.map_err(refused)?, ownership)
        .map(drop)
        .map_err(|error| Refusal {
            operation: "unpack the image".to_owned(),
            errno: error.errno(),
            cause: error.to_string(),
        })
}

fn variables(image: &oci::Image) -> BTreeMap<String, String> {
    let pair = |variable: &String| {
        let (name, value) = variable.split_once('=')?;
        Some((name.to_owned(), value.to_owned()))
    };
    image.env.iter().filter_map(pair).collect()
}

impl From<BackendError> for ImageError {
    fn from(error: BackendError) -> Self {
        Self::Backend(error)
    }
}

impl From<ImageError> for BakeError {
    fn from(error: ImageError) -> Self {
        match error {
            ImageError::Backend(error) => error.into(),
            ImageError::Pull(error) => Self::Checkout(error),
        }
    }
}

/// For a sandbox, whose image was there once.
impl From<ImageError> for BackendError {
    fn from(error: ImageError) -> Self {
        match error {
            ImageError::Backend(error) => error,
            ImageError::Pull(error) => {
                Self::new(Class::Lost, error.to_string()).with_help(error.help)
            }
        }
    }
}

fn unreadable(error: &OciError) -> BackendError {
    BackendError::new(Class::Denied, format!("cannot read the image: {error}"))
        .with_help(error.help())
}
