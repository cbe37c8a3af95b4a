//! What entries hold, and archives that do not hold what they should.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};

use super::unpack_layer;
use super::{
    Digest, Layers, Ownership, PathBuf, Source, Tar, UnpackError, gzip, is_root, owners, refusal,
    unpack_layers, unpacked, xattr,
};

#[test]
fn all_compressions_give_the_same() {
    let tar = Tar::default().folder("d/").file("d/a", "text").end();
    let zstd = zstd::encode_all(tar.as_slice(), 3).unwrap();
    // Some tools write one member after the other.
    let members = [gzip(&tar[..700]), gzip(&tar[700..])].concat();
    for blob in [tar.clone(), gzip(&tar), members, zstd] {
        let mut layers = Layers::new();
        assert_eq!(layers.try_add(&blob).unwrap().entries, 2);
        assert_eq!(
            fs::read_to_string(layers.done[0].join("d/a")).unwrap(),
            "text"
        );
    }
}

#[test]
fn metadata_is_restored() {
    let tar = Tar::default()
        .entry(b'5', "d", |header| header.set_mode(0o2551), b"")
        .entry(b'0', "d/tool", |header| header.set_mode(0o4755), b"x")
        .pax(&[
            ("mtime", b"-1.5"),
            ("uid", b"3000000000"),
            ("SCHILY.xattr.user.note", b"a\n\0b"),
        ])
        .file("d/odd", "");
    let (_layers, path) = unpacked(tar);
    let folder = fs::metadata(path.join("d")).unwrap();
    assert_eq!(
        (folder.mode() & 0o7777, folder.mtime()),
        (0o2551, 1_000_000_000)
    );
    let tool = fs::metadata(path.join("d/tool")).unwrap();
    assert_eq!(
        (tool.mode() & 0o7777, tool.mtime()),
        (0o4755, 1_000_000_000)
    );
    let odd = fs::metadata(path.join("d/odd")).unwrap();
    assert_eq!((odd.mtime(), odd.mtime_nsec()), (-2, 500_000_000));
    assert_eq!(xattr(&path.join("d/odd"), "user.note").unwrap(), b"a\n\0b");
    if is_root() {
        assert_eq!(odd.uid(), 3_000_000_000);
    }
}

#[test]
fn capabilities_survive_a_change_of_owner() {
    if !is_root() {
        return;
    }
    let capability = [1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let records: [(&str, &[u8]); 3] = [
        ("SCHILY.xattr.security.capability", &capability),
        ("SCHILY.xattr.user.overlay.opaque", b"y"),
        ("SCHILY.xattr.trusted.overlay.opaque", b"y"),
    ];
    let tar = Tar::default()
        .pax(&records)
        .entry(b'0', "ping", |header| header.set_uid(1000), b"x")
        .pax(&records[1..])
        .folder("d");
    let (_layers, path) = unpacked(tar);
    assert_eq!(
        xattr(&path.join("ping"), "security.capability").unwrap(),
        capability
    );
    assert_eq!(fs::metadata(path.join("ping")).unwrap().uid(), 1000);
    for name in ["user.overlay.opaque", "trusted.overlay.opaque"] {
        assert_eq!(xattr(&path.join("d"), name), None);
    }
}

#[test]
fn who_has_one_id_owns_all_of_it_without_what_others_would_lend() {
    let capability = [1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let records: [(&str, &[u8]); 3] = [
        ("SCHILY.xattr.security.capability", &capability),
        ("SCHILY.xattr.trusted.note", b"x"),
        ("SCHILY.xattr.user.note", b"kept"),
    ];
    let other = |mode: u32| {
        move |header: &mut tar::Header| {
            header.set_uid(3_000_000_000);
            header.set_gid(12);
            header.set_mode(mode);
        }
    };
    let tar = Tar::default()
        .pax(&records)
        .entry(b'0', "file", other(0o6755), b"x")
        .entry(b'5', "folder", other(0o7777), b"")
        .entry(b'6', "pipe", other(0o6622), b"")
        .symlink("link", "file")
        .end();
    let mut layers = Layers::new();
    layers.ownership = Ownership::Caller;
    layers.try_add(&tar).unwrap();
    let own = (
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw(),
    );
    for (name, mode) in [("file", 0o755), ("folder", 0o1777), ("pipe", 0o622)] {
        let meta = fs::symlink_metadata(layers.done[0].join(name)).unwrap();
        assert_eq!((meta.uid(), meta.gid()), own, "{name}");
        assert_eq!(meta.permissions().mode() & 0o7777, mode, "{name}");
    }
    let file = layers.done[0].join("file");
    assert_eq!(xattr(&file, "user.note").unwrap(), b"kept");
    for name in ["security.capability", "trusted.note"] {
        assert_eq!(xattr(&file, name), None);
    }
}

/// A capability that is malformed, or not for this process, is refused by the kernel; so may be a whole name space.
#[test]
fn attributes_that_may_not_be_set_are_left_out() {
    if !is_root() {
        return;
    }
    let records: [(&str, &[u8]); 2] = [
        ("SCHILY.xattr.trusted.note", b"x"),
        ("SCHILY.xattr.security.capability", &[0; 20]),
    ];
    let tar = |records| Tar::default().pax(records).file("f", "x").end();
    let mut layers = Layers::new();
    layers.try_add(&tar(&records[..1])).unwrap();
    let file = layers.done[0].join("f");
    assert_eq!(xattr(&file, "trusted.note").unwrap(), b"x");
    // A file in memory has no attributes for users here, and no trusted ones without the right to them.
    let into = tempfile::tempdir().unwrap();
    let blob = tar(&records[..1]);
    let unpacked =
        without_rights(|| unpack_layer(blob.as_slice(), &Digest::of(&blob), into.path(), &[]));
    unpacked.unwrap();
    assert_eq!(xattr(&into.path().join("f"), "trusted.note"), None);
}

/// On a thread of its own, which has given up what the attributes of others take.
fn without_rights<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    std::thread::scope(|scope| {
        let acting = scope.spawn(|| {
            let mut sets = capabilities(None).unwrap();
            sets.effective -= CapabilitySet::SYS_ADMIN | CapabilitySet::SETFCAP;
            set_capabilities(None, sets).unwrap();
            act()
        });
        acting.join().unwrap()
    })
}

#[test]
fn layers_are_unpacked_together_as_they_are_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let big = "0123456789abcdef".repeat(1 << 20);
    let mut sources = Vec::new();
    let mut below: Vec<PathBuf> = Vec::new();
    let blobs: Vec<Vec<u8>> = (0..9)
        .map(|number| {
            let name = format!("d/{number}");
            let tar = Tar::default().file(&name, &format!("{number}{big}"));
            match number {
                0 => gzip(&tar.end()),
                _ => gzip(&tar.link(b'1', &format!("d/link{number}"), "d/0").end()),
            }
        })
        .collect();
    for (number, blob) in blobs.iter().enumerate() {
        let into = folder.path().join(number.to_string());
        fs::create_dir(&into).unwrap();
        sources.push(Source {
            blob: blob.as_slice(),
            digest: Digest::of(blob),
            into: into.clone(),
            below: below.clone(),
        });
        below.insert(0, into);
    }
    let done = unpack_layers(sources, owners()).unwrap();
    assert_eq!(done.len(), 9);
    let first = fs::metadata(folder.path().join("0/d/0")).unwrap();
    assert_eq!(first.nlink(), 9);
    let last = fs::read_to_string(folder.path().join("8/d/8")).unwrap();
    assert_eq!(last, format!("8{big}"));
}

/// The ones that were read ahead hold nothing up.
#[test]
fn a_layer_that_is_damaged_ends_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let big = "0123456789abcdef".repeat(2 << 20);
    let good = gzip(&Tar::default().file("f", &big).end());
    let sources = (0..5).map(|number| {
        let into = folder.path().join(number.to_string());
        fs::create_dir(&into).unwrap();
        Source {
            blob: good.as_slice(),
            digest: Digest::of(if number == 1 { b"other" } else { &good }),
            into,
            below: Vec::new(),
        }
    });
    let error = unpack_layers(sources.collect(), owners()).unwrap_err();
    assert!(matches!(error, UnpackError::Digest { .. }), "{error}");
    assert!(folder.path().join("0/f").exists());
    assert!(!folder.path().join("2/f").exists());
}

#[test]
fn devices_are_left_out_and_counted() {
    let tar = Tar::default()
        .entry(b'3', "dev/null", |_| {}, b"")
        .entry(b'4', "disk", |_| {}, b"")
        .entry(b'6', "pipe", |header| header.set_mode(0o622), b"");
    let mut layers = Layers::new();
    let done = layers.try_add(&tar.end()).unwrap();
    assert_eq!((done.entries, done.devices), (3, 2));
    let pipe = fs::symlink_metadata(layers.done[0].join("pipe")).unwrap();
    assert!(pipe.file_type().is_fifo());
    assert_eq!(pipe.permissions().mode() & 0o777, 0o622);
    assert!(!layers.done[0].join("disk").exists());
}

#[test]
fn sparse_files_stay_sparse() {
    let size = 64 << 20;
    let mut leading = b"2\n4096\n5\n67108863\n1\n".to_vec();
    leading.resize(512, 0);
    leading.extend_from_slice(b"hello!");
    let size_text = size.to_string();
    let old = |header: &mut tar::Header| {
        let gnu = header.as_gnu_mut().unwrap();
        let octal = |field: &mut [u8; 12], number: u64| {
            field.copy_from_slice(format!("{number:011o}\0").as_bytes());
        };
        octal(&mut gnu.realsize, size);
        // Parts fill blocks, but for the last.
        octal(&mut gnu.sparse[0].offset, 4096);
        octal(&mut gnu.sparse[0].numbytes, 512);
        octal(&mut gnu.sparse[1].offset, size - 1);
        octal(&mut gnu.sparse[1].numbytes, 1);
    };
    let mut old_data = b"hello".to_vec();
    old_data.resize(512, 0);
    old_data.push(b'!');
    let tar = Tar::default()
        .pax(&[
            ("GNU.sparse.major", b"1"),
            ("GNU.sparse.minor", b"0"),
            ("GNU.sparse.name", b"new"),
            ("GNU.sparse.realsize", size_text.as_bytes()),
        ])
        .entry(b'0', "GNUSparseFile.0/new", |_| {}, &leading)
        .pax(&[
            ("GNU.sparse.map", b"4096,5,67108863,1"),
            ("GNU.sparse.size", size_text.as_bytes()),
        ])
        .file("inline", "hello!")
        .entry(b'S', "old", old, &old_data)
        .file("after", "whole");
    let (_layers, path) = unpacked(tar);
    for name in ["new", "inline", "old"] {
        let metadata = fs::metadata(path.join(name)).unwrap();
        assert_eq!(metadata.len(), size, "{name}");
        assert!(metadata.blocks() < 100, "{name}");
        let content = fs::read(path.join(name)).unwrap();
        assert_eq!(&content[4095..4102], b"\0hello\0", "{name}");
        assert_eq!(content.last(), Some(&b'!'), "{name}");
    }
    assert_eq!(fs::read_to_string(path.join("after")).unwrap(), "whole");
    let broken = Tar::default()
        .pax(&[("GNU.sparse.map", b"0,5,3,1"), ("GNU.sparse.size", b"6")])
        .file("x", "hello!");
    assert!(matches!(refusal(broken), UnpackError::Damaged(_)));
}

#[test]
fn damage_is_found() {
    let whole = Tar::default()
        .file("a", &"x".repeat(5000))
        .file("b", "y")
        .end();
    for blob in [
        &whole[..700],
        &whole[..100],
        &gzip(&whole)[..40],
        b"not a tar archive at all",
    ] {
        let error = Layers::new().try_add(blob).unwrap_err();
        assert!(
            matches!(error, UnpackError::Damaged(_) | UnpackError::Read(_)),
            "{error:?}"
        );
    }
    let mut flipped = whole.clone();
    flipped[0] ^= 1;
    assert!(matches!(
        Layers::new().try_add(&flipped),
        Err(UnpackError::Damaged(_))
    ));
    assert!(Layers::new().try_add(&[0; 1024]).is_ok());
}

#[test]
fn another_digest_is_the_error_whatever_else_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let expected = Digest([7; 32]);
    let good = gzip(&Tar::default().file("a", "x").end());
    for blob in [
        good.as_slice(),
        &good[..good.len() - 5],
        b"<html>not found</html>",
    ] {
        let error = unpack_layer(blob, &expected, folder.path(), &[]).unwrap_err();
        let found = Digest::of(blob);
        assert!(
            matches!(error, UnpackError::Digest { found: f, .. } if f == found),
            "{error:?}"
        );
    }
    // What follows the end of the archive is in the digest too.
    let longer = [good.as_slice(), b""].concat();
    let into = tempfile::tempdir().unwrap();
    unpack_layer(longer.as_slice(), &Digest::of(&longer), into.path(), &[]).unwrap();
}

#[test]
fn a_reader_that_fails_is_told_from_damage() {
    struct Broken;
    impl io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("disk on fire"))
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let error = unpack_layer(Broken, &Digest([0; 32]), folder.path(), &[]).unwrap_err();
    assert!(matches!(error, UnpackError::Read(_)));
}
