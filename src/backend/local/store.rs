//! The store on disk. A snapshot is a record and the layers it names; a record that is there is whole.
//!
//! ```text
//! format            what this folder is, and its version
//! s/<key>.json      records: written last, by one rename
//! l/<name>/d        layers: the upper folders of finished bakes; never written again
//! l/<name>/manifest what is in them
//! i/<digest>/d      unpacked image layers
//! b/                what was got from registries; see `registry/blobs.rs`
//! w/<name>          scratch folders of bakes and sandboxes; its owner holds `lock`
//! k/<name>          the same of sandboxes that are kept, by their names: no sweep takes them
//! locks/<key>       a bake's lease, with the name of its log
//! locks/doubt…      there may be layers that no record names
//! logs/, targets/   logs of bakes, and which was each target's last
//! trees/            what patterns name at a commit; may be lost
//! caches/<name>     folders kept between bakes
//! direct/           which folder of the machine was taken as a workspace; see `direct.rs`
//! trash/            what is being deleted
//! *.json, *.config  what is remembered of the machine, and may be lost
//! ```

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::way::{DEV, Isolation, Sandbox, Way};
use crate::backend::{BackendError, Class, Snapshot};
use crate::node::ContentKey;
use crate::nonce;

mod kept;
mod record;
mod scratch;
mod sweep;
pub(super) use kept::{KeptRecord, is_held};
pub(super) use record::{Below, Layer, Record};
pub(super) use scratch::Scratch;
pub(super) use sweep::{REAP, empty, empty_trash};

/// The store's version and how its layers are to be mounted.
const FORMAT: &str = "atelier store 2, layers ovl-userxattr-1\n";

const FOLDERS: [&str; 11] = [
    "s", "l", "i", "w", "k", "locks", "logs", "targets", "trees", "caches", "trash",
];

/// The folder of a scratch folder that becomes a layer. It belongs to the caller, whoever owns the tree in it.
pub(super) const LAYER: &str = "layer";

/// The file in a layer's folder that says what is in the tree.
pub(super) const MANIFEST: &str = "manifest";

/// Where the tree is in a layer's folder. A short name: a chain's share one page of mount options.
pub(super) const TREE: &str = "d";

/// With less than that left, whatever fails fails for lack of room. Bytes, and inodes.
const ROOM: u64 = 1 << 20;
const INODES: u64 = 16;

#[derive(Clone, Debug)]
pub(super) struct Store {
    root: PathBuf,
    way: Way,
    accept_direct: bool,
}

impl Store {
    /// Opens the store at `root`, and makes it if there is none.
    pub(super) fn open(root: &Path, isolation: Isolation) -> Result<Self, BackendError> {
        let store = Self {
            root: root.to_owned(),
            way: Way::wanted(isolation),
            accept_direct: isolation.accept_direct,
        };
        store.prepare().map_err(|error| unusable(root, &error))?;
        match fs::read_to_string(root.join("format")) {
            Ok(format) if format == FORMAT => Ok(store),
            Ok(_) => Err(BackendError::new(
                Class::Denied,
                format!(
                    "the store {} has another format than this version's",
                    root.display()
                ),
            )
            .with_help("use the version that made it, or another folder with --store DIR")),
            Err(error) => Err(unusable(root, &error)),
        }
    }

    fn prepare(&self) -> io::Result<()> {
        // Programs of other users lie in it, some with privileges: nobody else may look, or put anything there.
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.root)?;
        let folder = fs::metadata(&self.root)?;
        if folder.uid() != rustix::process::geteuid().as_raw() {
            let owner = folder.uid();
            return Err(io::Error::other(format!("it belongs to user {owner}")));
        }
        let is_made = self.root.join("format").is_file();
        if !is_made && self.holds_other_things() {
            return Err(io::Error::other(
                "the folder is not empty, and no store: it has no file `format`",
            ));
        }
        if folder.mode() & 0o077 != 0 {
            fs::set_permissions(&self.root, fs::Permissions::from_mode(0o700))?;
        }
        // Also what somebody has deleted of a store that was made.
        for folder in FOLDERS {
            match fs::create_dir(self.root.join(folder)) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        if is_made {
            return Ok(());
        }
        self.write_whole(Path::new("format"), FORMAT.as_bytes())
    }

    /// Whether there is anything but what a store begins with: somebody else may be making it, or have died of it.
    fn holds_other_things(&self) -> bool {
        let ours = |name: &str| FOLDERS.contains(&name) || name.starts_with("format");
        let entries = fs::read_dir(&self.root).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.file_name())
            .any(|name| !name.to_str().is_some_and(ours))
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// How the store's owner makes sandboxes.
    pub(super) fn way(&self) -> Way {
        self.way
    }

    /// Writes a file that is there as a whole or not at all, also after a power cut.
    pub(super) fn write_whole(&self, name: &Path, content: &[u8]) -> io::Result<()> {
        let temporary = self
            .root
            .join(format!("{}.{}", name.display(), nonce::name()));
        let written = || {
            let mut file = File::create_new(&temporary)?;
            file.write_all(content)?;
            file.sync_all()?;
            fs::rename(&temporary, self.root.join(name))?;
            sync_folder(self.root.join(name).parent().unwrap_or(&self.root))
        };
        written().inspect_err(|_| drop(fs::remove_file(&temporary)))
    }

    /// Publishes the layer that lies in a scratch folder, over `below`: first the data, then, in one rename, the record.
    pub(super) fn publish(
        &self,
        scratch: &Scratch,
        below: Below,
        manifest: String,
        snapshot: Snapshot,
    ) -> io::Result<Record> {
        // Shared with other publishers; a sweep takes it alone, and sees no layer without its record.
        let publishing = self.publishing()?;
        publishing.lock_shared()?;
        let name = format!("l/{}", nonce::name());
        sync_file(&scratch.path(LAYER).join(MANIFEST))?;
        sync_folder(&scratch.path(LAYER))?;
        // Until the record is there; each publisher has a doubt of its own.
        let doubt = self.doubt_about(&name)?;
        fs::rename(scratch.path(LAYER), self.root.join(&name))?;
        let mut layers = below.layers;
        layers.push(Layer {
            name: name.clone(),
            manifest,
        });
        let sandbox = match below.direct {
            true => Sandbox::Direct,
            false => self.way.sandbox(),
        };
        let record = Record {
            snapshot,
            layers,
            sandbox,
        };
        match self.write_record(&record) {
            Ok(()) => {
                fs::remove_file(doubt).ok();
                Ok(record)
            }
            Err(error) => {
                self.withdraw(&record, scratch, &name);
                Err(error)
            }
        }
    }

    fn write_record(&self, record: &Record) -> io::Result<()> {
        sync_folder(&self.root.join("l"))?;
        let name = record_name(record.snapshot.key);
        if self.root.join(&name).exists() {
            // The layers that it named may then be nobody's.
            self.doubt()?;
        }
        self.write_whole(Path::new(&name), &serde_json::to_vec_pretty(record)?)
    }

    /// Takes back what could not be published. What of that fails too is left to a sweep: the doubt stays.
    fn withdraw(&self, record: &Record, scratch: &Scratch, layer: &str) {
        let key = record.snapshot.key;
        let is_there = self.read(key).ok().flatten();
        // It may have been the last flush that failed.
        if is_there.is_some_and(|there| there.layers == record.layers) {
            fs::remove_file(self.root.join(record_name(key))).ok();
        }
        fs::rename(self.root.join(layer), scratch.path(LAYER)).ok();
    }

    fn publishing(&self) -> io::Result<File> {
        File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.root.join("locks/publish"))
    }

    /// Takes a snapshot's record away; its layers stay for as long as something uses them.
    pub(super) fn remove(&self, key: ContentKey) -> io::Result<bool> {
        let publishing = self.publishing()?;
        publishing.lock_shared()?;
        self.doubt()?;
        match fs::remove_file(self.root.join(record_name(key))) {
            Ok(()) => sync_folder(&self.root.join("s")).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Where the folder behind a cache is, from the store on.
    pub(super) fn cache(&self, name: &str) -> String {
        match self.way.is_direct() && self.way.has_root() {
            // Without mounts `dev` could not come to it in root's store.
            true => format!("/var/cache/atelier-direct/{name}"),
            false => format!("caches/{name}"),
        }
    }

    /// Makes the folder behind a cache, which `dev` owns.
    pub(super) fn make_cache(&self, name: &str) -> io::Result<()> {
        let folder = self.root.join(name);
        fs::create_dir_all(&folder)?;
        match self.way {
            Way::Root => std::os::unix::fs::chown(&folder, Some(DEV), Some(DEV)),
            Way::Direct { user, group } => {
                std::os::unix::fs::chown(&folder, Some(user), Some(group))
            }
            // The caller is `dev`.
            Way::Range { .. } | Way::Alone { .. } => Ok(()),
        }
    }

    /// Whether the store's disk has no room, or no inode, left.
    pub(super) fn is_full(&self) -> bool {
        rustix::fs::statvfs(&self.root).is_ok_and(|disk| {
            // Some file systems, such as btrfs, have no number of inodes.
            let few = disk.f_files > 0 && disk.f_favail < INODES;
            disk.f_bavail * disk.f_frsize < ROOM || few
        })
    }
}

fn sync_file(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Makes renames in a folder last.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// The tree of a layer, relative to the store.
pub(super) fn tree(layer: &str) -> String {
    format!("{layer}/{TREE}")
}

pub(super) fn record_name(key: ContentKey) -> String {
    format!("s/{}.json", key.to_hex())
}

fn unusable(root: &Path, error: &io::Error) -> BackendError {
    let class = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Class::Full,
        _ => Class::Denied,
    };
    let message = format!("cannot use the store {}: {error}", root.display());
    BackendError::new(class, message).with_help("choose a folder you may write to with --store DIR")
}

/// What a failed call on the store means for the caller.
pub(super) fn failed(operation: &str, error: &io::Error) -> BackendError {
    let class = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Class::Full,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Class::Denied,
        _ => Class::Transient,
    };
    let failed = BackendError::new(class, format!("cannot {operation}: {error}"));
    match class {
        Class::Full => failed.with_help(ROOM_IS_NEEDED),
        _ => failed,
    }
}

const ROOM_IS_NEEDED: &str = "free some room, or place the store elsewhere with --store DIR";
