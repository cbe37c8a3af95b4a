//! Whether the kernel killed something here since the memory was used up.

use std::fs;
use std::path::Path;

/// How often that happened, by version of control groups; the group that this process is in is the root of what it sees.
const KILLS: [&str; 2] = [
    "/sys/fs/cgroup/memory.events",
    "/sys/fs/cgroup/memory/memory.oom_control",
];
const LIMITS: [&str; 2] = [
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
];

/// Remembers how often it has happened.
pub(super) struct Memory {
    kills: u64,
}

impl Memory {
    pub(super) fn watch() -> Self {
        Self { kills: kills() }
    }

    /// The limit, if something was killed since this was asked last.
    pub(super) fn used_up(&mut self) -> Option<u64> {
        let before = std::mem::replace(&mut self.kills, kills());
        (self.kills > before).then(limit)
    }
}

fn kills() -> u64 {
    KILLS
        .iter()
        .find_map(|path| count(Path::new(path)))
        .unwrap_or(0)
}

fn count(path: &Path) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines
        .filter(|(name, _)| *name == "oom_kill")
        .find_map(|(_, count)| count.trim().parse().ok())
}

/// In bytes; 0 if it cannot be told.
fn limit() -> u64 {
    let read = |path: &&str| fs::read_to_string(path).ok()?.trim().parse().ok();
    LIMITS.iter().find_map(read).unwrap_or(0)
}
