//! Where names and links lead.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::{Layers, Tar, UnpackError, refusal, unpacked};

#[test]
fn links_are_kept() {
    let tar = Tar::default()
        .file("a", "text")
        .link(b'1', "hard", "./a")
        .link(b'1', "itself", "itself")
        .symlink("dangling", "/no/where")
        .link(b'1', "hard-symlink", "dangling");
    assert!(matches!(
        refusal(Tar::default().link(b'1', "x", "none")),
        UnpackError::NoTarget { .. }
    ));
    let (_layers, path) = {
        let mut layers = Layers::new();
        let error = layers.try_add(&tar.end()).map(drop);
        // A link to itself names what is not there yet; one to what is there changes nothing.
        assert!(error.is_ok(), "{error:?}");
        let path = layers.done[0].clone();
        (layers, path)
    };
    let inode = |name: &str| fs::symlink_metadata(path.join(name)).unwrap().ino();
    assert_eq!(inode("a"), inode("hard"));
    assert_eq!(inode("dangling"), inode("hard-symlink"));
    assert_eq!(
        fs::read_link(path.join("dangling")).unwrap(),
        Path::new("/no/where")
    );
}

#[test]
fn names_cannot_leave_the_layer() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("victim"), "whole").unwrap();
    let out = outside.path().to_str().unwrap();
    for name in ["../x", "a/../../x", "/../x"] {
        assert!(
            matches!(
                refusal(Tar::default().file(name, "")),
                UnpackError::Escape(_)
            ),
            "{name}"
        );
    }
    assert!(matches!(
        refusal(Tar::default().link(b'1', "x", "../../etc/passwd")),
        UnpackError::Escape(_)
    ));
    let tar = Tar::default()
        .symlink("out", out)
        .file("out/victim", "evil")
        .symlink("up", "../../../../../..")
        .file("up/up-file", "x")
        .symlink("final", &format!("{out}/victim"))
        .file("final", "mine")
        .file("/absolute", "x");
    let (_layers, path) = unpacked(tar);
    assert_eq!(
        fs::read_to_string(outside.path().join("victim")).unwrap(),
        "whole"
    );
    // As if the layer were the root: that is where the links lead in a sandbox, too.
    let inner = path.join(out.trim_start_matches('/'));
    assert_eq!(fs::read_to_string(inner.join("victim")).unwrap(), "evil");
    assert!(path.join("up-file").is_file());
    assert_eq!(fs::read_to_string(path.join("final")).unwrap(), "mine");
    assert!(fs::symlink_metadata(path.join("final")).unwrap().is_file());
    assert!(path.join("absolute").is_file());
    let tar = Tar::default()
        .symlink("a", "b")
        .symlink("b", "a")
        .file("a/x", "");
    assert!(matches!(refusal(tar), UnpackError::Loop(_)));
    let tar = Tar::default().file("a", "").file("a/x", "");
    assert!(matches!(refusal(tar), UnpackError::NotAFolder(_)));
}

#[test]
fn of_several_entries_with_one_name_the_last_counts() {
    let tar = Tar::default()
        .file("a", "first")
        .link(b'1', "twin", "a")
        .file("a", "second")
        .folder("d")
        .file("d/inner", "")
        .file("d", "now a file")
        .file("e", "")
        .folder("e")
        .entry(b'5', "f", |header| header.set_mode(0o700), b"")
        .file("f/kept", "")
        .folder("f");
    let (_layers, path) = unpacked(tar);
    assert_eq!(fs::read_to_string(path.join("a")).unwrap(), "second");
    assert_eq!(fs::read_to_string(path.join("twin")).unwrap(), "first");
    assert!(path.join("d").is_file());
    assert!(path.join("e").is_dir());
    assert!(path.join("f/kept").is_file());
    assert_eq!(fs::metadata(path.join("f")).unwrap().mode() & 0o777, 0o755);
}

#[test]
fn long_names_are_read_in_all_their_forms() {
    let long = format!("d/{}", "n".repeat(200));
    let tar = Tar::default()
        .entry(
            b'L',
            "././@LongLink",
            |_| {},
            format!("{long}\0").as_bytes(),
        )
        .file("short", "gnu")
        .pax(&[
            ("path", format!("{long}-pax").as_bytes()),
            ("linkpath", long.as_bytes()),
        ])
        .link(b'2', "short", "short")
        .entry(b'g', "global", |_| {}, b"20 comment=whatever\n");
    let (_layers, path) = unpacked(tar);
    assert_eq!(fs::read_to_string(path.join(&long)).unwrap(), "gnu");
    assert_eq!(
        fs::read_link(path.join(format!("{long}-pax"))).unwrap(),
        Path::new(&long)
    );
}
