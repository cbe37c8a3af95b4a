//! Layers on layers.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::{Layers, Tar, UnpackError, is_opaque, is_root, is_whiteout, refusal};

#[test]
fn whiteouts_hide_what_is_below_and_only_that() {
    let mut layers = Layers::new();
    layers.add(
        Tar::default()
            .folder("d")
            .file("d/a", "")
            .file("d/b", "")
            .folder("o")
            .file("o/x", ""),
    );
    let tar = Tar::default()
        .file("d/.wh.a", "")
        .file("d/new", "")
        .file("d/.wh.new", "")
        .file("d/.wh.b", "")
        .file("d/b/file", "")
        .file("o/own", "")
        .file("o/.wh..wh..opq", "")
        .file(".wh..wh.plnk", "")
        .file("gone/.wh.never", "");
    let path = layers.add(tar);
    assert!(is_whiteout(&path.join("d/a")));
    assert!(path.join("d/new").is_file());
    // Taken away and made anew in one layer.
    assert!(path.join("d/b/file").is_file() && is_opaque(&path.join("d/b")));
    assert!(path.join("o/own").is_file() && is_opaque(&path.join("o")));
    assert!(!is_opaque(&path.join("d")));
    assert!(is_whiteout(&path.join("gone/never")));
    assert!(!path.join(".wh..wh.plnk").exists());
    let names = fs::read_dir(path.join("o")).unwrap().count();
    assert_eq!(names, 1);
    for name in [".wh.", ".wh..", "d/.wh..."] {
        assert!(
            matches!(
                refusal(Tar::default().file(name, "")),
                UnpackError::Damaged(_)
            ),
            "{name}"
        );
    }
}

#[test]
fn implied_folders_look_as_they_do_below() {
    let mut layers = Layers::new();
    let lower = Tar::default()
        .entry(b'5', "tmp", |header| header.set_mode(0o1777), b"")
        .entry(b'5', "old", |header| header.set_mode(0o700), b"")
        .entry(b'5', "old/in", |header| header.set_mode(0o711), b"")
        .folder("usr")
        .folder("usr/bin")
        .symlink("bin", "usr/bin")
        .file("file", "");
    layers.add(lower);
    layers.add(Tar::default().file("other", ""));
    let tar = Tar::default()
        .file("tmp/a", "")
        .file("bin/tool", "")
        .file("fresh/a/b", "")
        .file("file/a", "")
        .file("old/.wh..wh..opq", "")
        .file("old/in/x", "");
    let path = layers.add(tar);
    let mode = |name: &str| fs::symlink_metadata(path.join(name)).unwrap().mode() & 0o7777;
    assert_eq!(mode("tmp"), 0o1777);
    assert_eq!(
        fs::metadata(path.join("tmp")).unwrap().mtime(),
        1_000_000_000
    );
    assert_eq!(mode("fresh/a"), 0o755);
    assert_eq!((mode("old"), mode("old/in")), (0o700, 0o755));
    // The layer means the place that the symlink below leads to.
    assert!(path.join("usr/bin/tool").is_file());
    assert!(!path.join("bin").exists());
    assert!(path.join("file/a").is_file());
}

#[test]
fn what_a_layer_below_hides_is_not_seen() {
    let closed = |tar: Tar, name| tar.entry(b'5', name, |header| header.set_mode(0o711), b"");
    let mut layers = Layers::new();
    let lowest = closed(
        closed(closed(Tar::default().folder("o"), "o/in"), "gone"),
        "file",
    );
    layers.add(lowest);
    layers.add(
        Tar::default()
            .file("o/.wh..wh..opq", "")
            .file(".wh.gone", "")
            .file(".wh.file", "")
            .file("file", ""),
    );
    layers.add(Tar::default().file("other", ""));
    let tar = Tar::default().link(b'1', "x", "gone");
    assert!(matches!(
        layers.try_add(&tar.end()),
        Err(UnpackError::NoTarget { .. })
    ));
    fs::remove_dir_all(layers.folder.path().join("3")).unwrap();
    let path = layers.add(
        Tar::default()
            .file("o/in/x", "")
            .file("gone/x", "")
            .file("file/x", ""),
    );
    for name in ["o/in", "gone", "file"] {
        assert_eq!(
            fs::metadata(path.join(name)).unwrap().mode() & 0o777,
            0o755,
            "{name}"
        );
    }
}

#[test]
fn the_root_of_a_layer_has_a_look_of_its_own() {
    let mut layers = Layers::new();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
    fs::create_dir(layers.folder.path().join("0")).unwrap();
    fs::set_permissions(
        layers.folder.path().join("0"),
        fs::Permissions::from_mode(0o700),
    )
    .unwrap();
    assert_eq!(mode(&layers.add(Tar::default())), 0o755);
    let tar = Tar::default().entry(b'5', "./", |header| header.set_mode(0o711), b"");
    assert_eq!(mode(&layers.add(tar)), 0o711);
    assert_eq!(mode(&layers.add(Tar::default().file("a", ""))), 0o711);
}

#[test]
fn hard_links_reach_into_the_layers_below() {
    let mut layers = Layers::new();
    let lower = layers.add(
        Tar::default()
            .folder("d")
            .file("d/a", "text")
            .file("gone", "x"),
    );
    let path = layers.add(Tar::default().link(b'1', "link", "d/a"));
    let inode = |path: PathBuf| fs::metadata(path).unwrap().ino();
    assert_eq!(inode(path.join("link")), inode(lower.join("d/a")));
    let tar = Tar::default().file(".wh.gone", "").link(b'1', "x", "gone");
    assert!(matches!(
        layers.try_add(&tar.end()),
        Err(UnpackError::NoTarget { .. })
    ));
    let tar = Tar::default().link(b'1', "x", "d");
    assert!(matches!(
        layers.try_add(&tar.end()),
        Err(UnpackError::NoTarget { .. })
    ));
}

/// The kernel's word on what the layers are together.
#[test]
fn overlayfs_shows_the_layers_as_one() {
    if !is_root() {
        return;
    }
    let mut layers = Layers::new();
    layers.add(
        Tar::default()
            .folder("d")
            .file("d/gone", "1")
            .file("d/kept", "1")
            .folder("o")
            .file("o/gone", "1")
            .folder("r")
            .file("r/gone", "1"),
    );
    layers.add(
        Tar::default()
            .file("d/.wh.gone", "")
            .file("o/.wh..wh..opq", "")
            .file("o/new", "2")
            .file(".wh.r", "")
            .file("r/new", "2"),
    );
    let lower: Vec<&str> = layers
        .done
        .iter()
        .map(|path| path.to_str().unwrap())
        .collect();
    let merged = layers.folder.path().join("merged");
    fs::create_dir(&merged).unwrap();
    let script = format!(
        "mount -t overlay overlay -o lowerdir={},userxattr '{}' && cd '{1}' && find . -type f | sort",
        lower.join(":"),
        merged.display()
    );
    let output = std::process::Command::new("unshare")
        .args(["--mount", "sh", "-ec", &script])
        .output();
    let output = output.unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let listed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(listed, "./d/kept\n./o/new\n./r/new\n");
}
