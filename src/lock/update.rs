//! What `update` does: which inputs it moves, the lock that comes of what they were resolved to, and what has changed.

use std::collections::{BTreeMap, BTreeSet};

use atelier_lang::graph::{Graph, ImageRef, NodeId, Reference, RepoSource};
use atelier_lang::span::Span;
use futures_util::future::join_all;

use super::{ImageKey, Lock, LockedImage, LockedRepo, RepoKey};
use crate::node::ObjectId;
use crate::resolve::image::written;
use crate::resolve::live::Live;
use crate::resolve::{PinError, Pins, RepoInput, Wanted, is_floating};

/// The inputs of a file that can be locked, each with the place that names it first.
#[derive(Clone, Debug, Default)]
pub struct Lockable {
    /// With the reference that a registry is asked for.
    pub images: BTreeMap<(ImageRef, String), (String, Span)>,
    pub repos: BTreeMap<RepoInput, Span>,
}

/// Some of them.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    pub images: BTreeSet<(ImageRef, String)>,
    pub repos: BTreeSet<RepoInput>,
}

/// What the selected inputs were resolved to.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    pub images: Vec<(ImageKey, LockedImage)>,
    /// With the full name of the ref that it came to.
    pub repos: Vec<(RepoInput, String, ObjectId)>,
}

/// How the entry of one input differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moved {
    Image {
        key: ImageKey,
        old: Option<LockedImage>,
        new: Option<LockedImage>,
    },
    Repo {
        key: RepoKey,
        old: Option<LockedRepo>,
        new: Option<LockedRepo>,
    },
}

impl Lockable {
    /// Of the nodes `needed`.
    pub fn of(graph: &Graph, needed: &[NodeId], live: &Live) -> Self {
        let wanted = Wanted::of(graph, needed);
        let images = wanted.images.into_iter().filter_map(|(key, span)| {
            let reference = live.floating(&key.0)?.to_owned();
            Some((key, (reference, span)))
        });
        let repos = wanted.repos.into_iter();
        Self {
            images: images.collect(),
            repos: repos.filter(|(repo, _)| is_floating(repo)).collect(),
        }
    }

    pub fn all(&self) -> Selection {
        Selection {
            images: self.images.keys().cloned().collect(),
            repos: self.repos.keys().cloned().collect(),
        }
    }

    /// Those that `name`, an image or a URL in its normal form, means.
    pub fn named(&self, name: &str) -> Selection {
        let all = self.all();
        let is_image = |(image, _): &(ImageRef, String)| written(image) == name;
        let is_repo =
            |repo: &RepoInput| matches!(&repo.source, RepoSource::Url(url) if url == name);
        Selection {
            images: all.images.into_iter().filter(is_image).collect(),
            repos: all.repos.into_iter().filter(is_repo).collect(),
        }
    }
}

impl Selection {
    pub fn is_empty(&self) -> bool {
        self.images.is_empty() && self.repos.is_empty()
    }

    pub fn add(&mut self, other: Self) {
        self.images.extend(other.images);
        self.repos.extend(other.repos);
    }
}

/// Resolves the selected inputs, all at once. An image's entries for other platforms move with it: they are those of
/// other people's machines.
pub async fn resolve(
    lockable: &Lockable,
    selection: &Selection,
    old: &Lock,
    live: &Live,
) -> Result<Answers, Vec<(Span, PinError)>> {
    let images = questions(lockable, selection, old);
    let images = join_all(
        images
            .iter()
            .map(async |(image, platform, reference, span)| {
                let pinned = live.image(image, platform).await;
                let name = written(image);
                pinned.map_err(|error| (*span, error)).map(|pinned| {
                    let entry = LockedImage {
                        digest: pinned.digest,
                        reference: (name != *reference).then(|| reference.clone()),
                    };
                    let platform = platform.clone();
                    (ImageKey { name, platform }, entry)
                })
            }),
    );
    let repos = lockable.repos.iter();
    let repos = repos.filter(|(repo, _)| selection.repos.contains(repo));
    let repos = join_all(repos.map(async |(repo, span)| {
        let pinned = live.repo(repo).await;
        let answer =
            |pinned: crate::resolve::PinnedRepo| (repo.clone(), pinned.reference, pinned.commit);
        pinned.map_err(|error| (*span, error)).map(answer)
    }));
    let (images, repos) = Box::pin(async { tokio::join!(images, repos) }).await;
    let mut errors = Vec::new();
    let answers = Answers {
        images: good(images, &mut errors),
        repos: good(repos, &mut errors),
    };
    errors.sort_by_key(|(span, _)| (span.file, span.start));
    match errors.is_empty() {
        true => Ok(answers),
        false => Err(errors),
    }
}

/// An image, its platform, the reference that a registry is asked for, and where the file names it.
pub(super) type Question = (ImageRef, String, String, Span);

/// What is asked about images, each question once.
pub(super) fn questions(lockable: &Lockable, selection: &Selection, old: &Lock) -> Vec<Question> {
    let mut asked = BTreeMap::new();
    for key in &selection.images {
        let Some((reference, span)) = lockable.images.get(key) else {
            continue;
        };
        let (image, platform) = key;
        let name = written(image);
        let others = old.images.keys().filter(|entry| entry.name == name);
        let platforms = others.map(|entry| &entry.platform).chain([platform]);
        for platform in platforms {
            let key = (image.clone(), platform.clone());
            asked.insert(key, (reference.clone(), *span));
        }
    }
    let question = |((image, platform), (reference, span))| (image, platform, reference, span);
    asked.into_iter().map(question).collect()
}

fn good<T>(
    results: Vec<Result<T, (Span, PinError)>>,
    errors: &mut Vec<(Span, PinError)>,
) -> Vec<T> {
    let mut all = Vec::new();
    for result in results {
        match result {
            Ok(value) => all.push(value),
            Err(error) => errors.push(error),
        }
    }
    all
}

/// The lock after an update. `lockable` is all that the file names; a whole update leaves nothing else in it.
pub fn apply(old: &Lock, answers: Answers, lockable: &Lockable, is_whole: bool) -> Lock {
    let mut lock = match is_whole {
        true => Lock::default(),
        false => old.clone(),
    };
    lock.images.extend(answers.images);
    for (repo, reference, head) in answers.repos {
        let RepoSource::Url(url) = &repo.source else {
            continue;
        };
        let is_default = repo.reference.is_none();
        if is_default {
            leave_default(&mut lock, url, &reference, lockable);
        }
        let key = RepoKey {
            url: url.clone(),
            reference,
        };
        let before = lock.repos.get(&key).is_some_and(|entry| entry.is_default);
        let is_default = is_default || before;
        lock.repos.insert(key, LockedRepo { head, is_default });
    }
    lock
}

/// The default branch of `url` is `reference` now. The entry of another one goes, unless the file names that branch too.
fn leave_default(lock: &mut Lock, url: &str, reference: &str, lockable: &Lockable) {
    let is_named = |branch: &str| {
        lockable.repos.keys().any(|repo| {
            let is_same = matches!(&repo.source, RepoSource::Url(other) if other == url);
            let full = match &repo.reference {
                Some(Reference::Branch(name)) => format!("refs/heads/{name}"),
                _ => return false,
            };
            is_same && full == branch
        })
    };
    lock.repos.retain(|key, entry| {
        if key.url != url || key.reference == reference || !entry.is_default {
            return true;
        }
        entry.is_default = false;
        is_named(&key.reference)
    });
}

/// The entries that differ, in the order of the file.
pub fn changes(old: &Lock, new: &Lock) -> Vec<Moved> {
    let keys: BTreeSet<&ImageKey> = old.images.keys().chain(new.images.keys()).collect();
    let images = keys.into_iter().filter_map(|key| {
        let (old, new) = (old.images.get(key).cloned(), new.images.get(key).cloned());
        let key = key.clone();
        (old != new).then_some(Moved::Image { key, old, new })
    });
    let keys: BTreeSet<&RepoKey> = old.repos.keys().chain(new.repos.keys()).collect();
    let repos = keys.into_iter().filter_map(|key| {
        let (old, new) = (old.repos.get(key).copied(), new.repos.get(key).copied());
        let key = key.clone();
        (old != new).then_some(Moved::Repo { key, old, new })
    });
    images.chain(repos).collect()
}
