//! The file systems of a sandbox, mounted in the launcher's namespace: a root that is thrown away, a second one with the
//! machine's tools for what atelier does itself, and the workspace in both at /home/dev.
//!
//! The current folder is the store, and layers are named relative to it: one mount call takes a page of options.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, StatVfsMountFlags, openat2, statvfs};
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_change, mount_remount,
};

use super::protocol::{Layout, Refusal, Root, RootLayers, Written};
use super::store::{LAYER, TREE};
use super::way::{DEV, Way};
use crate::sys;

mod cache;
mod devices;
mod host;
mod identity;
mod outside;

use outside::Outside;

const WORKSPACE: &str = "home/dev";

/// A tmpfs in the scratch folder: mount points and what is small need no disk, and no deleting.
const MEMORY: &str = "memory";

/// The layer over an image's own.
const ROOT: &str = "root-upper";

pub(super) struct Mounts {
    layout: Layout,
    scratch: PathBuf,
    image: PathBuf,
    /// Mounted when it is first needed.
    tools: Option<PathBuf>,
    outside: Outside,
}

type Mounted<T> = Result<T, Refusal>;

impl Mounts {
    /// Mounts the image's root and the workspace. Leaves the current folder at the store.
    pub(super) fn prepare(layout: Layout) -> Mounted<Self> {
        at("create a mount namespace", sys::unshare_mounts())?;
        let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
        at("make the mounts private", mount_change("/", private))?;
        at("enter the store", std::env::set_current_dir(&layout.store))?;
        rustix::process::umask(Mode::from_raw_mode(0o022));
        let scratch = PathBuf::from(&layout.scratch);
        let memory = scratch.join(MEMORY);
        at("make a folder in the store", fs::create_dir(&memory))?;
        at(
            "mount a tmpfs",
            mount("tmpfs", &memory, "tmpfs", MountFlags::NODEV, c"mode=0755"),
        )?;
        workspace(&layout, &scratch, &memory.join("home"))?;
        let image = memory.join("root");
        match &layout.root {
            RootLayers::Host { hidden } => host::root(&image, hidden, &memory, &layout.hostname)?,
            RootLayers::Image(layers) => image_root(&image, layers, &scratch, &layout.hostname)?,
        }
        // From here on by absolute name: whoever enters a root has left the store.
        let scratch = layout.store.join(scratch);
        let image = layout.store.join(image);
        furnish(&image, &scratch)?;
        for cache in &layout.caches {
            cache::mount_cache(&image, cache, &layout.store, layout.way)?;
        }
        if let Way::Alone { .. } = layout.way {
            seal(&image, &layout.root)?;
        }
        let outside = Outside::watch(match &layout.root {
            RootLayers::Host { .. } => vec![
                (image.clone(), "/"),
                (scratch.join(MEMORY).join(host::CHANGES), "/etc"),
            ],
            RootLayers::Image(_) => vec![(scratch.join(ROOT), "/")],
        });
        Ok(Self {
            layout,
            scratch,
            image,
            tools: None,
            outside,
        })
    }

    /// What was written outside of the workspace, and will be thrown away.
    pub(super) fn outside(&self) -> Written {
        self.outside.written()
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Where a process's root is mounted.
    pub(super) fn root(&mut self, root: Root) -> Mounted<PathBuf> {
        match (root, &self.tools) {
            (Root::Image, _) => Ok(self.image.clone()),
            (Root::Tools, Some(tools)) => Ok(tools.clone()),
            (Root::Tools, None) => {
                let tools = self.scratch.join(MEMORY).join("tools");
                tools_root(&tools, &self.scratch, &self.layout.hostname)?;
                Ok(self.tools.insert(tools).clone())
            }
        }
    }
}

/// The workspace's layers with a fresh one on top.
fn workspace(layout: &Layout, scratch: &Path, target: &Path) -> Mounted<()> {
    let upper = scratch.join(LAYER).join(TREE);
    at("make a folder in the store", fs::create_dir(&upper))?;
    at(
        "take over the folder's attributes",
        inherit(layout.workspace.last(), &upper, layout.way.dev()),
    )?;
    overlay(
        &layout.workspace,
        &upper,
        &scratch.join("home-work"),
        target,
    )
}

/// An image's layers with one on top that is thrown away.
fn image_root(root: &Path, layers: &[String], scratch: &Path, hostname: &str) -> Mounted<()> {
    let upper = scratch.join(ROOT);
    at("make a folder in the store", fs::create_dir(&upper))?;
    at(
        "take over the image's attributes",
        inherit(layers.last(), &upper, 0),
    )?;
    overlay(layers, &upper, &scratch.join("root-work"), root)?;
    folder_in(root, "etc")?;
    let old = |name: &str| identity::read_in(root, &format!("etc/{name}"));
    identity::write(&root.join("etc"), old, hostname, |uid| uid != DEV)
}

/// Mounts `layers` (lowest first) below `upper`, with a fresh folder `work` beside it. Relative names are from the store.
fn overlay(layers: &[String], upper: &Path, work: &Path, target: &Path) -> Mounted<()> {
    at("make a folder in the store", fs::create_dir(work))?;
    at("make a mount point", fs::create_dir_all(target))?;
    let mut lower: Vec<String> = layers.iter().rev().cloned().collect();
    if lower.is_empty() {
        // There is no overlay of nothing: of an empty folder, then. The mount will hide it.
        lower.push(target.display().to_string());
    }
    // `userxattr` makes one format for root and for users; `volatile` leaves flushing to who publishes. Every mount
    // of a layer, ever, must use the first, or deleted files come back.
    let options = format!(
        "userxattr,volatile,lowerdir={},upperdir={},workdir={}",
        lower.join(":"),
        upper.display(),
        work.display(),
    );
    let options = std::ffi::CString::new(options).map_err(|_| {
        let error = io::Error::from(io::ErrorKind::InvalidInput);
        Refusal::new("mount an overlay", error)
    })?;
    let flags = MountFlags::NODEV;
    at(
        "mount an overlay",
        mount("overlay", target, "overlay", flags, options.as_c_str()),
    )?;
    // The kernel says nothing if it cannot use the upper folder.
    let flags = at("look at an overlay", statvfs(target))?.f_flag;
    match flags.contains(StatVfsMountFlags::RDONLY) {
        true => Err(Refusal::new(
            "mount an overlay",
            io::Error::from(io::ErrorKind::ReadOnlyFilesystem),
        )),
        false => Ok(()),
    }
}

/// A merged folder has the attributes of its upper one: here mode and owner of the top layer's folder, or `owner`.
fn inherit(top: Option<&String>, upper: &Path, owner: u32) -> io::Result<()> {
    let Some(top) = top else {
        return chown(upper, Some(owner), Some(owner));
    };
    let meta = fs::metadata(top)?;
    chown(upper, Some(meta.uid()), Some(meta.gid()))?;
    fs::set_permissions(upper, meta.permissions())
}

/// With one user, all that others would only read is `dev`'s own: nobody writes there.
fn seal(root: &Path, layers: &RootLayers) -> Mounted<()> {
    let mounted = match layers {
        RootLayers::Host { .. } => vec![root.to_owned(), root.join("etc")],
        RootLayers::Image(_) => vec![root.to_owned()],
    };
    for place in mounted {
        at("make the root read-only", protect(&place))?;
    }
    Ok(())
}

/// The machine's programs with an /etc of our own, and the fetched repositories: what git needs, and no step sees.
fn tools_root(root: &Path, scratch: &Path, hostname: &str) -> Mounted<()> {
    empty_root(root)?;
    host::system_folders(root)?;
    folder_in(root, "etc")?;
    identity::write(&root.join("etc"), |_| String::new(), hostname, |_| false)?;
    furnish(root, scratch)?;
    let (git, target) = (scratch.join("git"), root.join("run/atelier/git"));
    at("make a mount point", fs::create_dir_all(&target))?;
    at("show the repositories", mount_bind(&git, &target))?;
    at("make the repositories read-only", protect(&target))
}

fn empty_root(root: &Path) -> Mounted<()> {
    at("make a mount point", fs::create_dir_all(root))?;
    let options = c"mode=0755,size=64m";
    let flags = MountFlags::NODEV | MountFlags::NOSUID;
    at(
        "mount a root",
        mount("tmpfs", root, "tmpfs", flags, options),
    )
}

/// Makes a bind mount read-only and takes devices and set-id programs from it. What restricts it already stays: in a user
/// namespace it cannot be taken away.
fn protect(mounted: &Path) -> io::Result<()> {
    let there = statvfs(mounted)?.f_flag;
    let mut flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NODEV | MountFlags::NOSUID;
    if there.contains(StatVfsMountFlags::NOEXEC) {
        flags |= MountFlags::NOEXEC;
    }
    Ok(mount_remount(mounted, flags, c"")?)
}

/// /dev, /tmp, /run and the workspace in a root.
fn furnish(root: &Path, scratch: &Path) -> Mounted<()> {
    for folder in ["proc", "dev", "tmp", "run", "home", WORKSPACE] {
        folder_in(root, folder)?;
    }
    devices::mount_devices(root)?;
    let flags = MountFlags::NODEV | MountFlags::NOSUID;
    at(
        "mount /tmp",
        mount("tmpfs", root.join("tmp"), "tmpfs", flags, c"mode=1777"),
    )?;
    at(
        "mount /run",
        mount("tmpfs", root.join("run"), "tmpfs", flags, c"mode=0755"),
    )?;
    at(
        "mount /home/dev",
        mount_bind(scratch.join(MEMORY).join("home"), root.join(WORKSPACE)),
    )
}

/// Makes a folder in a root, unless it is there; a symbolic link that an image has in its place is replaced.
fn folder_in(root: &Path, name: &str) -> Mounted<()> {
    let path = root.join(name);
    let make = || match fs::symlink_metadata(&path) {
        Ok(meta) if meta.is_dir() => Ok(()),
        Ok(_) => fs::remove_file(&path).and_then(|()| fs::create_dir(&path)),
        Err(_) => fs::create_dir(&path),
    };
    make().map_err(|error| Refusal::new(format!("make /{name}"), error))
}

/// Opens a path as the sandbox will see it: symbolic links are followed, but never out of the root.
fn open_in(root: &Path, path: &str, flags: OFlags, mode: u32) -> io::Result<OwnedFd> {
    let root = rustix::fs::open(
        root,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let mode = Mode::from_raw_mode(mode);
    Ok(openat2(
        &root,
        path,
        flags | OFlags::CLOEXEC,
        mode,
        ResolveFlags::IN_ROOT,
    )?)
}

fn at<T>(operation: &str, result: Result<T, impl Into<io::Error>>) -> Mounted<T> {
    result.map_err(|error| Refusal::new(operation, error))
}
