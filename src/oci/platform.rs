//! Which of the images that are offered is the one for a platform.

use serde::Deserialize;

use super::{Digest, OciError};

#[derive(Clone, Deserialize)]
pub(super) struct Platform {
    pub(super) os: String,
    architecture: String,
    variant: Option<String>,
}

/// An image that an index offers.
pub(super) struct Offer {
    pub(super) digest: Digest,
    pub(super) platform: Platform,
    pub(super) name: Option<String>,
}

/// The one image for a platform.
pub(super) fn choose(offers: &[Offer], platform: &str) -> Result<Digest, OciError> {
    let mut fitting: Vec<&Offer> = offers
        .iter()
        .filter(|offer| offer.platform.satisfies(platform))
        .collect();
    fitting.sort_by_key(|offer| offer.digest);
    fitting.dedup_by_key(|offer| offer.digest);
    match fitting.as_slice() {
        [one] => Ok(one.digest),
        [] if offers.is_empty() => Err(OciError::Empty),
        [] => {
            let mut found: Vec<_> = offers
                .iter()
                .map(|offer| offer.platform.to_string())
                .collect();
            found.sort();
            found.dedup();
            Err(OciError::Platform {
                wanted: platform.to_owned(),
                found,
            })
        }
        many => {
            let found = many.iter().map(|offer| offer.shown()).collect();
            Err(OciError::Ambiguous {
                wanted: platform.to_owned(),
                found,
            })
        }
    }
}

impl Platform {
    /// A variant counts only if it is asked for; several that fit are then ambiguous.
    fn satisfies(&self, wanted: &str) -> bool {
        let mut parts = wanted.split('/');
        let is_same = parts.next() == Some(&self.os) && parts.next() == Some(&self.architecture);
        let variant = parts.next();
        let own = match (&self.variant, self.architecture.as_str()) {
            (None, "arm64") => Some("v8"),
            (variant, _) => variant.as_deref(),
        };
        is_same && variant.is_none_or(|variant| own == Some(variant))
    }
}

impl std::fmt::Display for Platform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        match &self.variant {
            Some(variant) => write!(f, "/{variant}"),
            None => Ok(()),
        }
    }
}

impl Offer {
    fn shown(&self) -> String {
        let unnamed = || format!("{} ({})", self.digest, self.platform);
        self.name.clone().unwrap_or_else(unnamed)
    }
}
