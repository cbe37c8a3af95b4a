//! Images → digests.

use std::path::Path;

use atelier_lang::graph::ImageRef;

use super::{ImageLocation, PinError, PinnedImage};
use crate::node::ImageDigest;
use crate::oci::{Layout, OciError};
use crate::registry::{Reference, Registries, RegistryError};

/// Finds the image of one platform in a layout on disk. `folder` is the one of the file that names it.
pub fn pin_layout(
    folder: &Path,
    image: &ImageRef,
    platform: &str,
) -> Result<PinnedImage, PinError> {
    let (opened, location) = match image {
        ImageRef::Layout(path) => {
            let path = folder.join(path);
            (Layout::open_folder(&path), ImageLocation::Layout(path))
        }
        ImageRef::Archive(path) => {
            let path = folder.join(path);
            (Layout::open_archive(&path), ImageLocation::Archive(path))
        }
        ImageRef::Host | ImageRef::Alias(_) | ImageRef::Registry(_) => {
            return Err(unsupported(image));
        }
    };
    let digest = opened.and_then(|layout| {
        let digest = layout.find(platform)?;
        // A layer that is missing should be told now, not in the middle of a bake.
        let loaded = layout.load(&digest)?;
        loaded.check_platform(platform)?;
        layout.check_present(&loaded)?;
        Ok(digest)
    });
    match digest {
        Ok(digest) => Ok(PinnedImage {
            digest: digest.into(),
            location,
        }),
        Err(error) => Err(pin_error(image, &error)),
    }
}

fn pin_error(image: &ImageRef, error: &OciError) -> PinError {
    PinError {
        input: written(image),
        cause: error.to_string(),
        help: error.help(),
    }
}

/// Asks a registry which image a reference means.
pub async fn pin_reference(
    registries: &Registries,
    image: &ImageRef,
    platform: &str,
) -> Result<PinnedImage, PinError> {
    let reference = reference(image)?;
    match registries.resolve(&reference, platform).await {
        Ok(digest) => Ok(PinnedImage {
            digest: digest.into(),
            location: ImageLocation::Registry(reference),
        }),
        Err(error) => Err(of_registry(written(image), &error)),
    }
}

/// An image of a registry whose manifest is known to have this digest. Nobody is asked.
pub fn at_digest(image: &ImageRef, digest: ImageDigest) -> Result<PinnedImage, PinError> {
    let reference = reference(image)?;
    let location = ImageLocation::Registry(reference);
    Ok(PinnedImage { digest, location })
}

fn reference(image: &ImageRef) -> Result<Reference, PinError> {
    let reference = match image {
        ImageRef::Registry(text) => Reference::parse(text),
        ImageRef::Host | ImageRef::Alias(_) | ImageRef::Layout(_) | ImageRef::Archive(_) => None,
    };
    reference.ok_or_else(|| unsupported(image))
}

pub(crate) fn of_registry(input: String, error: &RegistryError) -> PinError {
    PinError {
        input,
        cause: error.to_string(),
        help: error.fault.help(),
    }
}

/// As the file spells it.
pub fn written(image: &ImageRef) -> String {
    image.to_string()
}

pub(super) fn unsupported(image: &ImageRef) -> PinError {
    let input = written(image);
    match image {
        ImageRef::Alias(name) => PinError {
            cause: "the configuration has no such alias".to_owned(),
            help: format!("add to .atelier/config.kdl: alias {name} \"IMAGE\""),
            input,
        },
        _ => PinError {
            cause: "it is no image of this kind".to_owned(),
            help: "name an image as the book has it".to_owned(),
            input,
        },
    }
}
