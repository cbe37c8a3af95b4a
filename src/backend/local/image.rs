//! Images in the store: what a sandbox's root is made of. Each layer is unpacked once, and is there as a whole or not.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::protocol::RootLayers;
use super::store::{Scratch, Store, failed, sync_folder};
use super::unpack::{UnpackError, unpack_layer};
use crate::backend::{BackendError, Class};
use crate::oci::{self, Digest, Layout, OciError};
use crate::resolve::{ImageLocation, PinnedImage};

/// An image that sandboxes can be started from.
pub(super) struct Image {
    pub root: RootLayers,
    /// What the image sets; `None` for the machine's own folders.
    pub variables: Option<BTreeMap<String, String>>,
}

/// Unpacks what of an image is not in the store yet.
pub(super) async fn ready(store: &Store, image: &PinnedImage) -> Result<Image, BackendError> {
    if let ImageLocation::Host { hidden } = &image.location {
        return Ok(Image {
            root: RootLayers::Host {
                hidden: hidden.clone(),
            },
            variables: None,
        });
    }
    let (store, image) = (store.clone(), image.clone());
    let unpacking = tokio::task::spawn_blocking(move || {
        let layout = match &image.location {
            ImageLocation::Host { .. } => {
                return Err(BackendError::new(Class::Bug, "`host` has no layers"));
            }
            ImageLocation::Layout(path) => Layout::open_folder(path),
            ImageLocation::Archive(path) => Layout::open_archive(path),
        };
        let layout = layout.map_err(|error| unreadable(&error))?;
        // The image that was keyed, whatever the layout offers by now.
        let digest = Digest(image.digest.0);
        let image = layout.load(&digest).map_err(|error| unreadable(&error))?;
        let layers = unpack(&store, &layout, &image)?;
        Ok(Image {
            root: RootLayers::Image(layers),
            variables: Some(variables(&image)),
        })
    });
    unpacking
        .await
        .map_err(|error| BackendError::new(Class::Bug, error.to_string()))?
}

/// The layers in the store, lowest first.
fn unpack(store: &Store, layout: &Layout, image: &oci::Image) -> Result<Vec<String>, BackendError> {
    let mut names: Vec<String> = Vec::new();
    let mut chain = Sha256::new();
    for layer in &image.layers {
        // A layer may take folders' modes from those below it: what is unpacked is this one on those.
        chain.update(layer.digest.0);
        let name = format!("i/{}", hex::encode(&chain.clone().finalize()[..12]));
        if !store.root().join(&name).is_dir() {
            unpack_one(store, layout, &layer.digest, &name, &names)?;
        }
        names.push(name);
    }
    Ok(names)
}

/// Unpacks a layer beside its place, flushes it, and moves it there. Two at a time do it twice, and one is kept.
fn unpack_one(
    store: &Store,
    layout: &Layout,
    digest: &Digest,
    name: &str,
    below: &[String],
) -> Result<(), BackendError> {
    let blob = layout.blob(digest).map_err(|error| unreadable(&error))?;
    let below: Vec<PathBuf> = below
        .iter()
        .rev()
        .map(|name| store.root().join(name))
        .collect();
    let scratch = store.scratch(&[])?;
    let into = scratch.path("layer");
    fs::create_dir(&into).map_err(|error| failed("make a folder in the store", &error))?;
    unpack_layer(blob, digest, &into, &below).map_err(|error| not_unpacked(&error))?;
    publish(&scratch, &into, &store.root().join(name))
        .map_err(|error| failed("keep an image layer", &error))
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

fn not_unpacked(error: &UnpackError) -> BackendError {
    let class = if error.is_full() {
        Class::Full
    } else {
        Class::Denied
    };
    BackendError::new(class, format!("cannot unpack the image: {error}"))
}
