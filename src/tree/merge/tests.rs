//! Compared with what overlayfs itself shows.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::super::tests::{
    Place, attributes, dig, in_a_namespace, is_root, list, make, one_of_each, set_attribute,
    set_time, whiteout,
};
use super::{Material, Merged, merge, merge_with};

mod random;

const BOTH: [Material; 2] = [Material::Link, Material::Copy];

/// Mounts layers of the current folder, the topmost first, to be read at `view`, and calls `look`. There is always an
/// empty one below them, since there is no overlay of one layer.
fn viewed<T>(layers: &[String], look: impl FnOnce(&Path) -> T) -> T {
    for folder in ["view", "empty"] {
        fs::create_dir_all(folder).unwrap();
    }
    let options = format!("userxattr,lowerdir={}:empty", layers.join(":"));
    let options = std::ffi::CString::new(options).unwrap();
    mount(
        "overlay",
        "view",
        "overlay",
        MountFlags::empty(),
        options.as_c_str(),
    )
    .unwrap();
    let result = look(Path::new("view"));
    unmount("view", UnmountFlags::DETACH).unwrap();
    result
}

/// Merges layers of the current folder, the lowest first, and compares the result with a mount of them.
fn check(layers: &[String]) {
    let paths: Vec<PathBuf> = layers.iter().map(PathBuf::from).collect();
    let topmost_first: Vec<String> = layers.iter().rev().cloned().collect();
    let expected = viewed(&topmost_first, list);
    for by in BOTH {
        let into = format!("{by:?}");
        fs::create_dir(&into).unwrap();
        let merged = merge(&paths, Path::new(&into), by).unwrap();
        let found = viewed(std::slice::from_ref(&into), list);
        for (path, line) in &expected {
            assert_eq!(
                found.get(path),
                Some(line),
                "{by:?}: {path:?} of {layers:?}"
            );
        }
        assert_eq!(found.len(), expected.len(), "{by:?}: {found:#?}");
        assert_eq!(merged.entries + 1, expected.len() as u64);
        assert_is_self_contained(Path::new(&into), by);
        fs::remove_dir_all(&into).unwrap();
    }
}

fn assert_is_self_contained(root: &Path, by: Material) {
    for path in list(root).keys() {
        let meta = fs::symlink_metadata(root.join(path)).unwrap();
        assert!(
            meta.mode() & 0o170_000 != 0o020_000 || meta.rdev() != 0,
            "{path:?}"
        );
        if by == Material::Copy || meta.is_dir() {
            let mut names = attributes(&root.join(path)).into_keys();
            let is_own = |name: &String| super::super::attributes::is_of_overlay(name.as_bytes());
            assert_eq!(names.find(is_own), None, "{path:?}");
        }
    }
}

/// Two layers by hand, in the current folder.
fn by_hand() -> Vec<String> {
    for layer in ["1", "2", "3"] {
        fs::create_dir(layer).unwrap();
    }
    one_of_each(Path::new("1"));
    for folder in [
        "1/gone/in",
        "1/opaque/in",
        "1/same/in",
        "1/file-then-folder",
        "2/new",
    ] {
        fs::create_dir_all(folder).unwrap();
    }
    for file in [
        "1/a",
        "1/opaque/a",
        "1/same/a",
        "1/same/in/a",
        "1/file-then-folder/a",
    ] {
        fs::write(file, file).unwrap();
    }
    whiteout(Path::new("2/gone"));
    // Overlayfs makes one inode serve for many.
    fs::hard_link("2/gone", "2/a").unwrap();
    for folder in ["2/opaque/b", "2/same/in"] {
        fs::create_dir_all(folder).unwrap();
    }
    set_attribute(Path::new("2/opaque"), "user.overlay.opaque", b"y");
    set_attribute(Path::new("2/same"), "user.overlay.impure", b"y");
    set_attribute(Path::new("2/same"), "user.overlay.overlay.opaque", b"y");
    fs::hard_link("2/gone", "2/same/in/a").unwrap();
    fs::write("2/same/new", "new").unwrap();
    set_attribute(Path::new("2/same/new"), "user.overlay.origin", b"x");
    fs::set_permissions("2/same", PermissionsExt::from_mode(0o2711)).unwrap();
    fs::write("2/file-then-folder", "file").unwrap();
    // A mount takes no notice of such a mark on a layer itself.
    set_attribute(Path::new("2"), "user.overlay.opaque", b"y");
    fs::create_dir_all("3/file-then-folder/new").unwrap();
    fs::create_dir_all("3/gone/again").unwrap();
    chown("3", Some(12), Some(34)).unwrap();
    set_time(Path::new("3"), 1_000_000_000, 1);
    ["1", "2", "3"].map(str::to_owned).to_vec()
}

/// behaviours 1.20
#[test]
fn a_merged_stack_is_what_a_mount_shows() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    in_a_namespace(|| {
        std::env::set_current_dir(place.path()).unwrap();
        let layers = by_hand();
        make(
            Path::new("1/null"),
            FileType::CharacterDevice,
            rustix::fs::makedev(1, 3),
        );
        let capability = [1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        set_attribute(Path::new("1/empty"), "security.capability", &capability);
        set_attribute(Path::new("1/symlink"), "trusted.note", b"kept");
        check(&layers);
        check(&layers[..1]);
        let listing = viewed(&["3".to_owned(), "2".to_owned(), "1".to_owned()], list);
        let shown = |path: &str| listing.contains_key(Path::new(path));
        assert!(!shown("a") && !shown("opaque/a") && !shown("same/in/a") && !shown("gone/in"));
        assert!(shown("same/a") && shown("gone/again") && shown("file-then-folder/new"));
        assert!(!shown("file-then-folder/a"));
    });
}

#[test]
fn what_was_done_is_counted() {
    let place = Place::new();
    let layer = place.folder("layer");
    one_of_each(&layer);
    let by_link = merge(
        std::slice::from_ref(&layer),
        &place.folder("link"),
        Material::Link,
    )
    .unwrap();
    let names = u64::try_from(list(&layer).len() - 1).unwrap();
    let expected = Merged {
        entries: names,
        ..Merged::default()
    };
    assert_eq!(by_link, expected);
    let by_copy = merge(&[layer], &place.folder("copy"), Material::Copy).unwrap();
    assert_eq!((by_copy.entries, by_copy.unset), (names, 0));
    // Of the sparse file at least its block, and not its holes; of the others their bytes.
    let bytes = by_copy.copied + by_copy.cloned;
    assert!(
        bytes > 7 && (by_copy.cloned > 0 || bytes < 1 << 20),
        "{by_copy:?}"
    );
}

#[test]
fn layers_are_left_as_they_are() {
    let place = Place::new();
    let layer = place.folder("layer");
    one_of_each(&layer);
    let accessed = |name: &str| {
        let meta = fs::symlink_metadata(layer.join(name)).unwrap();
        (meta.atime(), meta.atime_nsec())
    };
    let before = (
        list(&layer),
        accessed(""),
        accessed("file"),
        accessed("folder"),
    );
    for by in BOTH {
        let into = place.folder(&format!("{by:?}"));
        merge(std::slice::from_ref(&layer), &into, by).unwrap();
        let after = (accessed(""), accessed("file"), accessed("folder"));
        assert_eq!(after, (before.1, before.2, before.3), "{by:?}");
        let inode = |root: &Path| fs::metadata(root.join("file")).unwrap().ino();
        assert_eq!(inode(&into) == inode(&layer), by == Material::Link);
    }
    assert_eq!(list(&layer), before.0);
}

#[test]
fn a_file_with_very_many_names_is_copied_and_stays_one() {
    let place = Place::new();
    let layer = place.folder("layer");
    fs::write(layer.join("a"), "text").unwrap();
    for name in ["b", "c"] {
        fs::hard_link(layer.join("a"), layer.join(name)).unwrap();
    }
    fs::write(layer.join("other"), "text").unwrap();
    let into = place.folder("into");
    merge_with(std::slice::from_ref(&layer), &into, Material::Link, 3).unwrap();
    let inode = |path: PathBuf| fs::metadata(path).unwrap().ino();
    let inodes = ["a", "b", "c"].map(|name| inode(into.join(name)));
    assert_eq!(inodes, [inodes[0]; 3]);
    assert_ne!(inodes[0], inode(layer.join("a")));
    assert_eq!(inode(into.join("other")), inode(layer.join("other")));
    assert_eq!(list(&into), list(&layer));
}

/// Only where files cannot have any number of names: on ext4 65,000.
#[test]
fn a_file_that_has_all_the_names_it_can_have_is_copied() {
    let place = Place::new();
    let (layer, more) = (place.folder("layer"), place.folder("more"));
    fs::write(layer.join("a"), "text").unwrap();
    fs::hard_link(layer.join("a"), layer.join("b")).unwrap();
    let link = |index: i32| fs::hard_link(layer.join("a"), more.join(index.to_string()));
    let Some(error) = (0..70_000).find_map(|index| link(index).err()) else {
        return;
    };
    assert_eq!(error.kind(), ErrorKind::TooManyLinks);
    let into = place.folder("into");
    let merged = merge_with(
        std::slice::from_ref(&layer),
        &into,
        Material::Link,
        u64::MAX,
    )
    .unwrap();
    assert_eq!((merged.entries, merged.copied + merged.cloned), (2, 4));
    assert_eq!(list(&into), list(&layer));
}

#[test]
fn depth_is_no_limit() {
    let place = Place::new();
    let (low, high) = (place.folder("low"), place.folder("high"));
    let (depth, length) = (300, 200);
    fs::write(low.join("file"), "text").unwrap();
    let file = File::open(&low).unwrap();
    dig(&low, depth, length, |last| {
        let flags = AtFlags::empty();
        rustix::fs::linkat(&file, "file", last.here(), "again", flags).unwrap();
        rustix::fs::symlinkat("x", last.here(), "gone").unwrap();
    });
    dig(&high, depth, length, |last| {
        rustix::fs::symlinkat("x", last.here(), "new").unwrap();
        // As a FIFO a whiteout needs no rights; it hides as well.
        rustix::fs::mknodat(last.here(), "gone", FileType::Fifo, Mode::RUSR, 0).unwrap();
    });
    for by in BOTH {
        let into = place.folder(&format!("{by:?}"));
        let merged = merge(&[low.clone(), high.clone()], &into, by).unwrap();
        assert_eq!(merged.entries, depth as u64 + 4);
        dig(&into, depth, length, |last| {
            let stat = |name| rustix::fs::statat(last.here(), name, AtFlags::SYMLINK_NOFOLLOW);
            assert_eq!(
                stat("again").unwrap().st_ino,
                fs::metadata(into.join("file")).unwrap().ino()
            );
            assert_eq!(
                FileType::from_raw_mode(stat("gone").unwrap().st_mode),
                FileType::Fifo
            );
            stat("new").unwrap();
        });
    }
}

#[test]
fn what_the_folder_would_hand_down_is_not_inherited() {
    let place = Place::new();
    let (layer, above) = (place.folder("layer"), place.folder("above"));
    one_of_each(&layer);
    // The owner, a user, the group, the mask and others: version 2 of the kernel's form.
    let rights = [
        (1u16, 7u16, !0u32),
        (2, 7, 1234),
        (4, 5, !0),
        (16, 7, !0),
        (32, 5, !0),
    ];
    let mut list_of_rights = 2u32.to_le_bytes().to_vec();
    for (tag, rights, id) in rights {
        list_of_rights.extend([tag.to_le_bytes(), rights.to_le_bytes()].concat());
        list_of_rights.extend(id.to_le_bytes());
    }
    set_attribute(&above, "system.posix_acl_default", &list_of_rights);
    for by in BOTH {
        let into = above.join(format!("{by:?}"));
        fs::create_dir(&into).unwrap();
        assert!(attributes(&into).contains_key("system.posix_acl_default"));
        merge(std::slice::from_ref(&layer), &into, by).unwrap();
        let mut merged = list(&into);
        let mut expected = list(&layer);
        // The folder itself was given to us.
        merged.remove(Path::new(""));
        expected.remove(Path::new(""));
        assert_eq!(merged, expected);
    }
}

#[test]
fn nothing_is_the_merger_of_no_layers() {
    let place = Place::new();
    assert_eq!(
        merge(&[], place.path(), Material::Link).unwrap(),
        Merged::default()
    );
}

#[test]
fn what_cannot_be_done_says_where() {
    let place = Place::new();
    let (layer, into) = (place.folder("layer"), place.folder("into"));
    fs::create_dir(layer.join("folder")).unwrap();
    fs::write(layer.join("folder/odd\nname"), "").unwrap();
    let missing = merge(&[place.path().join("missing")], &into, Material::Link).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    assert!(missing.to_string().contains("/missing: "), "{missing}");
    let full = merge(std::slice::from_ref(&layer), place.path(), Material::Link).unwrap_err();
    assert_eq!(full.kind(), ErrorKind::DirectoryNotEmpty);
    if !is_root() {
        return;
    }
    in_a_namespace(|| {
        fs::write(layer.join("folder/odd\nname"), vec![1; 1 << 20]).unwrap();
        let options = c"size=64k";
        for by in BOTH {
            mount("tmpfs", &into, "tmpfs", MountFlags::empty(), options).unwrap();
            let error = merge(std::slice::from_ref(&layer), &into, by).unwrap_err();
            let kind = match by {
                Material::Link => ErrorKind::CrossesDevices,
                Material::Copy => ErrorKind::StorageFull,
            };
            assert_eq!(error.kind(), kind);
            assert!(
                error.to_string().contains("into/folder/odd\\nname: "),
                "{error}"
            );
            unmount(&into, UnmountFlags::DETACH).unwrap();
        }
    });
}
