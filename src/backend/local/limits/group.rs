//! The control groups of one sandbox.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use super::super::protocol::{GroupFolder, Version};
use super::place::{Hierarchy, Place};
use super::{Controller, Limits, Unlimited, describe};
use crate::nonce;

/// What the names of all our groups begin with.
const PREFIX: &str = "atelier-";

/// How often a name is made anew that a sweep was quick to take away.
const TRIES: usize = 5;

/// How long the kernel may take to let go of processes that have ended, in milliseconds.
const PATIENCE: u64 = 20;

/// The same for a group whose launcher has died: what it ran is being killed at this moment.
const PATIENCE_AFTER_A_CRASH: u64 = 1000;

/// Of one sandbox: a folder in each hierarchy that limits something. Dropped, it is removed, with what is left in it.
#[derive(Debug)]
pub(in super::super) struct Group {
    folders: Vec<Folder>,
    unlimited: Vec<Unlimited>,
    limits: Limits,
    told: Ended,
}

#[derive(Debug)]
struct Folder {
    version: Version,
    path: PathBuf,
    controllers: Vec<Controller>,
    /// Locked for as long as the group is in use.
    _lock: File,
}

/// How often the limits have ended or refused something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Ended {
    /// Processes that were killed since the memory was used up.
    pub killed: u64,
    /// Processes that could not be started, since there were too many.
    pub refused: u64,
}

impl Group {
    pub(super) fn make(place: &Place, limits: &Limits) -> Self {
        let mut group = Self {
            folders: Vec::new(),
            unlimited: place.unlimited.clone(),
            limits: *limits,
            told: Ended::default(),
        };
        for hierarchy in &place.hierarchies {
            match make_folder(hierarchy) {
                Ok(folder) => group.limit(folder, limits),
                Err(error) => {
                    let why = format!(
                        "cannot make a control group in {}: {error}",
                        hierarchy.parent.display()
                    );
                    let all = hierarchy.controllers.iter();
                    group.unlimited.extend(all.map(|&one| (one, why.clone())));
                }
            }
        }
        group
    }

    /// Takes the folder in, with what of the limits the kernel accepts.
    fn limit(&mut self, mut folder: Folder, limits: &Limits) {
        let Folder {
            path,
            version,
            controllers,
            ..
        } = &mut folder;
        controllers.retain(
            |&controller| match set(path, *version, controller, limits) {
                Ok(()) => true,
                Err(error) => {
                    let why = format!("the control group {} refuses it: {error}", path.display());
                    self.unlimited.push((controller, why));
                    false
                }
            },
        );
        self.folders.push(folder);
    }

    /// What of the limits is not enforced, in words for people.
    pub(in super::super) fn not_enforced(&self) -> Option<String> {
        describe(&self.unlimited)
    }

    pub(in super::super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Leaves it to who holds it besides: with the last of those, a sweep takes it.
    pub(in super::super) fn leave(&mut self) {
        self.folders.clear();
    }

    /// For the launcher, which puts what it starts in there.
    pub(in super::super) fn folders(&self) -> Vec<GroupFolder> {
        let folders = self.folders.iter();
        folders
            .map(|folder| GroupFolder {
                version: folder.version,
                path: folder.path.clone(),
            })
            .collect()
    }

    /// What the limits have done since the last time this was asked.
    pub(in super::super) fn ended(&mut self) -> Ended {
        let mut now = Ended::default();
        for folder in &self.folders {
            for controller in &folder.controllers {
                match (controller, folder.version) {
                    (Controller::Memory, Version::One) => {
                        now.killed += count(&folder.path.join("memory.oom_control"), "oom_kill");
                    }
                    (Controller::Memory, Version::Two) => {
                        now.killed += count(&folder.path.join("memory.events"), "oom_kill");
                    }
                    (Controller::Processes, _) => {
                        now.refused += count(&folder.path.join("pids.events"), "max");
                    }
                    (Controller::Cpus, _) => {}
                }
            }
        }
        let before = std::mem::replace(&mut self.told, now);
        Ended {
            killed: now.killed.saturating_sub(before.killed),
            refused: now.refused.saturating_sub(before.refused),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in &self.folders {
            // The end of their first process has killed them all; this is for who outlived that.
            fs::write(folder.path.join("cgroup.kill"), "1").ok();
        }
        for folder in &self.folders {
            // What stays is empty soon, and then a sweep takes it.
            remove(&folder.path, PATIENCE).ok();
        }
    }
}

/// A new folder, locked. A sweep may come between its making and the lock.
fn make_folder(hierarchy: &Hierarchy) -> io::Result<Folder> {
    for _ in 0..TRIES {
        let path = hierarchy.parent.join(format!("{PREFIX}{}", nonce::name()));
        fs::create_dir(&path)?;
        let Ok(lock) = File::open(&path) else {
            continue;
        };
        flock(&lock, FlockOperation::LockShared)?;
        if path.exists() {
            return Ok(Folder {
                version: hierarchy.version,
                path,
                controllers: hierarchy.controllers.clone(),
                _lock: lock,
            });
        }
    }
    Err(io::Error::other("something removes it at once"))
}

fn set(group: &Path, version: Version, controller: Controller, limits: &Limits) -> io::Result<()> {
    let write = |name: &str, value: &str| fs::write(group.join(name), value);
    let memory = limits.memory.to_string();
    match (controller, version) {
        (Controller::Memory, Version::One) => {
            write("memory.limit_in_bytes", &memory)?;
            // A kernel that does not count swap has no such file.
            write("memory.memsw.limit_in_bytes", &memory).or_else(unless_missing)
        }
        (Controller::Memory, Version::Two) => {
            write("memory.max", &memory)?;
            write("memory.swap.max", "0").or_else(unless_missing)
        }
        (Controller::Processes, _) => write("pids.max", &limits.processes.to_string()),
        // A quota of all that there is would cost something and change nothing.
        (Controller::Cpus, _) if processors().is_some_and(|all| all <= limits.cpus) => Ok(()),
        (Controller::Cpus, Version::One) => {
            let quota = u64::from(limits.cpus) * PERIOD;
            write("cpu.cfs_quota_us", &quota.to_string()).or_else(|error| {
                // More than the group above has, whose own quota then is the limit.
                match error.kind() {
                    io::ErrorKind::InvalidInput => Ok(()),
                    _ => Err(error),
                }
            })
        }
        (Controller::Cpus, Version::Two) => {
            let quota = u64::from(limits.cpus) * PERIOD;
            write("cpu.max", &format!("{quota} {PERIOD}"))
        }
    }
}

/// Of which a quota is the part that may be used, in microseconds. The kernel's own, in version 1.
const PERIOD: u64 = 100_000;

fn unless_missing(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    }
}

/// How many processors run; the file has ranges, such as `0-3,6`.
fn processors() -> Option<u32> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online").ok()?;
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(last.parse::<u32>().ok()?.checked_sub(first.parse().ok()?)? + 1)
    };
    text.trim().split(',').map(count).sum()
}

/// The number behind a name, in a file of such lines.
fn count(file: &Path, name: &str) -> u64 {
    let text = fs::read_to_string(file).unwrap_or_default();
    let named = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
    text.lines().find_map(named).unwrap_or(0)
}

/// Removes a group; processes that are ending keep it for a moment.
fn remove(group: &Path, patience: u64) -> io::Result<()> {
    let mut waited = 0;
    loop {
        match fs::remove_dir(group) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && waited < patience => {
                std::thread::sleep(Duration::from_millis(1));
                waited += 1;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => return other,
        }
    }
}

/// Removes groups that nobody holds.
pub(super) fn sweep(place: &Place) {
    for hierarchy in &place.hierarchies {
        let entries = fs::read_dir(&hierarchy.parent).into_iter().flatten();
        for entry in entries.flatten() {
            if !is_ours(&entry.file_name().to_string_lossy()) {
                continue;
            }
            // Held until it is gone: who has just made it locks it next, and then looks whether it is there.
            if let Some(_lock) = lock_abandoned(&entry.path()) {
                // Another sweep, or the machine, may be quicker.
                remove(&entry.path(), PATIENCE_AFTER_A_CRASH).ok();
            }
        }
    }
}

/// Somebody else's may begin with our name too.
fn is_ours(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(nonce::is_name)
}

/// The lock of a group that nobody holds.
fn lock_abandoned(group: &Path) -> Option<File> {
    let lock = File::open(group).ok()?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(lock)
}
