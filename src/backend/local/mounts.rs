//! The file systems of a sandbox, mounted in the launcher's namespace: a root that is thrown away, a second one with the
//! machine's tools for what atelier does itself, and the workspace in both at /home/dev.
//!
//! The current folder is the store, and layers are named relative to it: one mount call takes a page of options.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, mkdirat, openat2, unlinkat};
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_change, mount_remount,
};

use super::init::DEV;
use super::protocol::{CacheMount, Layout, Refusal, Root, RootLayers};
use crate::sys;

/// The machine's folders that make up the image `host`, beside /etc.
const SYSTEM: [&str; 8] = [
    "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "opt",
];

const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

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
                identity(&image, &layout.hostname, |uid| uid != DEV)?;
            }
        }
        // From here on by absolute name: whoever enters a root has left the store.
        let scratch = layout.store.join(scratch);
        let image = layout.store.join(image);
        furnish(&image, &scratch)?;
        for cache in &layout.caches {
            mount_cache(&image, cache, &layout.store)?;
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
    identity(root, &layout.hostname, |uid| uid < DEV || uid == 65534)
}

/// The machine's programs with an /etc of our own, and the fetched repositories: what git needs, and no step sees.
fn tools_root(root: &Path, scratch: &Path, hostname: &str) -> Mounted<()> {
    empty_root(root)?;
    for name in SYSTEM {
        system_folder(root, name)?;
    }
    identity(root, hostname, |_| false)?;
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
    devices(root)?;
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

fn devices(root: &Path) -> Mounted<()> {
    let dev = root.join("dev");
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    at(
        "mount /dev",
        mount(
            "tmpfs",
            &dev,
            "tmpfs",
            MountFlags::NOSUID,
            c"mode=0755,size=64k",
        ),
    )?;
    for name in DEVICES {
        let target = dev.join(name);
        at("make a device", File::create(&target).map(drop))?;
        at(
            "show a device",
            mount_bind(Path::new("/dev").join(name), &target),
        )?;
    }
    for folder in ["shm", "pts"] {
        at("make a folder in /dev", fs::create_dir(dev.join(folder)))?;
    }
    at(
        "mount /dev/shm",
        mount(
            "tmpfs",
            dev.join("shm"),
            "tmpfs",
            flags | MountFlags::NODEV,
            c"mode=1777",
        ),
    )?;
    let options = c"newinstance,ptmxmode=0666,mode=0620";
    at(
        "mount /dev/pts",
        mount("devpts", dev.join("pts"), "devpts", flags, options),
    )?;
    let links = [
        ("pts/ptmx", "ptmx"),
        ("/proc/self/fd", "fd"),
        ("/proc/self/fd/0", "stdin"),
        ("/proc/self/fd/1", "stdout"),
        ("/proc/self/fd/2", "stderr"),
    ];
    for (to, name) in links {
        at(
            "link a device",
            std::os::unix::fs::symlink(to, dev.join(name)),
        )?;
    }
    Ok(())
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

/// Shows a kept folder. Mount points are made as `dev`'s, segment by segment.
fn mount_cache(root: &Path, cache: &CacheMount, store: &Path) -> Mounted<()> {
    let source = store.join(&cache.source);
    let target = match cache.target.strip_prefix('/') {
        Some(absolute) => absolute.to_owned(),
        None => format!("{WORKSPACE}/{}", cache.target),
    };
    let directory = OFlags::PATH | OFlags::DIRECTORY;
    let make = || -> io::Result<OwnedFd> {
        let mut parent =
            open_in(root, "", directory, 0).or_else(|_| open_in(root, ".", directory, 0))?;
        let mut so_far = String::new();
        for segment in target.split('/').filter(|segment| !segment.is_empty()) {
            so_far = format!("{so_far}/{segment}");
            match mkdirat(&parent, segment, Mode::from_raw_mode(0o755)) {
                Ok(()) => rustix::fs::chownat(
                    &parent,
                    segment,
                    Some(rustix::fs::Uid::from_raw(DEV)),
                    Some(rustix::fs::Gid::from_raw(DEV)),
                    AtFlags::SYMLINK_NOFOLLOW,
                )?,
                Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            parent = open_in(root, &so_far, directory, 0)?;
        }
        Ok(parent)
    };
    let folder = make()
        .map_err(|error| Refusal::new(format!("make the folder of cache {target}"), error))?;
    let name = format!("/proc/self/fd/{}", folder.as_raw_fd());
    at("mount a cache", mount_bind(&source, name))
}

/// The files of /etc that say who and where this is. `keep` chooses the users that stay.
fn identity(root: &Path, hostname: &str, keep: impl Fn(u32) -> bool) -> Mounted<()> {
    folder_in(root, "etc")?;
    let old = |name: &str| read_in(root, &format!("etc/{name}"));
    let hosts = fs::read_to_string("/etc/hosts").unwrap_or_default();
    let files = [
        ("passwd", accounts(&old("passwd"), PASSWD, &keep)),
        ("group", accounts(&old("group"), GROUP, &keep)),
        // The network is the machine's, and so are the names on it.
        (
            "hosts",
            format!("{}\n127.0.1.1 {hostname}\n", hosts.trim_end()),
        ),
        ("hostname", format!("{hostname}\n")),
        (
            "resolv.conf",
            fs::read_to_string("/etc/resolv.conf").unwrap_or_default(),
        ),
        ("machine-id", format!("{:032x}\n", super::nonce::random())),
    ];
    for (name, text) in files {
        replace(&root.join("etc"), name, &text)
            .map_err(|error| Refusal::new(format!("write /etc/{name}"), error))?;
    }
    Ok(())
}

const PASSWD: [&str; 3] = [
    "root:x:0:0:root:/root:/bin/bash",
    "dev:x:1000:1000:dev:/home/dev:/bin/bash",
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin",
];
const GROUP: [&str; 3] = ["root:x:0:", "dev:x:1000:", "nogroup:x:65534:"];

/// Our own entries, then the image's that clash with none of them and that are to be kept.
fn accounts(old: &str, ours: [&str; 3], keep: &impl Fn(u32) -> bool) -> String {
    let name = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
    let id = |line: &str| line.split(':').nth(2).and_then(|id| id.parse().ok());
    let theirs = old.lines().filter(|line| {
        let free = |our: &&str| name(our) != name(line) && id(our) != id(line);
        ours.iter().all(free) && id(line).is_some_and(keep)
    });
    ours.into_iter()
        .chain(theirs)
        .fold(String::new(), |text, line| text + line + "\n")
}

fn read_in(root: &Path, path: &str) -> String {
    let read = || {
        let mut text = Vec::new();
        File::from(open_in(root, path, OFlags::RDONLY | OFlags::NONBLOCK, 0)?)
            .take(1 << 20)
            .read_to_end(&mut text)?;
        Ok::<_, io::Error>(String::from_utf8_lossy(&text).into_owned())
    };
    read().unwrap_or_default()
}

/// Puts a new file in the place of whatever is there.
fn replace(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    let path = folder.join(name);
    match unlinkat(CWD, &path, AtFlags::empty()) {
        Ok(()) | Err(rustix::io::Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let mut file = File::options().write(true).create_new(true).open(&path)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

fn at<T>(operation: &str, result: Result<T, impl Into<io::Error>>) -> Mounted<T> {
    result.map_err(|error| Refusal::new(operation, error))
}
