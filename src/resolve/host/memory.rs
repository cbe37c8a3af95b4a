//! The last look at the machine, in a small file.
//!
//! Losing it costs a walk. It is only a claim about times: nothing in it is trusted beyond a minute.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::walk::{self, Folder};
use super::{Host, HostPath, Seen, packages};

/// What changes in place, such as a compiler overwritten by its next version, moves no folder's time.
const TRUSTED: Duration = Duration::from_mins(1);

/// Two changes this close may bear the same time: a folder that changed just before it was looked at is looked at again.
const TICK: Duration = Duration::from_millis(20);

/// That look at folders; more wait for each other.
const MOST_THREADS: usize = 4;

/// Of the file below.
const VERSION: u32 = 2;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    version: u32,
    /// When the walk began.
    walked: SystemTime,
    extra: Vec<HostPath>,
    stamps: Stamps,
    folders: Vec<Folder>,
    fingerprint: String,
    hidden: BTreeSet<PathBuf>,
    path: Vec<String>,
}

/// When a look began, and the state of what it depends on.
pub(super) struct Start {
    walked: SystemTime,
    stamps: Stamps,
}

/// Size, inode and time of each file that says what is installed; `None` where there is none.
type Stamps = Vec<Option<(u64, u64, i64, i64)>>;

/// To be called before anything is read: a change in between is then seen the next time.
pub(super) fn start(host: &Host) -> Start {
    Start {
        walked: SystemTime::now(),
        stamps: stamps(host),
    }
}

fn stamps(host: &Host) -> Stamps {
    let release = [host.at("etc/os-release"), host.at("usr/lib/os-release")];
    let stamp = |path: PathBuf| {
        let metadata = fs::metadata(path).ok()?;
        Some((
            metadata.size(),
            metadata.ino(),
            metadata.mtime(),
            metadata.mtime_nsec(),
        ))
    };
    packages::databases(host)
        .into_iter()
        .chain(release)
        .map(stamp)
        .collect()
}

pub(super) fn recall(host: &Host) -> Option<Seen> {
    let memory: Memory = serde_json::from_slice(&fs::read(&host.memory).ok()?).ok()?;
    let age = SystemTime::now().duration_since(memory.walked).ok()?;
    let is_current = memory.version == VERSION
        && age < TRUSTED
        && memory.extra == host.extra
        && memory.stamps == stamps(host)
        && are_unchanged(&memory.folders, memory.walked);
    let mut fingerprint = [0; 32];
    hex::decode_to_slice(memory.fingerprint, &mut fingerprint).ok()?;
    is_current.then_some(Seen {
        fingerprint,
        hidden: memory.hidden,
        path: memory.path,
    })
}

/// A few at a time: there are thousands, and every start waits for this.
fn are_unchanged(folders: &[Folder], walked: SystemTime) -> bool {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let share = folders.len().div_ceil(threads.min(MOST_THREADS)).max(1);
    let look = |folders: &[Folder]| folders.iter().all(|folder| is_unchanged(folder, walked));
    std::thread::scope(|scope| {
        let mut shares = folders.chunks(share);
        let own = shares.next().unwrap_or_default();
        let others: Vec<_> = shares
            .map(|share| scope.spawn(move || look(share)))
            .collect();
        let all = look(own);
        others
            .into_iter()
            .fold(all, |all, other| all & other.join().unwrap_or(false))
    })
}

fn is_unchanged((path, stamp): &Folder, walked: SystemTime) -> bool {
    let is_same = |metadata: fs::Metadata| {
        let is_settled = metadata
            .modified()
            .is_ok_and(|changed| changed + TICK < walked);
        is_settled && walk::stamp(&metadata) == *stamp
    };
    fs::symlink_metadata(path).is_ok_and(is_same)
}

/// A failure only means that the next run walks again. So does a path that is not UTF-8.
pub(super) fn remember(host: &Host, start: Start, folders: Vec<Folder>, seen: &Seen) {
    let memory = Memory {
        version: VERSION,
        walked: start.walked,
        extra: host.extra.clone(),
        stamps: start.stamps,
        folders,
        fingerprint: hex::encode(seen.fingerprint),
        hidden: seen.hidden.clone(),
        path: seen.path.clone(),
    };
    if let Ok(text) = serde_json::to_vec(&memory) {
        drop(write(&host.memory, &text));
    }
}

/// Others may read it at any moment, and it says what is hidden, so it is nobody else's to write.
fn write(path: &Path, text: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    crate::draft::replace(path, text)
}
