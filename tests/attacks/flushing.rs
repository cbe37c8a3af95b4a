//! A disk that loses what was written, and tells somebody else.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::processes::{marker, wait_until};
use crate::project::Project;

fn call(program: &str, arguments: &[&str]) {
    let status = Command::new(program).args(arguments).status();
    assert!(status.expect(program).success(), "{program} {arguments:?}");
}

/// A file system on an image that promises more than there is room for.
struct Disk {
    below: PathBuf,
    disk: PathBuf,
}

impl Disk {
    fn new(folder: &Path) -> Self {
        let [below, disk] = ["below", "disk"].map(|name| folder.join(name));
        fs::create_dir(&below).unwrap();
        fs::create_dir(&disk).unwrap();
        let made = Self { below, disk };
        let below = made.below.to_str().unwrap();
        call("mount", &["-t", "tmpfs", "-o", "size=60m", "tmpfs", below]);
        let image = made.below.join("image");
        File::create(&image).unwrap().set_len(400 << 20).unwrap();
        let image = image.to_str().unwrap();
        // A journal that cannot be written to would stop the disk altogether.
        call("mkfs.ext4", &["-q", "-O", "^has_journal", image]);
        let disk = made.disk.to_str().unwrap();
        call("mount", &["-o", "loop,errors=continue", image, disk]);
        made
    }

    fn grow(&self) {
        let below = self.below.to_str().unwrap();
        call("mount", &["-o", "remount,size=600m", below]);
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        for path in [&self.disk, &self.below] {
            Command::new("umount").arg("--lazy").arg(path).status().ok();
        }
    }
}

/// The kernel tells of a failure only those who had something open before it, and once.
#[test]
fn a_write_that_failed_is_no_snapshot_even_if_somebody_else_was_told() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let disk = Disk::new(folder.path());
    let marker = marker();
    let step = format!("head -c 70000000 /dev/urandom > f; echo written; sleep {marker} || :");
    let project = Project::new(&format!("from dev-base\nrun \"{step}\""))
        .with_store(&disk.disk.join("store"));
    let mut running = project.start(&["build"]);
    running.until("default | written");
    // Somebody else flushes the same disk, hears of the failure, and makes room.
    let flushed = rustix::fs::syncfs(File::open(&disk.disk).unwrap());
    // Which of the two depends on who finds the disk full first: the file system or the device below it.
    let failed = [rustix::io::Errno::IO, rustix::io::Errno::NOSPC];
    assert!(
        flushed.is_err_and(|error| failed.contains(&error)),
        "{flushed:?}"
    );
    disk.grow();
    let sleeper = format!("sleep\0{marker}\0");
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if words == sleeper.as_bytes() {
            call("kill", &[entry.file_name().to_str().unwrap()]);
        }
    }
    let ran = running.wait().expect(6);
    assert!(
        ran.stderr.contains("cannot flush the workspace to disk"),
        "{}",
        ran.stderr
    );
    assert_eq!(project.snapshots(), [] as [serde_json::Value; 0]);
    wait_until("everything to end", || project.processes().is_empty());
}
