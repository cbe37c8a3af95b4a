//! Pins from a lock; what it does not hold comes from the world as it is.

use atelier_lang::graph::{Graph, ImageRef, NodeId, RepoSource};
use atelier_lang::source::VirtualPath;
use atelier_lang::span::Span;

use super::{ImageKey, Lock};
use crate::node::ImageDigest;
use crate::resolve::image::written;
use crate::resolve::live::Live;
use crate::resolve::{
    OnlyInput, PinError, PinnedFile, PinnedImage, PinnedRepo, PinnedTree, Pins, RepoInput, Wanted,
    is_floating, pin_at,
};

/// A lock over the world. For what has an entry nobody is asked.
#[derive(Debug)]
pub struct Locked<'a> {
    pub lock: &'a Lock,
    pub live: &'a Live,
}

/// An input that would have to be resolved live, and where the file names it first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotLocked {
    pub span: Span,
    /// As the file writes it.
    pub input: String,
    /// The reference that its entry is for, where an alias means another one by now.
    pub locked_as: Option<String>,
}

impl Locked<'_> {
    fn image_entry(&self, image: &ImageRef, platform: &str) -> Option<ImageDigest> {
        let reference = self.live.floating(image)?;
        self.lock.image(&written(image), platform, reference)
    }

    /// What of the inputs of the nodes `needed` could be locked and is not, in the order of the file.
    pub fn missing(&self, graph: &Graph, needed: &[NodeId]) -> Vec<NotLocked> {
        let wanted = Wanted::of(graph, needed);
        let images = wanted
            .images
            .iter()
            .filter_map(|((image, platform), span)| {
                let is_missing = self.live.floating(image).is_some()
                    && self.image_entry(image, platform).is_none();
                is_missing.then(|| NotLocked {
                    span: *span,
                    input: written(image),
                    locked_as: self.locked_as(image, platform),
                })
            });
        let repos = wanted.repos.iter().filter_map(|(repo, span)| {
            let is_missing = is_floating(repo) && self.lock.repo(repo).is_none();
            is_missing.then(|| NotLocked {
                span: *span,
                input: repo.to_string(),
                locked_as: None,
            })
        });
        let mut missing: Vec<NotLocked> = images.chain(repos).collect();
        missing.sort_by_key(|missing| (missing.span.file, missing.span.start));
        missing
    }

    fn locked_as(&self, image: &ImageRef, platform: &str) -> Option<String> {
        let key = ImageKey {
            name: written(image),
            platform: platform.to_owned(),
        };
        self.lock.images.get(&key)?.reference.clone()
    }
}

impl Pins for Locked<'_> {
    async fn image(&self, image: &ImageRef, platform: &str) -> Result<PinnedImage, PinError> {
        if let Some(digest) = self.image_entry(image, platform)
            && let Some(pinned) = self.live.at_digest(image, digest)?
        {
            return Ok(pinned);
        }
        self.live.image(image, platform).await
    }

    async fn repo(&self, repo: &RepoInput) -> Result<PinnedRepo, PinError> {
        match (&repo.source, self.lock.repo(repo)) {
            (RepoSource::Url(url), Some((key, head))) => {
                Ok(pin_at(url, key.reference.clone(), head))
            }
            _ => self.live.repo(repo).await,
        }
    }

    async fn tree(&self, only: &OnlyInput, repo: &PinnedRepo) -> Result<PinnedTree, PinError> {
        self.live.tree(only, repo).await
    }

    async fn file(&self, path: &VirtualPath) -> Result<PinnedFile, PinError> {
        self.live.file(path).await
    }
}
