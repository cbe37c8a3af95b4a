//! Standard input on its way into a sandbox. A file that is open for reading can be opened anew for writing by whoever
//! holds it, and a folder leads to all that is above it: a sandbox gets neither.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{FileType, fstat};

use super::failure::Failure;

/// Does so for a command that reads it.
pub(super) fn lend_if(is_read: bool) -> Result<(), Failure> {
    if is_read { lend() } else { Ok(()) }
}

/// Puts a pipe in the place of a file. Called before the sandbox is there.
pub(super) fn lend() -> Result<(), Failure> {
    let Ok(stat) = fstat(rustix::stdio::stdin()) else {
        return Ok(());
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile | FileType::BlockDevice => through_a_pipe()
            .map_err(|error| Failure::machine(&format!("cannot read standard input: {error}"))),
        FileType::Directory => Err(Failure::usage(
            "standard input is a folder",
            "redirect a file, or `</dev/null`",
        )),
        _ => Ok(()),
    }
}

fn through_a_pipe() -> io::Result<()> {
    let mut file = File::from(rustix::stdio::stdin().as_fd().try_clone_to_owned()?);
    let (reader, mut writer) = io::pipe()?;
    rustix::stdio::dup2_stdin(reader)?;
    // It ends with the file or with this process; who reads no further is no failure.
    let copy = move || drop(io::copy(&mut file, &mut writer));
    std::thread::Builder::new().spawn(copy).map(drop)
}
