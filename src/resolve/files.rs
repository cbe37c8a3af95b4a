//! Local files of the project, read so that neither a symlink nor a special file leads elsewhere or blocks.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use atelier_lang::source::{ReadError, VirtualPath};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::{PinError, PinnedFile};

/// A file in a snapshot is configuration or a script; what is larger belongs in a repository.
pub const LIMIT: u64 = 16 << 20;

/// Reads and hashes one file of the project at `root`.
pub fn pin(root: &Path, path: &VirtualPath) -> Result<PinnedFile, PinError> {
    of(path, read_beneath(root, path, LIMIT))
}

/// The file at `path`, of which this was read.
pub fn of(path: &VirtualPath, read: Result<Vec<u8>, ReadError>) -> Result<PinnedFile, PinError> {
    let content = read.map_err(|error| pin_error(path, error))?;
    Ok(PinnedFile {
        hash: *blake3::hash(&content).as_bytes(),
        content,
    })
}

/// Reads a regular file of at most `limit` bytes below `root`; symlinks are followed as long as they stay there.
pub fn read_beneath(root: &Path, path: &VirtualPath, limit: u64) -> Result<Vec<u8>, ReadError> {
    let file = open_beneath(root, path).map_err(|errno| refuse(path, errno))?;
    let metadata = file.metadata().map_err(|error| failed(path, &error))?;
    if !metadata.is_file() {
        return Err(ReadError::Refused(format!("{path} is not a regular file")));
    }
    if metadata.len() > limit {
        return Err(ReadError::TooLarge {
            size: metadata.len(),
        });
    }
    // It may grow while it is read.
    let mut content = Vec::new();
    file.take(limit + 1)
        .read_to_end(&mut content)
        .map_err(|error| failed(path, &error))?;
    match content.len() as u64 {
        size if size > limit => Err(ReadError::TooLarge { size }),
        _ => Ok(content),
    }
}

/// Not blocking, since the file may turn out to be a pipe that nobody writes to.
fn open_beneath(root: &Path, path: &VirtualPath) -> Result<File, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let folder: OwnedFd = rustix::fs::openat(
        CWD,
        root,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let mut tries = 0;
    loop {
        match rustix::fs::openat2(&folder, path.as_str(), flags, Mode::empty(), resolve) {
            // Something was renamed meanwhile, so the kernel could not be sure.
            Err(Errno::AGAIN) if tries < 16 => tries += 1,
            opened => return opened.map(File::from),
        }
    }
}

fn refuse(path: &VirtualPath, errno: Errno) -> ReadError {
    match errno {
        Errno::XDEV => ReadError::Refused(format!("{path} leads out of the project")),
        Errno::LOOP => ReadError::Refused(format!("{path} is a loop of symlinks")),
        Errno::NXIO => ReadError::Refused(format!("{path} is not a regular file")),
        errno => failed(path, &errno.into()),
    }
}

fn failed(path: &VirtualPath, error: &io::Error) -> ReadError {
    let reason = match error.kind() {
        io::ErrorKind::NotFound => "does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => "may not be read by you".to_owned(),
        io::ErrorKind::NotADirectory => "leads through something that is not a folder".to_owned(),
        _ => format!("cannot be read: {error}"),
    };
    ReadError::Failed(format!("{path} {reason}"))
}

fn pin_error(path: &VirtualPath, error: ReadError) -> PinError {
    let (cause, help) = match error {
        ReadError::TooLarge { size } => (
            format!("it has {size} bytes, more than {LIMIT}"),
            "put large files into a repository or an image".to_owned(),
        ),
        ReadError::Refused(cause) => (cause, "name a plain file inside the project".to_owned()),
        ReadError::Failed(cause) => (
            cause,
            "a path in `from=` is relative to the file that names it".to_owned(),
        ),
    };
    PinError {
        input: path.to_string(),
        cause,
        help,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use atelier_lang::source::{ReadError, VirtualPath};

    use super::{pin, read_beneath};

    fn path(text: &str) -> VirtualPath {
        VirtualPath::new(text).unwrap()
    }

    #[test]
    fn a_file_is_read_and_hashed() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a"), "text").unwrap();
        symlink("a", root.path().join("link")).unwrap();
        let pinned = pin(root.path(), &path("link")).unwrap();
        assert_eq!(pinned.content, b"text");
        assert_eq!(pinned.hash, *blake3::hash(b"text").as_bytes());
    }

    #[test]
    fn what_leads_out_is_refused() {
        let outer = tempfile::tempdir().unwrap();
        fs::write(outer.path().join("secret"), "s").unwrap();
        let root = outer.path().join("project");
        fs::create_dir(&root).unwrap();
        symlink("../secret", root.join("relative")).unwrap();
        symlink(outer.path().join("secret"), root.join("absolute")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        for name in ["relative", "absolute", "up/secret", "loop"] {
            let error = read_beneath(&root, &path(name), 10).unwrap_err();
            assert!(matches!(error, ReadError::Refused(_)), "{name}: {error:?}");
        }
    }

    #[test]
    fn special_files_are_refused_without_waiting() {
        let root = tempfile::tempdir().unwrap();
        let fifo = root.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.path().join("socket")).unwrap();
        fs::create_dir(root.path().join("folder")).unwrap();
        for name in ["fifo", "socket", "folder", ""] {
            let error = read_beneath(root.path(), &path(name), 10).unwrap_err();
            assert!(
                !matches!(error, ReadError::TooLarge { .. }),
                "{name}: {error:?}"
            );
        }
    }

    #[test]
    fn size_is_limited_and_absence_is_said() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a"), "12345").unwrap();
        assert!(matches!(
            read_beneath(root.path(), &path("a"), 4),
            Err(ReadError::TooLarge { size: 5 })
        ));
        let error = pin(root.path(), &path("none/b")).unwrap_err();
        assert_eq!(error.cause, "none/b does not exist");
    }
}
