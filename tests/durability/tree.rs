//! A process and what descends from it.

use std::fs;

/// A process and all that descend from it. What left its parent within a PID namespace is a child of the namespace's
/// first process.
pub(crate) fn tree(root: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let parents: Vec<(u32, u32)> = entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            Some((pid, stat(pid)?.1))
        })
        .collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(
            parents
                .iter()
                .filter(|(_, of)| *of == parent)
                .map(|(pid, _)| pid),
        );
        next += 1;
    }
    found
}

/// A process's state and its parent; `None` if it is gone.
fn stat(pid: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Its name, in brackets, may hold anything.
    let mut rest = stat.rsplit(')').next()?.split_whitespace();
    let state = rest.next()?.chars().next()?;
    Some((state, rest.next()?.parse().ok()?))
}

/// Neither running nor waiting for a disk.
pub(crate) fn stands_still(pid: u32) -> bool {
    stat(pid).is_none_or(|(state, _)| matches!(state, 'T' | 't' | 'Z' | 'X'))
}

pub(crate) fn is_gone(pid: u32) -> bool {
    stat(pid).is_none_or(|(state, _)| state == 'Z')
}
