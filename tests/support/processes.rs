//! What runs on this machine, seen by a word in the command line that nothing else has.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

static MARKERS: AtomicU32 = AtomicU32::new(0);

/// Seconds to sleep that no other test sleeps: long, and a word to find the sleeper by.
pub(crate) fn marker() -> String {
    let number = MARKERS.fetch_add(1, Ordering::Relaxed);
    format!("{}.{}", 40_000 + number, std::process::id())
}

/// Whether a process but this one has `word` in its command line.
pub(crate) fn is_running(word: &str) -> bool {
    find(word).is_some()
}

/// The id of a process but this one that has `word` in its command line.
pub(crate) fn find(word: &str) -> Option<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let own = std::process::id().to_string();
    entries
        .filter(|entry| entry.file_name().to_str() != Some(&own))
        .find(|entry| {
            let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).contains(word)
        })
        .and_then(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Waits until `done`, and fails if that takes absurdly long.
pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "waited in vain: {what}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}
