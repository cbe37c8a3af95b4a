//! The file systems of a sandbox, mounted in the launcher's namespace: a root that is thrown away, a second one with the
//! machine's tools for what atelier does itself, and the workspace in both at /home/dev.
//!
//! The current folder is the store, and layers are named relative to it: one mount call takes a page of options.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, ResolveFlags, StatVfsMountFlags, Uid, chownat, mkdirat, openat2,
    statvfs,
};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_change, mount_remount,
};

use super::protocol::{Layout, Refusal, Root, RootLayers, Workspace, Written};
use super::way::{DEV, Way};
use crate::sys;

mod cache;
mod devices;
mod extra;
mod host;
mod identity;
mod outside;
mod overlay;

use outside::Outside;

const WORKSPACE: &str = "home/dev";

/// A tmpfs in the scratch folder: mount points and what is small need no disk, and no deleting.
const MEMORY: &str = "memory";

pub(super) struct Mounts {
    layout: Layout,
    scratch: PathBuf,
    image: PathBuf,
    /// Mounted when it is first needed.
    tools: Option<PathBuf>,
    outside: Outside,
    workspace: Workspace,
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
        let workspace = overlay::workspace(&layout, &scratch, &memory.join("home"))?;
        let image = memory.join("root");
        // Where what is written outside of the workspace lands, each with how the sandbox sees it.
        let mut outside = match &layout.root {
            RootLayers::Host { hidden, .. } => {
                let changes = host::root(&image, hidden, &memory, &layout.hostname)?;
                vec![(image.clone(), "/"), (changes, "/etc")]
            }
            RootLayers::Image(layers) => {
                vec![(image_root(&image, layers, &scratch, &layout.hostname)?, "/")]
            }
        };
        // From here on by absolute name: whoever enters a root has left the store.
        let scratch = layout.store.join(scratch);
        let image = layout.store.join(image);
        furnish(&image, &scratch)?;
        if let RootLayers::Host { extra, .. } = &layout.root {
            extra::show_all(&image, extra)?;
        }
        for cache in &layout.caches {
            cache::mount_cache(&image, cache, &layout.store, layout.way)?;
        }
        if let Way::Alone { .. } = layout.way {
            seal(&image, &layout.root)?;
        }
        for (place, _) in &mut outside {
            *place = layout.store.join(&*place);
        }
        let outside = Outside::watch(outside);
        Ok(Self {
            layout,
            scratch,
            image,
            tools: None,
            outside,
            workspace,
        })
    }

    /// Where processes with [`Root::Tools`] see the fetched repositories.
    pub(super) const REPOSITORIES: &str = "/run/atelier/git";

    /// What was written outside of the workspace, and will be thrown away.
    pub(super) fn outside(&self) -> Written {
        self.outside.written()
    }

    /// What the workspace is made of.
    pub(super) fn workspace(&self) -> Workspace {
        self.workspace
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

/// The root of an image, with what a sandbox adds to every one. Returns the layer that holds what is written there.
fn image_root(root: &Path, layers: &[String], scratch: &Path, hostname: &str) -> Mounted<PathBuf> {
    let upper = overlay::image(root, layers, scratch)?;
    folder_in(root, "etc")?;
    let old = |name: &str| identity::read_in(root, &format!("etc/{name}"));
    identity::write(&root.join("etc"), old, hostname, |uid| uid != DEV)?;
    Ok(upper)
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
    let (git, target) = (
        scratch.join("git"),
        root.join(Mounts::REPOSITORIES.trim_start_matches('/')),
    );
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

/// Makes a bind mount read-only and takes devices and set-id programs from it.
fn protect(mounted: &Path) -> io::Result<()> {
    restrict(
        mounted,
        MountFlags::RDONLY | MountFlags::NODEV | MountFlags::NOSUID,
    )
}

/// Restricts a bind mount further. What restricts it already stays: in a user namespace it cannot be taken away.
fn restrict(mounted: &Path, further: MountFlags) -> io::Result<()> {
    let there = statvfs(mounted)?.f_flag;
    let kept = [
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::RDONLY, MountFlags::RDONLY),
    ];
    let kept = kept.into_iter().filter(|(is, _)| there.contains(*is));
    let flags = kept.fold(MountFlags::BIND | further, |flags, (_, flag)| flags | flag);
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

/// Makes a folder and those above it, segment by segment, as the sandbox will see them; what is new is `owner`'s. Returns
/// it opened.
fn make_folders(root: &Path, path: &str, owner: u32) -> io::Result<OwnedFd> {
    let directory = OFlags::PATH | OFlags::DIRECTORY;
    let mut parent = open_in(root, ".", directory, 0)?;
    let mut so_far = String::new();
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        so_far = format!("{so_far}/{segment}");
        match mkdirat(&parent, segment, Mode::from_raw_mode(0o755)) {
            Ok(()) => chownat(
                &parent,
                segment,
                Some(Uid::from_raw(owner)),
                Some(Gid::from_raw(owner)),
                AtFlags::SYMLINK_NOFOLLOW,
            )?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        parent = open_in(root, &so_far, directory, 0)?;
    }
    Ok(parent)
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
