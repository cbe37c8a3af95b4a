//! Folders that are kept between bakes, mounted where a node wants them.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Gid, Mode, OFlags, ResolveFlags, Uid, chownat, mkdirat, open, openat2};
use rustix::io::Errno;
use rustix::mount::mount_bind;

use super::super::protocol::{CacheMount, Refusal};
use super::super::way::Way;
use super::{Mounted, WORKSPACE, at, make_folders};

const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Shows a kept folder. Mount points are made as `dev`'s, segment by segment.
pub(super) fn mount_cache(root: &Path, cache: &CacheMount, store: &Path, way: Way) -> Mounted<()> {
    let source = store.join(&cache.source);
    let owner = way.dev().0;
    let folder = match cache.target.strip_prefix('/') {
        Some(absolute) => make_folders(root, absolute, owner)
            .and_then(|folder| outside_of_what_is_ours(root, folder)),
        None => in_workspace(root, &cache.target, owner),
    };
    let folder = folder.map_err(|error| {
        Refusal::new(format!("make the folder of cache {}", cache.target), error)
    })?;
    let name = format!("/proc/self/fd/{}", folder.as_raw_fd());
    at("mount a cache", mount_bind(&source, name))
}

/// A folder of the workspace. A parent may have left a link there: it would have the cache hide something else.
fn in_workspace(root: &Path, path: &str, owner: u32) -> io::Result<OwnedFd> {
    let mut folder = open(root.join(WORKSPACE), FOLDER, Mode::empty())?;
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        match mkdirat(&folder, segment, Mode::from_raw_mode(0o755)) {
            Ok(()) => chownat(
                &folder,
                segment,
                Some(Uid::from_raw(owner)),
                Some(Gid::from_raw(owner)),
                AtFlags::SYMLINK_NOFOLLOW,
            )?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        folder =
            openat2(&folder, segment, FOLDER, Mode::empty(), resolve).map_err(
                |error| match error {
                    Errno::LOOP | Errno::NOTDIR => {
                        io::Error::other(format!("`{segment}` is not a folder"))
                    }
                    other => other.into(),
                },
            )?;
    }
    Ok(folder)
}

/// An image may have a link where a cache is to be, but none that leads to the workspace or to what is the kernel's.
fn outside_of_what_is_ours(root: &Path, folder: OwnedFd) -> io::Result<OwnedFd> {
    let place = std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd()))?;
    let inside = place.strip_prefix(root).unwrap_or(&place);
    let ours = [WORKSPACE, "proc", "dev", "sys"];
    let is_ours = inside.as_os_str().is_empty() || Path::new(WORKSPACE).starts_with(inside);
    match is_ours || ours.iter().any(|ours| inside.starts_with(ours)) {
        true => {
            let place = inside.display();
            Err(io::Error::other(format!(
                "a link leads from there to /{place}"
            )))
        }
        false => Ok(folder),
    }
}
