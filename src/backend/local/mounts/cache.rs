//! Folders that are kept between bakes, mounted where a node wants them.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat};
use rustix::mount::mount_bind;

use super::super::protocol::{CacheMount, Refusal};
use super::super::way::Way;
use super::{Mounted, WORKSPACE, at, open_in};

/// Shows a kept folder. Mount points are made as `dev`'s, segment by segment.
pub(super) fn mount_cache(root: &Path, cache: &CacheMount, store: &Path, way: Way) -> Mounted<()> {
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
                    Some(rustix::fs::Uid::from_raw(way.dev())),
                    Some(rustix::fs::Gid::from_raw(way.dev())),
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
