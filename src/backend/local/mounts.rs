//! The file systems of a sandbox, mounted in the launcher's namespace: a root that is thrown away, a second one with the
//! machine's tools for what atelier does itself, and the workspace in both at /home/dev.
//!
//! The current folder is the store, and layers are named relative to it: one mount call takes a page of options.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_change, mount_remount,
};

use super::init::DEV;
use super::protocol::{Layout, Refusal, Root, RootLayers};
use crate::sys;

mod cache;
mod devices;
mod identity;

/// The machine's folders that make up the image `host`, beside /etc.
const SYSTEM: [&str; 8] = [
    "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "opt",
];

const WORKSPACE: &str = "home/dev";

/// A tmpfs in the scratch folder: mount points and what is small need no disk, and no deleting.
const MEMORY: &str = "memory";

pub(super) struct Mounts {
    layout: Layout,
    scratch: PathBuf,
    image: PathBuf,
    /// Mounted when it is first needed.
    tools: Option<PathBuf>,
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
        overlay(
            &layout.workspace,
            &scratch.join("home"),
            &memory.join("home"),
        )?;
        let image = memory.join("root");
        match &layout.root {
            RootLayers::Host { hidden } => host_root(&layout, &image, hidden)?,
            RootLayers::Image(layers) => {
                overlay(layers, &scratch.join("root"), &image)?;
                identity::write(&image, &layout.hostname, |uid| uid != DEV)?;
            }
        }
        // From here on by absolute name: whoever enters a root has left the store.
        let scratch = layout.store.join(scratch);
        let image = layout.store.join(image);
        furnish(&image, &scratch)?;
        for cache in &layout.caches {
            cache::mount_cache(&image, cache, &layout.store)?;
        }
        Ok(Self {
            layout,
            scratch,
            image,
            tools: None,
        })
    }

    pub(super) fn hostname(&self) -> &str {
        &self.layout.hostname
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

/// Mounts `layers` (lowest first) with two fresh folders beside each other, `NAME-upper` and `NAME-work`. A relative name
/// is from the store.
fn overlay(layers: &[String], name: &Path, target: &Path) -> Mounted<()> {
    let [upper, work] = ["upper", "work"].map(|half| format!("{}-{half}", name.display()));
    for folder in [&upper, &work] {
        at("make a folder in the store", fs::create_dir(folder))?;
    }
    at("make a mount point", fs::create_dir_all(target))?;
    // A merged folder has the attributes of its upper one.
    at(
        "take over the folder's attributes",
        inherit(layers.last().map(Path::new), Path::new(&upper)),
    )?;
    let mut lower: Vec<String> = layers.iter().rev().cloned().collect();
    if lower.is_empty() {
        // There is no overlay of nothing: of an empty folder, then. The mount will hide it.
        lower.push(target.display().to_string());
    }
    // `userxattr` makes one format for root and for users; `volatile` leaves flushing to who publishes. Every mount
    // of a layer, ever, must use the first, or deleted files come back.
    let options = format!(
        "userxattr,volatile,lowerdir={},upperdir={upper},workdir={work}",
        lower.join(":"),
    );
    let options = std::ffi::CString::new(options).map_err(|_| {
        Refusal::new(
            "mount an overlay",
            io::Error::from(io::ErrorKind::InvalidInput),
        )
    })?;
    at(
        "mount an overlay",
        mount(
            "overlay",
            target,
            "overlay",
            MountFlags::NODEV,
            options.as_c_str(),
        ),
    )
}

/// Mode and owner of the top layer's folder; a workspace without a parent belongs to `dev`.
fn inherit(top: Option<&Path>, upper: &Path) -> io::Result<()> {
    let Some(top) = top else {
        return chown(upper, Some(DEV), Some(DEV));
    };
    let meta = fs::metadata(top)?;
    chown(upper, Some(meta.uid()), Some(meta.gid()))?;
    fs::set_permissions(upper, meta.permissions())
}

/// The machine's system folders, read-only, and a copy-on-write view of its /etc without secrets.
fn host_root(layout: &Layout, root: &Path, hidden: &[PathBuf]) -> Mounted<()> {
    empty_root(root)?;
    for name in SYSTEM {
        system_folder(root, name)?;
    }
    let etc = root.join("etc");
    let changes = Path::new(&layout.scratch).join(MEMORY).join("etc");
    overlay(&["/etc".to_owned()], &changes, &etc)?;
    for path in hidden {
        // Absolute names of the machine; what is gone needs no hiding.
        let Ok(inside) = path.strip_prefix("/etc") else {
            continue;
        };
        hide(&etc.join(inside))
            .map_err(|error| Refusal::new(format!("hide {}", path.display()), error))?;
    }
    identity::write(root, &layout.hostname, |uid| uid < DEV || uid == 65534)
}

/// The machine's programs with an /etc of our own, and the fetched repositories: what git needs, and no step sees.
fn tools_root(root: &Path, scratch: &Path, hostname: &str) -> Mounted<()> {
    empty_root(root)?;
    for name in SYSTEM {
        system_folder(root, name)?;
    }
    identity::write(root, hostname, |_| false)?;
    furnish(root, scratch)?;
    let (git, target) = (scratch.join("git"), root.join("run/atelier/git"));
    at("make a mount point", fs::create_dir_all(&target))?;
    at("show the repositories", mount_bind(&git, &target))?;
    let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NODEV | MountFlags::NOSUID;
    at(
        "make the repositories read-only",
        mount_remount(&target, flags, c""),
    )
}

fn empty_root(root: &Path) -> Mounted<()> {
    at("make a mount point", fs::create_dir_all(root))?;
    let options = c"mode=0755,size=64m";
    at(
        "mount a root",
        mount(
            "tmpfs",
            root,
            "tmpfs",
            MountFlags::NODEV | MountFlags::NOSUID,
            options,
        ),
    )
}

fn hide(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Shows one folder of the machine, or the symbolic link that stands in its place.
fn system_folder(root: &Path, name: &str) -> Mounted<()> {
    let (here, there) = (Path::new("/").join(name), root.join(name));
    let Ok(meta) = fs::symlink_metadata(&here) else {
        return Ok(());
    };
    if meta.is_symlink() {
        let link = || std::os::unix::fs::symlink(fs::read_link(&here)?, &there);
        return at("link a system folder", link());
    }
    at("make a mount point", fs::create_dir_all(&there))?;
    // Not recursive: what else the machine has mounted below stays out.
    at("show a system folder", mount_bind(&here, &there))?;
    let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NODEV | MountFlags::NOSUID;
    at(
        "make a system folder read-only",
        mount_remount(&there, flags, c""),
    )
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
