//! Which of the extra paths go on PATH: folders that hold programs, and the `bin` of those that have one with programs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::HostPath;

/// In the configuration's order.
pub(super) fn folders(extra: &[HostPath]) -> Vec<String> {
    let with_bin = |path: &HostPath| {
        let bin = (path.named.join("bin"), path.real.join("bin"));
        [(path.named.clone(), path.real.clone()), bin]
    };
    let folders = extra.iter().flat_map(with_bin);
    let with_programs = folders.filter(|(_, real)| holds_programs(real));
    let mut path: Vec<String> = Vec::new();
    for name in with_programs.map(|(named, _)| named.display().to_string()) {
        if !path.contains(&name) {
            path.push(name);
        }
    }
    path
}

/// What a link leads to counts: that is how one program goes by many names.
fn holds_programs(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| fs::metadata(entry.path()).ok())
        .any(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
