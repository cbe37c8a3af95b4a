//! /dev: the few devices that every program expects, and terminals of the sandbox's own.

use std::fs::{self, File};
use std::path::Path;

use rustix::mount::{MountFlags, mount, mount_bind, mount_remount};

use super::{Mounted, at};

const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

pub(super) fn mount_devices(root: &Path) -> Mounted<()> {
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
        // Only what is written to the device gets through: its mode and owner are the machine's.
        let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NOEXEC;
        at("protect a device", mount_remount(&target, flags, c""))?;
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
