//! What it means for the caller that the machine refuses something, and the way out.

use rustix::io::Errno;

use super::protocol::Refusal;
use crate::backend::{BackendError, Class};

/// What a refusal means for the caller.
pub(super) fn describe(refused: &Refusal) -> BackendError {
    let errno = refused.errno.map(Errno::from_raw_os_error);
    let message = format!("cannot {}: {}", refused.operation, refused.cause);
    let class = match errno {
        // Of namespaces there is a number, and not of bytes.
        Some(Errno::NOSPC | Errno::DQUOT) if !refused.operation.contains("namespace") => {
            Class::Full
        }
        _ => Class::Denied,
    };
    BackendError::new(class, message).with_help(way_out(&refused.operation, errno))
}

/// What to do about an operation that the machine does not allow.
fn way_out(operation: &str, errno: Option<Errno>) -> &'static str {
    let denied = matches!(errno, Some(Errno::PERM | Errno::ACCESS));
    match operation {
        "create a user namespace" => {
            "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces=10000, \
             kernel.apparmor_restrict_unprivileged_userns=0 (those that exist); or run atelier as root; in a container \
             that is thrown away, use --sandbox direct"
        }
        "map the caller's range of ids" => {
            "have root reinstall the package `uidmap`, and see that /etc/subuid and /etc/subgid lend you 65536 ids each \
             that nobody else has"
        }
        _ if operation.starts_with("write /etc/") && errno == Some(Errno::ISDIR) => {
            "the image has a folder where this file belongs: take it out of the image, or use another one"
        }
        "mount /proc" if denied => {
            "something hides parts of /proc, as containers do: start this one with `--security-opt \
             systempaths=unconfined` or privileged; if it is thrown away, use --sandbox direct"
        }
        "make /home/dev" if denied => {
            "have root make it: mkdir /home/dev && chown YOU /home/dev; or run atelier as root"
        }
        "fill /home/dev" if denied => {
            "the snapshot has files of other users, as root steps make them, which only root can copy: run atelier as root"
        }
        "capture /home/dev" if denied => {
            "a step has closed files to its own user: have it leave them readable, or run atelier as root"
        }
        "use /home/dev" => {
            "--sandbox direct fills and empties it, so nothing of anybody else may be there: move that away, or wait for \
             the other process to end"
        }
        "read the image" | "unpack the image" if errno.is_none() => "copy the image again",
        _ if matches!(errno, Some(Errno::NOSPC | Errno::DQUOT)) => {
            "free some room, or place the store elsewhere with --store DIR"
        }
        _ if operation.starts_with("make the folder of cache") => {
            "give the cache a `path=` at which there is a folder, or nothing and a folder that may be written to; a folder \
             of the workspace is best"
        }
        _ if operation.starts_with("search the cache") => {
            "delete the cache's folder in `caches` of the store: it is made anew"
        }
        "mount an overlay" => {
            "the store's file system cannot hold overlays: place it on ext4, xfs or btrfs with --store DIR"
        }
        _ if denied => {
            "`atelier doctor` says what this machine does not allow; start a container privileged, or, if it is thrown \
             away, use --sandbox direct"
        }
        _ => "`atelier doctor` says what this machine does not allow",
    }
}
