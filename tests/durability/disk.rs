//! A file system in an image file, which can be filled, and copied as a power cut would leave it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{FallocateFlags, StatVfs, fallocate, statvfs};

pub(crate) const MIB: u64 = 1 << 20;

/// Mounted; dropped, it is gone.
pub(crate) struct Disk {
    image: PathBuf,
    target: PathBuf,
}

impl Disk {
    /// An ext4 with the content of `from`, if that is given. `options` are those of mkfs.
    pub(crate) fn ext4(folder: &Path, size: u64, options: &[&str], from: Option<&Path>) -> Self {
        let image = folder.join("image");
        File::create(&image).unwrap().set_len(size).unwrap();
        let mut make = Command::new("mkfs.ext4");
        // Without work left for the first mount, which would write in the background.
        make.args(["-q", "-F", "-m", "0", "-E"])
            .arg("lazy_itable_init=0,lazy_journal_init=0,nodiscard");
        make.args(options);
        if let Some(from) = from {
            make.arg("-d").arg(from);
        }
        run(make.arg(&image));
        Self::mount(image, folder.join("disk")).expect("an image that was just made")
    }

    /// No discarding, or blocks that were deleted would be missing in a copy. No commit by the clock: what is on the
    /// disk is there because somebody asked for it, or because the kernel chose to.
    fn mount(image: PathBuf, target: PathBuf) -> Option<Self> {
        fs::create_dir(&target).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-o", "loop,nodiscard,commit=600"]);
        let mounted = mount.arg(&image).arg(&target).output().unwrap();
        mounted.status.success().then_some(Self { image, target })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.target.join(name)
    }

    /// What would be found after a power cut now, mounted in `folder`; `None` if it cannot be mounted.
    pub(crate) fn cut(&self, folder: &Path) -> Option<Self> {
        fs::create_dir(folder).unwrap();
        let image = folder.join("image");
        run(Command::new("cp")
            .arg("--sparse=always")
            .arg(&self.image)
            .arg(&image));
        Self::mount(image, folder.join("disk"))
    }

    fn space(&self) -> StatVfs {
        statvfs(&self.target).unwrap()
    }

    /// Takes all room but so many bytes.
    pub(crate) fn leave_bytes(&self, bytes: u64) {
        let filler = File::create(self.path("filler")).unwrap();
        // A disk gives less than it promises, since extents need blocks too: take what can be had.
        let mut piece = 8 * MIB;
        let mut taken = 0;
        while piece >= 4096 {
            let space = self.space();
            let fits = space.f_bfree * space.f_frsize >= bytes + piece;
            if fits && fallocate(&filler, FallocateFlags::empty(), taken, piece).is_ok() {
                taken += piece;
            } else {
                piece /= 2;
            }
        }
    }

    /// Takes all inodes but so many.
    pub(crate) fn leave_inodes(&self, inodes: u64) {
        let filler = self.path("filler");
        fs::create_dir(&filler).unwrap();
        let free = self.space().f_ffree;
        for number in inodes..free {
            File::create(filler.join(number.to_string())).unwrap();
        }
    }

    /// Gives back what was taken.
    pub(crate) fn make_room(&self) {
        let filler = self.path("filler");
        if filler.is_dir() {
            fs::remove_dir_all(filler).unwrap();
        } else {
            fs::remove_file(filler).unwrap();
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        Command::new("umount")
            .arg("--lazy")
            .arg(&self.target)
            .status()
            .ok();
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}
