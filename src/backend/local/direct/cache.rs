//! Folders that are kept between bakes, without mounts: a symbolic link leads to each while steps run.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, ResolveFlags, Uid, chownat, mkdirat, openat2, renameat, statat,
    symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::super::protocol::{CacheMount, Layout, Refusal};
use super::super::store::empty;
use super::super::way::Way;
use super::home::{Home, PATH};

/// A link in the workspace.
pub(super) struct Linked {
    way: Way,
    /// Relative to the workspace.
    path: String,
    /// What the folder that is there otherwise is called meanwhile.
    aside: String,
}

impl Linked {
    pub(super) fn into(
        home: &Home,
        index: usize,
        cache: &CacheMount,
        layout: &Layout,
    ) -> Result<Self, Refusal> {
        let path = relative(&cache.target)?;
        let linked = Self {
            way: layout.way,
            aside: format!(".atelier-cache-{index}"),
            path,
        };
        let link = || {
            let (folder, name) = linked.folder(home)?;
            match renameat(&folder, name, home.folder(), linked.aside.as_str()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno.into()),
            }
            symlinkat(layout.store.join(&cache.source), &folder, name)?;
            Ok(linked.own(&folder, name)?)
        };
        link().map_err(|error: io::Error| linked.refused(error))?;
        Ok(linked)
    }

    /// Puts the folder back that was there, or an empty one.
    pub(super) fn take_out(self, home: &Home) -> Result<(), Refusal> {
        let take_out = || {
            let (folder, name) = self.folder(home)?;
            remove(&folder, name)?;
            match renameat(home.folder(), self.aside.as_str(), &folder, name) {
                Err(Errno::NOENT) => {
                    mkdirat(&folder, name, Mode::from_raw_mode(0o755))?;
                    Ok(self.own(&folder, name)?)
                }
                other => Ok(other?),
            }
        };
        take_out().map_err(|error: io::Error| self.refused(error))
    }

    /// The folder that the link is in, made as `dev`'s as far as it is missing, and the link's name.
    fn folder<'a>(&'a self, home: &Home) -> io::Result<(OwnedFd, &'a str)> {
        let (above, name) = self.path.rsplit_once('/').unwrap_or((".", &self.path));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut folder = rustix::fs::openat(home.folder(), ".", flags, Mode::empty())?;
        for segment in above.split('/').filter(|segment| !segment.is_empty()) {
            match mkdirat(&folder, segment, Mode::from_raw_mode(0o755)) {
                Ok(()) => self.own(&folder, segment)?,
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            folder = openat2(&folder, segment, flags, Mode::empty(), resolve)?;
        }
        Ok((folder, name))
    }

    fn own(&self, folder: &OwnedFd, name: &str) -> rustix::io::Result<()> {
        let (user, group) = self.way.dev();
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        chownat(folder, name, Some(user), Some(group), flags)
    }

    fn refused(&self, error: io::Error) -> Refusal {
        Refusal::new(format!("make the folder of cache {}", self.path), error)
    }
}

/// The path in the workspace.
fn relative(target: &str) -> Result<String, Refusal> {
    let inside = match target.strip_prefix(PATH) {
        Some(inside) if inside.starts_with('/') => inside.trim_matches('/'),
        _ if target.starts_with('/') => {
            let where_to = io::Error::other("without a sandbox it has to be below /home/dev");
            return Err(Refusal::new(format!("make a cache at {target}"), where_to));
        }
        _ => target,
    };
    Ok(inside.to_owned())
}

/// Removes whatever a step has left in the link's place.
fn remove(folder: &OwnedFd, name: &str) -> io::Result<()> {
    let stat = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(errno.into()),
    };
    if rustix::fs::FileType::from_raw_mode(stat.st_mode) != rustix::fs::FileType::Directory {
        return Ok(unlinkat(folder, name, AtFlags::empty())?);
    }
    let path = format!("/proc/self/fd/{}/{name}", folder.as_raw_fd());
    empty(Path::new(&path))?;
    Ok(unlinkat(folder, name, AtFlags::REMOVEDIR)?)
}
