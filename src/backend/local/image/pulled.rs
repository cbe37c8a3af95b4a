//! Images of registries: pulled into the store, and from there on like any layout.

use std::path::Path;

use super::{Image, ImageError, LayoutPlace, add_missing, lock_missing, made, names, platform};
use crate::backend::local::Local;
use crate::backend::{BackendError, Class};
use crate::oci::{self, Digest, Layer};
use crate::registry::{Fault, Reference, RegistryError};
use crate::resolve::{PinnedImage, image};

pub(super) async fn ready(
    local: &Local,
    reference: &Reference,
    image: &PinnedImage,
    say: &mut dyn FnMut(&str),
) -> Result<Image, ImageError> {
    let (store, registries) = (&local.store, &local.registries);
    // The image that was keyed, whatever its tag means by now.
    let digest = Digest(image.digest.0);
    let wrong = |error| of_registry(reference, &digest, error);
    let image = registries.image(reference, &digest).await.map_err(wrong)?;
    platform::check(&image.platform, Path::new("/"))?;
    let layers = names(&image);
    if let Some(_locks) = lock_missing(store, &layers).await? {
        // Somebody else may have added some while this one waited.
        let missing = missing(local, &image, &layers);
        if !missing.is_empty() {
            say(&announcement(reference, &missing));
            let pulled = Box::pin(registries.pull(reference, &missing));
            let pulled = pulled.await.map_err(wrong)?;
            let place = LayoutPlace::Folder(registries.layers());
            add_missing(store, &place, &image, &layers).await?;
            // What stays costs room, and a sweep takes it.
            pulled.discard().ok();
        }
    }
    Ok(made(&image, &layers))
}

/// The layers to get, each once.
fn missing(local: &Local, image: &oci::Image, names: &[String]) -> Vec<Layer> {
    let layers = image.layers.iter().zip(names);
    let is_missing = |name: &String| !local.store.root().join(name).is_dir();
    let layers = layers.filter(|(_, name)| is_missing(name));
    let mut layers: Vec<Layer> = layers.map(|(layer, _)| layer.clone()).collect();
    layers.sort_by_key(|layer| layer.digest);
    layers.dedup_by_key(|layer| layer.digest);
    layers
}

fn announcement(reference: &Reference, layers: &[Layer]) -> String {
    let bytes: u64 = layers.iter().map(|layer| layer.size).sum();
    let count = match layers.len() {
        1 => "1 layer".to_owned(),
        count => format!("{count} layers"),
    };
    format!(
        "pull {count} of {}, {:.1} MB",
        reference.name(),
        megabytes(bytes)
    )
}

fn megabytes(bytes: u64) -> f64 {
    // Exact to far more than is shown.
    f64::from(u32::try_from(bytes / 1000).unwrap_or(u32::MAX)) / 1000.0
}

fn of_registry(reference: &Reference, digest: &Digest, error: RegistryError) -> ImageError {
    match error.fault {
        Fault::Store(source) => ImageError::Backend(super::failed("keep what was pulled", &source)),
        Fault::Image(source) => {
            let message = format!("cannot read the image {}: {source}", reference.name());
            ImageError::Backend(BackendError::new(Class::Denied, message))
        }
        _ => {
            let input = format!("{}@{digest}", reference.name());
            ImageError::Pull(image::of_registry(input, &error))
        }
    }
}
