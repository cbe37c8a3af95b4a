//! What the tests of trees share: places to work in, and listings made by other means than those that are tested.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs::{self, File, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{CWD, FileType, Mode, SeekFrom, XattrFlags};
use rustix::mount::{MountPropagationFlags, mount_change};

use crate::sys;

/// A temporary folder that is also removed if trees in it are too deep for the standard library.
pub(super) struct Place(Option<tempfile::TempDir>);

impl Place {
    pub(super) fn new() -> Self {
        Self(Some(tempfile::tempdir().unwrap()))
    }

    pub(super) fn path(&self) -> &Path {
        self.0.as_ref().unwrap().path()
    }

    pub(super) fn folder(&self, name: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let path = self.0.take().unwrap().keep();
        drop(Command::new("rm").arg("-rf").arg(path).status());
    }
}

pub(super) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs something in a thread with mounts and a current folder of its own, which end with it.
pub(super) fn in_a_namespace<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    let in_thread = || {
        sys::unshare_mounts().unwrap();
        let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
        mount_change("/", private).unwrap();
        run()
    };
    let result = std::thread::scope(|scope| scope.spawn(in_thread).join());
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

pub(super) fn set_attribute(path: &Path, name: &str, value: &[u8]) {
    rustix::fs::lsetxattr(path, name, value, XattrFlags::empty()).unwrap();
}

pub(super) fn attributes(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut names = vec![0; 4096];
    let length = rustix::fs::llistxattr(path, names.as_mut_slice()).unwrap();
    let mut attributes = BTreeMap::new();
    for name in names[..length].split(|&byte| byte == 0) {
        if !name.is_empty() {
            let mut value = vec![0; 4096];
            let length = rustix::fs::lgetxattr(path, name, value.as_mut_slice()).unwrap();
            let name = String::from_utf8(name.to_vec()).unwrap();
            attributes.insert(name, value[..length].to_vec());
        }
    }
    attributes
}

pub(super) fn make(path: &Path, kind: FileType, device: u64) {
    rustix::fs::mknodat(CWD, path, kind, Mode::from_raw_mode(0o644), device).unwrap();
}

pub(super) fn whiteout(path: &Path) {
    make(path, FileType::CharacterDevice, 0);
}

/// Every path with all that can be seen of it but its number of names; of a folder, without its size.
pub(super) fn list(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut listing = BTreeMap::new();
    let mut firsts = BTreeMap::new();
    let mut left = vec![PathBuf::new()];
    // In the order of paths, so that the first name of a file is always the same one.
    while let Some(path) = left.pop() {
        let whole = root.join(&path);
        // Overlayfs lists names of whiteouts that are in nobody's way, and has nothing there.
        let Ok(meta) = fs::symlink_metadata(&whole) else {
            continue;
        };
        let mut line = describe(&whole, &meta);
        if meta.is_dir() {
            let names = fs::read_dir(&whole).unwrap();
            let mut names: Vec<_> = names.map(|name| name.unwrap().file_name()).collect();
            names.sort_by(|a, b| b.cmp(a));
            left.extend(names.iter().map(|name| path.join(name)));
        } else {
            let first = firsts
                .entry((meta.dev(), meta.ino()))
                .or_insert(path.clone());
            write!(line, " = {first:?}").unwrap();
        }
        listing.insert(path, line);
    }
    listing
}

fn describe(path: &Path, meta: &Metadata) -> String {
    let kind = meta.file_type();
    let own = if kind.is_file() {
        let digest = blake3::hash(&fs::read(path).unwrap()).to_hex();
        format!(
            "file {} {} data at {:?}",
            meta.len(),
            &digest[..16],
            parts(path)
        )
    } else if kind.is_dir() {
        "folder".to_owned()
    } else if kind.is_symlink() {
        format!("symlink to {:?}", fs::read_link(path).unwrap())
    } else if kind.is_fifo() {
        "fifo".to_owned()
    } else if kind.is_socket() {
        "socket".to_owned()
    } else {
        format!("device {:#x}", meta.rdev())
    };
    format!(
        "{own} {:06o} {}:{} {}.{:09} {:?}",
        meta.mode(),
        meta.uid(),
        meta.gid(),
        meta.mtime(),
        meta.mtime_nsec(),
        attributes(path)
    )
}

/// Where a file has data.
fn parts(path: &Path) -> Vec<(u64, u64)> {
    let file = File::open(path).unwrap();
    let (mut parts, mut end) = (Vec::new(), 0);
    while let Ok(start) = rustix::fs::seek(&file, SeekFrom::Data(end)) {
        end = rustix::fs::seek(&file, SeekFrom::Hole(start)).unwrap();
        parts.push((start, end));
    }
    parts
}

/// One of each kind of entry, with what is odd about each, in `folder`.
pub(super) fn one_of_each(folder: &Path) {
    let at = |name: &str| folder.join(name);
    let odd = folder.join(OsStr::from_bytes(b"odd\n\xff\x1b name"));
    fs::create_dir_all(at("folder/in")).unwrap();
    fs::write(at("file"), "text").unwrap();
    fs::write(at("empty"), "").unwrap();
    fs::write(odd, "odd").unwrap();
    fs::hard_link(at("file"), at("folder/again")).unwrap();
    symlink("nowhere\n", at("symlink")).unwrap();
    fs::hard_link(at("symlink"), at("symlink-again")).unwrap();
    make(&at("fifo"), FileType::Fifo, 0);
    make(&at("socket"), FileType::Socket, 0);
    let sparse = File::create(at("sparse")).unwrap();
    sparse.set_len(9 << 20).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&sparse, b"middle", 5 << 20).unwrap();
    for (name, mode) in [
        ("file", 0o6751),
        ("folder", 0o3750),
        ("fifo", 0o600),
        ("sparse", 0),
    ] {
        fs::set_permissions(at(name), PermissionsExt::from_mode(mode)).unwrap();
    }
    set_attribute(&at("file"), "user.note", b"a\0b");
    set_attribute(&at("folder"), "user.note", b"");
    for (index, name) in [
        "file",
        "folder/in",
        "folder",
        "symlink",
        "fifo",
        "sparse",
        "",
    ]
    .iter()
    .enumerate()
    {
        set_time(
            &at(name),
            i64::try_from(index).unwrap() * 1_000_000 - 5,
            123_456_789,
        );
    }
}

use std::os::unix::fs::PermissionsExt;

pub(super) fn set_time(path: &Path, seconds: i64, nanoseconds: i64) {
    let time = rustix::fs::Timespec {
        tv_sec: seconds,
        tv_nsec: nanoseconds,
    };
    let times = rustix::fs::Timestamps {
        last_access: time,
        last_modification: time,
    };
    let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
    rustix::fs::utimensat(CWD, path, &times, flags).unwrap();
}

/// Makes a chain of folders with `length` bytes in each name, and calls `last` in the deepest.
pub(super) fn dig(
    root: &Path,
    depth: usize,
    length: usize,
    last: impl FnOnce(&super::descent::Descent),
) {
    let name = vec![b'd'; length];
    let mut place = super::descent::Descent::from(root, 0).unwrap();
    for _ in 0..depth {
        match rustix::fs::mkdirat(place.here(), &*name, Mode::RWXU) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => place.down(&name).unwrap(),
            Err(errno) => panic!("{errno}"),
        }
    }
    last(&place);
}

#[test]
fn a_path_is_one_line_for_people() {
    assert_eq!(
        super::shown(b"a\nb\x1b[1m\xff/\xc3\xa4"),
        "a\\nb\\u{1b}[1m\u{fffd}/ä"
    );
}
