//! Images in the store: what a sandbox's root is made of. Each layer is unpacked once, and is there as a whole or not.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::environment;
use super::protocol::{Refusal, RootLayers};
use super::store::{self, LAYER, Scratch, Store, TREE, failed, sync_folder};
use super::unpack::unpack_layer;
use super::way::Way;
use super::work::{self, Job};
use crate::backend::{BackendError, Class};
use crate::oci::{self, Digest, Layout, OciError};
use crate::resolve::{ImageLocation, PinnedImage};

/// An image that sandboxes can be started from.
pub(super) struct Image {
    pub root: RootLayers,
    /// What the image sets.
    pub variables: BTreeMap<String, String>,
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

/// Unpacks what of an image is not in the store yet.
pub(super) async fn ready(store: &Store, image: &PinnedImage) -> Result<Image, BackendError> {
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
        ImageLocation::Layout(_) | ImageLocation::Archive(_) if store.way().is_direct() => {
            let message =
                "an image cannot be used without a sandbox: --sandbox direct takes `host` alone";
            let help = "use `from host`, or leave out --sandbox direct";
            return Err(BackendError::new(Class::Denied, message).with_help(help));
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
    let layers = unpack(store, &place, &image).await?;
    Ok(Image {
        root: RootLayers::Image(layers.iter().map(|layer| store::tree(layer)).collect()),
        variables: variables(&image),
    })
}

/// The layers in the store, lowest first.
async fn unpack(
    store: &Store,
    place: &LayoutPlace,
    image: &oci::Image,
) -> Result<Vec<String>, BackendError> {
    let mut names: Vec<String> = Vec::new();
    let mut chain = Sha256::new();
    for layer in &image.layers {
        // A layer may take folders' modes from those below it: what is unpacked is this one on those.
        chain.update(layer.digest.0);
        let name = format!("i/{}", hex::encode(&chain.clone().finalize()[..12]));
        if !store.root().join(&name).is_dir() {
            add(store, place, &layer.digest, &name, &names).await?;
        }
        names.push(name);
    }
    Ok(names)
}

/// Unpacks a layer beside its place, flushes it, and moves it there. Two at a time do it twice, and one is kept.
async fn add(
    store: &Store,
    place: &LayoutPlace,
    digest: &Digest,
    name: &str,
    below: &[String],
) -> Result<(), BackendError> {
    let scratch = store.scratch(&[])?;
    let into = scratch.path(LAYER).join(TREE);
    fs::create_dir(&into).map_err(|error| failed("make a folder in the store", &error))?;
    let below = below.iter().rev();
    let job = Job::Unpack {
        layout: place.clone(),
        digest: digest.0,
        into,
        below: below
            .map(|name| store.root().join(store::tree(name)))
            .collect(),
    };
    let () = work::have_done(store.way(), job).await?;
    publish(&scratch, &scratch.path(LAYER), &store.root().join(name))
        .map_err(|error| failed("keep an image layer", &error))
}

/// Unpacks a layer, as the process that works.
pub(super) fn unpack_one(
    _: Way,
    place: &LayoutPlace,
    digest: &Digest,
    into: &Path,
    below: &[PathBuf],
) -> Result<(), Refusal> {
    let refused = |error: OciError| Refusal::new("read the image", io::Error::other(error));
    let blob = place
        .open()
        .map_err(refused)?
        .blob(digest)
        .map_err(refused)?;
    unpack_layer(blob, digest, into, below)
        .map(drop)
        .map_err(|error| Refusal {
            operation: "unpack the image".to_owned(),
            errno: error.errno(),
            cause: error.to_string(),
        })
}

fn publish(scratch: &Scratch, layer: &Path, place: &Path) -> io::Result<()> {
    scratch.flush_now()?;
    match fs::rename(layer, place) {
        Err(error) if !place.is_dir() => return Err(error),
        _ => {}
    }
    sync_folder(place.parent().unwrap_or(place))
}

fn variables(image: &oci::Image) -> BTreeMap<String, String> {
    let pair = |variable: &String| {
        let (name, value) = variable.split_once('=')?;
        Some((name.to_owned(), value.to_owned()))
    };
    image.env.iter().filter_map(pair).collect()
}

fn unreadable(error: &OciError) -> BackendError {
    BackendError::new(Class::Denied, format!("cannot read the image: {error}"))
        .with_help(error.help())
}
