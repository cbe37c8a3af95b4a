//! The files of /etc that a sandbox makes itself, whatever the image says.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, OFlags, unlinkat};

use super::super::protocol::Refusal;
use super::{Mounted, open_in};
use crate::nonce;

/// Writes the files that say who and where this is into the folder `etc`. `old` is what the image has of a file there,
/// and `keep` chooses the users that stay.
pub(super) fn write(
    etc: &Path,
    old: impl Fn(&str) -> String,
    hostname: &str,
    keep: impl Fn(u32) -> bool,
) -> Mounted<()> {
    let hosts = fs::read_to_string("/etc/hosts").unwrap_or_default();
    let files = [
        ("passwd", accounts(&old("passwd"), PASSWD, &keep)),
        ("group", accounts(&old("group"), GROUP, &keep)),
        // The network is the machine's, and so are the names on it.
        (
            "hosts",
            format!("{}\n127.0.1.1 {hostname}\n", hosts.trim_end()),
        ),
        ("hostname", format!("{hostname}\n")),
        (
            "resolv.conf",
            fs::read_to_string("/etc/resolv.conf").unwrap_or_default(),
        ),
        ("machine-id", format!("{:032x}\n", nonce::random())),
    ];
    for (name, text) in files {
        replace(etc, name, &text)
            .map_err(|error| Refusal::new(format!("write /etc/{name}"), error))?;
    }
    Ok(())
}

const PASSWD: [&str; 3] = [
    "root:x:0:0:root:/root:/bin/bash",
    "dev:x:1000:1000:dev:/home/dev:/bin/bash",
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin",
];
const GROUP: [&str; 3] = ["root:x:0:", "dev:x:1000:", "nogroup:x:65534:"];

/// Our own entries, then the image's that clash with none of them and that are to be kept.
fn accounts(old: &str, ours: [&str; 3], keep: &impl Fn(u32) -> bool) -> String {
    let name = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
    let id = |line: &str| line.split(':').nth(2).and_then(|id| id.parse().ok());
    let theirs = old.lines().filter(|line| {
        let free = |our: &&str| name(our) != name(line) && id(our) != id(line);
        ours.iter().all(free) && id(line).is_some_and(keep)
    });
    ours.into_iter()
        .chain(theirs)
        .fold(String::new(), |text, line| text + line + "\n")
}

/// A file of the image, as it sees itself; nothing if that cannot be had.
pub(super) fn read_in(root: &Path, path: &str) -> String {
    let read = || {
        let mut text = Vec::new();
        File::from(open_in(root, path, OFlags::RDONLY | OFlags::NONBLOCK, 0)?)
            .take(1 << 20)
            .read_to_end(&mut text)?;
        Ok::<_, io::Error>(String::from_utf8_lossy(&text).into_owned())
    };
    read().unwrap_or_default()
}

/// Puts a new file in the place of whatever is there.
fn replace(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    let path = folder.join(name);
    match unlinkat(CWD, &path, AtFlags::empty()) {
        Ok(()) | Err(rustix::io::Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let mut file = File::options().write(true).create_new(true).open(&path)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}
