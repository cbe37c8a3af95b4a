//! Layers with a fresh one on top, by an overlay, or by a copy where the machine or the store has none.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount as mount_fs, mount_bind};

use super::super::protocol::{Layout, Refusal, Workspace};
use super::super::store::{LAYER, TREE};
use super::{MEMORY, Mounted, at, restrict};
use crate::tree::{Material, merge, take_after};

/// The workspace's layers with a fresh one on top, or one that is there from an earlier start.
pub(super) fn workspace(layout: &Layout, scratch: &Path, target: &Path) -> Mounted<Workspace> {
    let writes = layout.writes.as_deref().map_or(scratch, Path::new);
    let upper = writes.join(LAYER).join(TREE);
    let is_kept = layout.writes.is_some() && upper.is_dir();
    if !is_kept {
        at("make a folder in the store", fs::create_dir(&upper))?;
        at(
            "take over the folder's attributes",
            inherit(layout.workspace.last(), &upper, layout.way.dev().0),
        )?;
    }
    match mount(
        &layout.workspace,
        &upper,
        &scratch.join("home-work"),
        target,
    ) {
        Ok(()) => Ok(Workspace::Overlaid),
        // What is kept is a copy already.
        Err(refusal) if is_impossible(&refusal) && is_kept => copy(&[], &upper, target),
        Err(refusal) if is_impossible(&refusal) => copy(&layout.workspace, &upper, target),
        Err(refusal) => Err(refusal),
    }
}

/// Whether it is for want of overlays: in the kernel, for this user, or on this file system.
fn is_impossible(refusal: &Refusal) -> bool {
    let errno = refusal.errno.map(Errno::from_raw_os_error);
    let wanting = [
        Errno::INVAL,
        Errno::NODEV,
        Errno::OPNOTSUPP,
        Errno::PERM,
        Errno::ROFS,
    ];
    errno.is_some_and(|errno| wanting.contains(&errno))
}

fn copy(layers: &[String], upper: &Path, target: &Path) -> Mounted<Workspace> {
    let mut done = Workspace::Copied {
        copied: 0,
        cloned: 0,
    };
    if !layers.is_empty() {
        let layers: Vec<PathBuf> = layers.iter().map(PathBuf::from).collect();
        let merged = at("copy the workspace", merge(&layers, upper, Material::Copy))?;
        let (copied, cloned) = (merged.copied, merged.cloned);
        done = Workspace::Copied { copied, cloned };
    }
    at("show the workspace", mount_bind(upper, target))?;
    at(
        "restrict the workspace",
        restrict(target, MountFlags::NODEV),
    )?;
    Ok(done)
}

/// An image's layers with one on top that is thrown away, and that is returned. Where the store cannot have that one, it
/// is in memory: what is written outside of the workspace is little.
pub(super) fn image(root: &Path, layers: &[String], scratch: &Path) -> Mounted<PathBuf> {
    let over = |upper: PathBuf, work: &Path| {
        at("make a folder for the root", fs::create_dir(&upper))?;
        at(
            "take over the image's attributes",
            inherit(layers.last(), &upper, 0),
        )?;
        mount(layers, &upper, work, root).map(|()| upper)
    };
    match over(scratch.join("root-upper"), &scratch.join("root-work")) {
        Err(refusal) if is_impossible(&refusal) => {
            let memory = scratch.join(MEMORY);
            over(memory.join("root-upper"), &memory.join("root-work"))
        }
        other => other,
    }
}

/// Mounts `layers` (lowest first) below `upper`, with a fresh folder `work` beside it. Relative names are from the store.
pub(super) fn mount(layers: &[String], upper: &Path, work: &Path, target: &Path) -> Mounted<()> {
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
    let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
    let options = at(
        "mount an overlay",
        CString::new(options).map_err(|_| invalid()),
    )?;
    let flags = MountFlags::NODEV;
    at(
        "mount an overlay",
        mount_fs("overlay", target, "overlay", flags, options.as_c_str()),
    )?;
    // The kernel says nothing if it cannot use the upper folder.
    let flags = at("look at an overlay", statvfs(target))?.f_flag;
    match flags.contains(StatVfsMountFlags::RDONLY) {
        true => Err(Refusal::new("mount an overlay", Errno::ROFS)),
        false => Ok(()),
    }
}

/// A merged folder looks like its upper one: here like the top layer's folder, or like a new one of `owner`.
fn inherit(top: Option<&String>, upper: &Path, owner: u32) -> io::Result<()> {
    match top {
        Some(top) => take_after(Path::new(top), upper),
        None => chown(upper, Some(owner), Some(owner)),
    }
}
