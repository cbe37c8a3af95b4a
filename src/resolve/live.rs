//! Pins from the world as it is now: servers, repositories and files on disk, the machine itself.
//!
//! Each thing is asked once, however many nodes want it and however many of them at the same moment.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use atelier_lang::graph::{ImageRef, Reference, RepoSource};
use atelier_lang::source::VirtualPath;
use tokio::sync::OnceCell;

use super::host::{Host, HostPath};
use super::{
    OnlyInput, PinError, PinnedFile, PinnedImage, PinnedRepo, PinnedTree, Pins, RepoInput,
    RepoLocation, files, git, host, image, only,
};
use crate::git::{Credential, Fetch, Git, GitError, Listed, OnDisk, Refs};
use crate::node::{ImageDigest, ObjectId};
use crate::registry::Registries;

/// Without configuration it is the machine itself.
pub const DEFAULT_ALIAS: (&str, ImageRef) = ("dev-base", ImageRef::Host);

/// For the tree of one commit: of a server that can send it alone, or must send all the files.
const LISTING_LIMIT: Duration = Duration::from_mins(5);

/// What the configuration calls by a name.
#[derive(Debug)]
struct Alias {
    image: ImageRef,
    /// The place that says so; `None` for the one that is always there.
    origin: Option<String>,
}

/// The tree of a commit.
type Listing = Result<Rc<Vec<Listed>>, Rc<GitError>>;

/// Where inputs are looked for.
#[derive(Debug)]
pub struct Live {
    /// Local files lie below it.
    root: PathBuf,
    /// The folder of the file: paths of repositories and images are relative to it.
    folder: PathBuf,
    git: Git,
    /// What was seen of commits' trees.
    trees: PathBuf,
    registries: Registries,
    host: Host,
    aliases: BTreeMap<String, Alias>,
    credentials: BTreeMap<RepoSource, Credential>,
    refs: Once<String, Result<Refs, Rc<GitError>>>,
    disks: Once<RepoInput, Result<OnDisk, Rc<GitError>>>,
    listings: Once<(String, ObjectId), Listing>,
    images: Once<(ImageRef, String), Result<PinnedImage, PinError>>,
    files: Once<VirtualPath, Result<PinnedFile, PinError>>,
}

impl Live {
    /// `state` is a folder for small files that may be lost.
    pub fn new(root: PathBuf, folder: PathBuf, state: &std::path::Path, git: Git) -> Self {
        let (name, image) = DEFAULT_ALIAS;
        let origin = None;
        Self {
            root,
            folder,
            git,
            trees: state.join("trees"),
            registries: Registries::new(state, BTreeMap::new(), []),
            host: Host::new(state.join("host.json")),
            aliases: BTreeMap::from([(name.to_owned(), Alias { image, origin })]),
            credentials: BTreeMap::new(),
            refs: Once::default(),
            disks: Once::default(),
            listings: Once::default(),
            images: Once::default(),
            files: Once::default(),
        }
    }

    /// What the configuration calls `name`; `origin` is the place that says so.
    #[must_use]
    pub fn with_alias(mut self, name: String, image: ImageRef, origin: String) -> Self {
        let origin = Some(origin);
        self.aliases.insert(name, Alias { image, origin });
        self
    }

    /// How registries are reached; without it, without a login.
    #[must_use]
    pub fn with_registries(mut self, registries: Registries) -> Self {
        self.registries = registries;
        self
    }

    /// What image `host` shows beside the system.
    #[must_use]
    pub fn with_host_paths(mut self, paths: Vec<HostPath>) -> Self {
        self.host = self.host.with_extra(paths);
        self
    }

    /// What opens a repository whose server asks for a login.
    #[must_use]
    pub fn with_credential(mut self, source: RepoSource, credential: Credential) -> Self {
        self.credentials.insert(source, credential);
        self
    }

    /// An image of a registry whose manifest is known to have this digest: nobody is asked. `None` for other images.
    pub fn at_digest(
        &self,
        image: &ImageRef,
        digest: ImageDigest,
    ) -> Result<Option<PinnedImage>, PinError> {
        match self.follow(image)? {
            (followed @ ImageRef::Registry(_), _) => image::at_digest(followed, digest).map(Some),
            _ => Ok(None),
        }
    }

    /// The image itself, and where the configuration says so if it does.
    fn follow<'a>(&'a self, image: &'a ImageRef) -> Result<(&'a ImageRef, &'a str), PinError> {
        let ImageRef::Alias(name) = image else {
            return Ok((image, ""));
        };
        match self.aliases.get(name) {
            Some(Alias {
                image: ImageRef::Alias(_),
                ..
            })
            | None => Err(image::unsupported(image)),
            Some(alias) => Ok((&alias.image, alias.origin.as_deref().unwrap_or_default())),
        }
    }

    /// The reference that a registry is asked for, if `image` leads to one and does not say the digest itself.
    pub fn floating<'a>(&'a self, image: &'a ImageRef) -> Option<&'a str> {
        match self.follow(image) {
            Ok((ImageRef::Registry(reference), _)) if !reference.contains('@') => Some(reference),
            _ => None,
        }
    }

    async fn remote(&self, url: &str, repo: &RepoInput) -> Result<PinnedRepo, PinError> {
        let wrong = |problem| git::pin_error(repo, &problem);
        if let Some(Reference::Commit(id)) = &repo.reference {
            return Ok(git::pin_commit(url, git::commit_id(id).map_err(wrong)?));
        }
        git::full_name(repo.reference.as_ref()).map_err(wrong)?;
        let credential = self.credentials.get(&repo.source);
        let ask = async || self.git.read_refs(url, credential).await.map_err(Rc::new);
        let refs = self.refs.get(url.to_owned(), ask).await;
        let refs = refs.map_err(|error| git::shared_error(repo, &error))?;
        git::pin_remote(url, repo.reference.as_ref(), &refs).map_err(wrong)
    }

    /// The tree of a commit, asked once for all the patterns.
    async fn listing(&self, repo: &RepoInput, pinned: &PinnedRepo) -> Listing {
        let fetch = Fetch {
            location: &pinned.location,
            url: &pinned.url,
            commit: pinned.commit,
            reference: &pinned.reference,
            depth: 1,
            credential: self.credentials.get(&repo.source),
            limit: LISTING_LIMIT,
        };
        let ask = async || {
            let scratch = only::scratch(&self.trees);
            let listed = self.git.list_tree(&fetch, &scratch).await;
            listed.map(Rc::new).map_err(Rc::new)
        };
        let place = match &pinned.location {
            RepoLocation::Url(url) => url.clone(),
            RepoLocation::Disk(path) => path.display().to_string(),
        };
        self.listings.get((place, pinned.commit), ask).await
    }

    async fn disk(&self, written: &str, repo: &RepoInput) -> Result<PinnedRepo, PinError> {
        let wrong = |problem| git::pin_error(repo, &problem);
        let revision = git::revision(repo.reference.as_ref()).map_err(wrong)?;
        let path = git::on_disk(&self.folder, written);
        let ask = async || self.git.read_disk(&path, &revision).await.map_err(Rc::new);
        let found = self.disks.get(repo.clone(), ask).await;
        let found = found.map_err(|error| git::shared_error(repo, &error))?;
        git::pin_disk(written, repo.reference.as_ref(), found).map_err(wrong)
    }
}

impl Pins for Live {
    async fn image(&self, image: &ImageRef, platform: &str) -> Result<PinnedImage, PinError> {
        let (followed, origin) = self.follow(image)?;
        let through = |error: PinError| match origin {
            "" => error,
            origin => PinError {
                cause: format!("{origin} says `{}`: {}", error.input, error.cause),
                input: image::written(image),
                ..error
            },
        };
        let image = followed.clone();
        let platform = platform.to_owned();
        let (host, folder) = (self.host.clone(), self.folder.clone());
        let key = (image.clone(), platform.clone());
        let ask = async || match &image {
            ImageRef::Registry(_) => {
                let pin = image::pin_reference(&self.registries, &image, &platform);
                Box::pin(pin).await
            }
            ImageRef::Host => blocking(move || host::pin(&host, &platform)).await,
            ImageRef::Layout(_) | ImageRef::Archive(_) | ImageRef::Alias(_) => {
                let image = image.clone();
                blocking(move || image::pin_layout(&folder, &image, &platform)).await
            }
        };
        self.images.get(key, ask).await.map_err(through)
    }

    async fn repo(&self, repo: &RepoInput) -> Result<PinnedRepo, PinError> {
        match &repo.source {
            RepoSource::Url(url) => self.remote(url, repo).await,
            RepoSource::Disk(path) => self.disk(path, repo).await,
        }
    }

    async fn tree(&self, input: &OnlyInput, repo: &PinnedRepo) -> Result<PinnedTree, PinError> {
        if let Some(tree) = only::recall(&self.trees, repo.commit, input) {
            return Ok(tree);
        }
        let listed = self.listing(&input.repo, repo).await;
        let listed = listed.map_err(|error| git::shared_error(&input.repo, &error))?;
        let tree = only::select(&listed, input)?;
        only::keep(&self.trees, repo.commit, input, &tree);
        Ok(tree)
    }

    async fn file(&self, path: &VirtualPath) -> Result<PinnedFile, PinError> {
        let (root, wanted) = (self.root.clone(), path.clone());
        let ask = async || blocking(move || files::pin(&root, &wanted)).await;
        self.files.get(path.clone(), ask).await
    }
}

/// Runs what waits for the disk beside the runtime's one thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, PinError> + Send + 'static,
) -> Result<T, PinError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => Err(PinError {
                input: "an input".to_owned(),
                cause: format!("the work was stopped: {error}"),
                help: "run it again".to_owned(),
            }),
        },
    }
}

/// Answers by question. Whoever asks first works; the others wait for the same answer, and one of them takes over if
/// the first is cancelled.
#[derive(Debug)]
struct Once<K, V>(RefCell<BTreeMap<K, Rc<OnceCell<V>>>>);

impl<K, V> Default for Once<K, V> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<K: Ord, V: Clone> Once<K, V> {
    async fn get(&self, key: K, ask: impl AsyncFnOnce() -> V) -> V {
        let cell = Rc::clone(self.0.borrow_mut().entry(key).or_default());
        cell.get_or_init(|| ask()).await.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::Once;

    #[tokio::test]
    async fn the_same_question_is_asked_once() {
        let once = Once::default();
        let asked = Cell::new(0);
        let ask = async || {
            asked.set(asked.get() + 1);
            tokio::task::yield_now().await;
            asked.get()
        };
        let answers = tokio::join!(once.get("a", ask), once.get("a", ask), once.get("b", ask));
        assert_eq!(asked.get(), 2);
        assert_eq!(answers.0, answers.1);
    }
}
