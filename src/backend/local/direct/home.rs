//! /home/dev of the machine as a workspace: taken if nobody else has put anything there, locked, and given back as it was.
//!
//! A mark in the store says that what is in the folder is atelier's. It is written before anything is put there and names
//! the folder by what no other one has, so that after a kill the folder can be emptied, and a stranger's never is.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{
    AtFlags, FlockOperation, Gid, Mode, OFlags, StatxFlags, Uid, fchmod, fchown, flock, open, statx,
};
use rustix::io::Errno;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use super::super::protocol::{Layout, Refusal};
use super::super::store::{empty, sync_folder};
use super::super::way::Way;
use super::{Handed, VARIABLE, processes};
use crate::nonce;

pub(super) const PATH: &str = "/home/dev";

/// Where the marks are in the store.
const MARKS: &str = "direct";

/// So many names of somebody else's files are told.
const SHOWN: usize = 3;

/// The folder, taken; dropped, it is emptied and as it was before.
pub(super) struct Home {
    /// Holds the lock.
    folder: OwnedFd,
    mark: Mark,
    mark_path: PathBuf,
}

/// What is known of a folder that was taken.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mark {
    /// In the environment of the processes that may still run in it.
    name: String,
    folder: Identity,
    /// What the folder was before.
    before: Before,
}

/// One folder, and no other one that may have its path later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Identity {
    device: u64,
    inode: u64,
    /// Seconds and nanoseconds; zero where the file system does not keep it.
    born: (i64, u32),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
enum Before {
    Absent,
    Empty { mode: u32, user: u32, group: u32 },
}

impl Home {
    /// Takes the folder, empty and `dev`'s, with nothing of an earlier run in it.
    pub(super) fn take(layout: &Layout) -> Result<Self, Refusal> {
        let (folder, made) = lock()?;
        let here = identity(&folder).map_err(|error| Refusal::new("look at /home/dev", error))?;
        let (mark_path, old) = mark_of(&layout.store, here);
        let before = match &old {
            Some(old) => {
                processes::end_marked(VARIABLE, &old.name)
                    .map_err(|error| Refusal::new("end what an earlier run left", error))?;
                Handed::forget(&old.name);
                clear(&folder).map_err(|error| Refusal::new("empty /home/dev", error))?;
                old.before
            }
            None => before(&folder, made).map_err(|error| Refusal::new(USE, error))?,
        };
        if let Some(names) = content().map_err(|error| Refusal::new("read /home/dev", error))? {
            let whose =
                io::Error::other(format!("it holds what atelier did not put there: {names}"));
            return Err(Refusal::new(USE, whose));
        }
        let mark = Mark {
            name: nonce::name(),
            folder: here,
            before,
        };
        mark.write(&mark_path)
            .map_err(|error| Refusal::new("mark /home/dev as taken", error))?;
        let home = Self {
            folder,
            mark,
            mark_path,
        };
        home.give_to_dev(layout.way)
            .map_err(|error| Refusal::new("prepare /home/dev", error))?;
        Ok(home)
    }

    pub(super) fn name(&self) -> &str {
        &self.mark.name
    }

    pub(super) fn folder(&self) -> &OwnedFd {
        &self.folder
    }

    fn give_to_dev(&self, way: Way) -> rustix::io::Result<()> {
        if way.has_root() {
            let (user, group) = way.dev();
            fchown(
                &self.folder,
                Some(Uid::from_raw(user)),
                Some(Gid::from_raw(group)),
            )?;
        }
        fchmod(&self.folder, Mode::from_raw_mode(0o755))
    }

    fn give_back(&self) -> io::Result<()> {
        clear(&self.folder)?;
        if content()?.is_some() {
            // The mark stays, and so the next run goes on with it.
            return Ok(());
        }
        match self.mark.before {
            Before::Absent => fs::remove_dir(PATH)?,
            Before::Empty { mode, user, group } => {
                if geteuid().is_root() {
                    let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
                    fchown(&self.folder, Some(user), Some(group))?;
                }
                fchmod(&self.folder, Mode::from_raw_mode(mode))?;
            }
        }
        fs::remove_file(&self.mark_path)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // What fails here is left to the next run, which knows from the mark what to do.
        self.give_back().ok();
    }
}

impl Mark {
    fn write(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder)?;
        let new = path.with_extension("new");
        let mut file = File::create(&new)?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        sync_folder(folder)
    }
}

const USE: &str = "use /home/dev";

/// Opens and locks the folder; whether it was made for that.
fn lock() -> Result<(OwnedFd, bool), Refusal> {
    let began = Instant::now();
    loop {
        let made = make().map_err(|error| Refusal::new("make /home/dev", error))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = match open(PATH, flags, Mode::empty()) {
            Ok(folder) => folder,
            // Somebody has given it back meanwhile.
            Err(Errno::NOENT) => continue,
            Err(errno) => return Err(Refusal::new(USE, errno)),
        };
        match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) if began.elapsed() < patience(&folder) => {
                sleep(Duration::from_millis(5));
                continue;
            }
            Err(Errno::WOULDBLOCK) => return Err(Refusal::new(USE, taken(&folder))),
            Err(errno) => return Err(Refusal::new("lock /home/dev", errno)),
        }
        // It may have been given back between the two.
        let is_there = || Ok::<_, io::Error>(fs::metadata(PATH)?.ino() == identity(&folder)?.inode);
        if is_there().unwrap_or(false) {
            return Ok((folder, made));
        }
    }
}

/// How long to wait for a lock: for who works in the folder next to nothing, and for who empties it until that is done.
fn patience(folder: &OwnedFd) -> Duration {
    let is_being_emptied = rustix::fs::fstat(folder)
        .is_ok_and(|stat| stat.st_uid == geteuid().as_raw() && stat.st_mode & 0o777 == 0o700);
    match is_being_emptied {
        true => Duration::from_secs(30),
        false => Duration::from_millis(300),
    }
}

/// Makes the folder if it is not there.
fn make() -> io::Result<bool> {
    if fs::symlink_metadata(PATH).is_ok() {
        return Ok(false);
    }
    if let Some(above) = Path::new(PATH).parent() {
        fs::create_dir_all(above)?;
    }
    match DirBuilder::new().mode(0o755).create(PATH) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Who has the folder, in words.
fn taken(folder: &OwnedFd) -> io::Error {
    let holder = || {
        let inode = identity(folder).ok()?.inode;
        let locks = fs::read_to_string("/proc/locks").ok()?;
        holder(&locks, inode)
    };
    let who = match holder() {
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    };
    let me = std::process::id();
    io::Error::other(format!(
        "{who} bakes or runs in it, and process {me} would have to wait for that: without a sandbox there is one at a time"
    ))
}

/// The process that holds a lock, by the kernel's table of them.
fn holder(locks: &str, inode: u64) -> Option<u32> {
    let inode = format!(":{inode}");
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [_, "FLOCK", _, _, pid, place, ..] if place.ends_with(&inode) => {
                pid.parse().ok().filter(|pid| *pid != 0)
            }
            _ => None,
        }
    })
}

fn identity(folder: &OwnedFd) -> io::Result<Identity> {
    let stat = rustix::fs::fstat(folder)?;
    let born = statx(folder, "", AtFlags::EMPTY_PATH, StatxFlags::BTIME)?;
    let is_kept = born.stx_mask & StatxFlags::BTIME.bits() != 0;
    Ok(Identity {
        device: stat.st_dev,
        inode: stat.st_ino,
        born: match is_kept {
            true => (born.stx_btime.tv_sec, born.stx_btime.tv_nsec),
            false => (0, 0),
        },
    })
}

/// Where the mark of a folder is, and what it says.
fn mark_of(store: &Path, folder: Identity) -> (PathBuf, Option<Mark>) {
    let (device, inode) = (folder.device, folder.inode);
    let path = store.join(format!("{MARKS}/{device}-{inode}.json"));
    let mark = fs::read(&path)
        .ok()
        .and_then(|text| serde_json::from_slice::<Mark>(&text).ok())
        .filter(|mark| mark.folder == folder);
    (path, mark)
}

/// What a folder is that nobody has marked.
fn before(folder: &OwnedFd, made: bool) -> io::Result<Before> {
    if made {
        return Ok(Before::Absent);
    }
    let stat = rustix::fs::fstat(folder)?;
    let me = geteuid();
    if !me.is_root() && stat.st_uid != me.as_raw() {
        return Err(io::Error::other(format!(
            "it belongs to user {}, and you are user {}",
            stat.st_uid,
            me.as_raw()
        )));
    }
    Ok(Before::Empty {
        mode: stat.st_mode & 0o7777,
        user: stat.st_uid,
        group: stat.st_gid,
    })
}

/// The first names in the folder; `None` if there is none.
fn content() -> io::Result<Option<String>> {
    let names = fs::read_dir(PATH)?.map(|entry| Ok(entry?.file_name().display().to_string()));
    let mut names = names.collect::<io::Result<Vec<String>>>()?;
    names.sort();
    let more = if names.len() > SHOWN { ", …" } else { "" };
    names.truncate(SHOWN);
    Ok((!names.is_empty()).then(|| names.join(", ") + more))
}

/// Deletes what is in the folder. Nobody else may come into it from here on: root would follow them out.
fn clear(folder: &OwnedFd) -> io::Result<()> {
    if geteuid().is_root() {
        fchown(folder, Some(Uid::ROOT), Some(Gid::ROOT))?;
    }
    fchmod(folder, Mode::RWXU)?;
    empty(Path::new(&format!("/proc/self/fd/{}", folder.as_raw_fd())))
}

#[cfg(test)]
mod tests {
    use super::holder;

    #[test]
    fn the_holder_of_a_lock_is_found() {
        let locks = "1: FLOCK  ADVISORY  WRITE 31 fe:00:1234 0 EOF\n2: POSIX  ADVISORY  WRITE 32 fe:00:34 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 33 fe:00:34 0 EOF\n4: FLOCK ADVISORY WRITE 0 fe:00:35 0 EOF\n";
        assert_eq!(holder(locks, 34), Some(33));
        assert_eq!(holder(locks, 35), None);
        assert_eq!(holder(locks, 4), None);
    }
}
