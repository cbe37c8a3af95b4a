//! Folders that are kept between bakes, mounted where a node wants them.

use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::mount::mount_bind;

use super::super::protocol::{CacheMount, Refusal};
use super::super::way::Way;
use super::{Mounted, WORKSPACE, at, make_folders};

/// Shows a kept folder. Mount points are made as `dev`'s, segment by segment.
pub(super) fn mount_cache(root: &Path, cache: &CacheMount, store: &Path, way: Way) -> Mounted<()> {
    let source = store.join(&cache.source);
    let target = match cache.target.strip_prefix('/') {
        Some(absolute) => absolute.to_owned(),
        None => format!("{WORKSPACE}/{}", cache.target),
    };
    let folder = make_folders(root, &target, way.dev().0)
        .map_err(|error| Refusal::new(format!("make the folder of cache {target}"), error))?;
    let name = format!("/proc/self/fd/{}", folder.as_raw_fd());
    at("mount a cache", mount_bind(&source, name))
}
