//! One bake per key at a time, across processes: a lock that its owner's death frees. Whoever comes second follows the
//! first one's log, and takes over if the first is gone without a snapshot.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::time::Duration;

use super::store::{Store, failed};
use crate::backend::{BakeError, Cancel};
use crate::event::{Kind, Sink};
use crate::node::ContentKey;

/// How often a follower looks: well within the 250 ms in which it is to notice the end.
const LOOK: Duration = Duration::from_millis(50);

/// Held as long as the bake goes on.
pub(super) struct Lease {
    file: File,
}

impl Lease {
    /// Waits for the key's lease; what the holder logs meanwhile is passed on.
    pub(super) async fn take(
        store: &Store,
        key: ContentKey,
        events: &Sink,
        cancel: &Cancel,
    ) -> Result<Self, BakeError> {
        let path = store.root().join("locks").join(key.to_hex());
        let mut file = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)
            .map_err(|error| failed("open a lock in the store", &error))?;
        let mut leader: Option<Following> = None;
        loop {
            match file.try_lock() {
                Ok(()) => {
                    // What was printed since the last look; then the name that a killed holder left is no more.
                    if let Some(leader) = &mut leader {
                        leader.pass_on(events);
                    }
                    file.set_len(0)
                        .map_err(|error| failed("take a lock in the store", &error))?;
                    return Ok(Self { file });
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => {
                    return Err(failed("take a lock in the store", &error).into());
                }
            }
            if leader.is_none() {
                events.send(Kind::Waiting);
            }
            follow(&mut leader, &mut file, store, events);
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = cancel.cancelled() => return Err(BakeError::Cancelled),
            }
        }
    }

    /// Tells followers where the log is. `log` is relative to the store.
    pub(super) fn announce(&mut self, log: &str) -> std::io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(log.as_bytes())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.file.set_len(0).ok();
    }
}

/// A log that somebody else writes.
#[derive(Default)]
struct Following {
    name: String,
    log: Option<File>,
    /// The line that is not finished yet.
    rest: Vec<u8>,
}

impl Following {
    /// Sends on the lines that have come since the last call.
    fn pass_on(&mut self, events: &Sink) {
        let Some(log) = &mut self.log else {
            return;
        };
        log.read_to_end(&mut self.rest).ok();
        while let Some(end) = self.rest.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line[..end]).into_owned();
            events.send(Kind::Output(line));
        }
    }
}

fn follow(leader: &mut Option<Following>, lock: &mut File, store: &Store, events: &Sink) {
    let mut name = String::new();
    lock.seek(SeekFrom::Start(0))
        .and_then(|_| lock.read_to_string(&mut name))
        .ok();
    let following = leader.get_or_insert_default();
    following.pass_on(events);
    if !name.is_empty() && following.name != name {
        let log = File::open(store.root().join(PathBuf::from(&name))).ok();
        *following = Following {
            name,
            log,
            ..Following::default()
        };
        following.pass_on(events);
    }
}
