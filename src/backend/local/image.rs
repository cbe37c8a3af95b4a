//! Images in the store: what a sandbox's root is made of.

use std::collections::BTreeMap;

use super::protocol::RootLayers;
use super::store::Store;
use crate::backend::{BackendError, Class};
use crate::resolve::{ImageLocation, PinnedImage};

/// An image that sandboxes can be started from.
pub(super) struct Image {
    pub root: RootLayers,
    /// What the image sets; `None` for the machine's own folders.
    pub variables: Option<BTreeMap<String, String>>,
}

/// Unpacks what of an image is not in the store yet.
pub(super) async fn ready(
    _store: &Store,
    image: &PinnedImage,
    _platform: &str,
) -> Result<Image, BackendError> {
    match &image.location {
        ImageLocation::Host { hidden } => {
            Ok(Image { root: RootLayers::Host { hidden: hidden.clone() }, variables: None })
        }
        ImageLocation::Layout(_) | ImageLocation::Archive(_) => {
            Err(BackendError::new(Class::Bug, "image layouts come next"))
        }
    }
}
