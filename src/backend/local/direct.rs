//! Without a sandbox, for a machine that is itself thrown away and allows none: steps run on the machine, in its own
//! /home/dev, which is filled before and emptied after.
//!
//! Nothing is isolated. What is kept: one bake or sandbox at a time; no folder is touched that somebody else has put
//! something into; every process ends with its step, and those that outlived a launcher that was killed end before the
//! next one begins.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::process::{getpid, set_child_subreaper};

use super::protocol::{Layout, Ready, Refusal, RootLayers, Workspace};
use super::store::{LAYER, TREE};
use crate::backend::{BackendError, Class, Network, SandboxRequest};
use crate::tree::{Material, merge};

mod cache;
mod home;
pub(crate) mod processes;

use cache::Linked;
use home::Home;

/// In the environment of every process of a step, with the name that its workspace was taken under.
const VARIABLE: &str = "ATELIER_DIRECT";

/// Refuses what only a sandbox can be.
pub(super) fn allow(request: &SandboxRequest) -> Result<(), BackendError> {
    let what = match (&request.keep, request.network) {
        (None, Network::Host) => return Ok(()),
        (Some(_), _) => "stays",
        (None, Network::None) => "has no network",
    };
    let message = format!("there is no sandbox that {what} with --sandbox direct");
    Err(BackendError::new(Class::Denied, message).with_help("leave out --sandbox direct"))
}

/// The workspace, taken and filled; dropped, it is given back.
pub(super) struct Direct {
    layout: Layout,
    caches: Vec<Linked>,
    repositories: Handed,
    home: Home,
}

impl Direct {
    pub(super) fn prepare(layout: Layout) -> Result<Self, Refusal> {
        if let RootLayers::Image(_) = layout.root {
            let only = std::io::Error::other("there is no sandbox to show it in");
            return Err(Refusal::new("use an image", only));
        }
        rustix::process::umask(Mode::from_raw_mode(0o022));
        adopt_orphans()?;
        let home = Home::take(&layout)?;
        let repositories = Handed::over(&layout, home.name())?;
        let mut direct = Self {
            layout,
            caches: Vec::new(),
            repositories,
            home,
        };
        direct.fill()?;
        Ok(direct)
    }

    fn fill(&mut self) -> Result<(), Refusal> {
        let layers: Vec<PathBuf> = self
            .layout
            .workspace
            .iter()
            .map(|layer| self.layout.store.join(layer))
            .collect();
        if !layers.is_empty() {
            merge(&layers, Path::new(home::PATH), Material::Copy)
                .map_err(|error| Refusal::new("fill /home/dev", error))?;
        }
        for (index, cache) in self.layout.caches.iter().enumerate() {
            let linked = Linked::into(&self.home, index, cache, &self.layout)?;
            self.caches.push(linked);
        }
        Ok(())
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(super) fn ready(&self) -> Ready {
        Ready {
            workspace: Workspace::Direct,
            repositories: self.repositories.place.display().to_string(),
        }
    }

    pub(super) fn variable(&self) -> (&'static str, &str) {
        (VARIABLE, self.home.name())
    }

    #[expect(
        clippy::unused_self,
        reason = "there are processes only while the workspace is taken"
    )]
    pub(super) fn end_processes(&self) -> Result<(), Refusal> {
        processes::end_children().map_err(|error| Refusal::new("end what a step left", error))
    }

    /// Copies the workspace to where it is published from, without what is kept elsewhere.
    pub(super) fn capture(&mut self) -> Result<(), Refusal> {
        // The last one first: it may lie in the folder of another.
        while let Some(linked) = self.caches.pop() {
            linked.take_out(&self.home)?;
        }
        let layer = self.layout.store.join(&self.layout.scratch).join(LAYER);
        let tree = layer.join(TREE);
        fs::create_dir(&tree).map_err(|error| Refusal::new("make a folder in the store", error))?;
        merge(&[PathBuf::from(home::PATH)], &tree, Material::Copy)
            .map(drop)
            .map_err(|error| Refusal::new("capture /home/dev", error))
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        // Before the workspace is emptied: it would not stay so.
        processes::end_children().ok();
    }
}

/// Makes this process the parent of all that its descendants leave behind.
pub(super) fn adopt_orphans() -> Result<(), Refusal> {
    set_child_subreaper(Some(getpid())).map_err(|error| Refusal::new("adopt orphans", error))
}

/// The fetched repositories where `dev` can read them; dropped, they are gone.
struct Handed {
    /// The folder that has to go.
    folder: Option<PathBuf>,
    place: PathBuf,
}

impl Handed {
    /// Root's store is closed to `dev`, and so they get a copy.
    fn over(layout: &Layout, name: &str) -> Result<Self, Refusal> {
        let fetched = layout.store.join(&layout.scratch).join("git");
        if !layout.way.has_root() || !fetched.is_dir() {
            return Ok(Self {
                folder: None,
                place: fetched,
            });
        }
        let folder = Self::folder(name);
        let place = folder.join("git");
        let handed = Self {
            folder: Some(folder.clone()),
            place: place.clone(),
        };
        let copy = || {
            fs::DirBuilder::new().mode(0o700).create(&folder)?;
            fs::create_dir(&place)?;
            merge(&[fetched], &place, Material::Copy)?;
            chown(&folder, None, Some(layout.way.dev().1))?;
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o750))
        };
        copy().map_err(|error| Refusal::new("hand repositories over", error))?;
        Ok(handed)
    }

    fn folder(name: &str) -> PathBuf {
        Path::new("/tmp").join(format!("atelier-direct-{name}"))
    }

    /// Removes what a launcher that was killed has left.
    fn forget(name: &str) {
        fs::remove_dir_all(Self::folder(name)).ok();
    }
}

impl Drop for Handed {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            fs::remove_dir_all(folder).ok();
        }
    }
}
