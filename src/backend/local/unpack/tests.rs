//! Archives made by hand, since no tool writes the bad ones.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::{UnpackError, Unpacked, unpack_layer};
use crate::oci::Digest;

/// An archive in the making.
#[derive(Default)]
struct Tar(Vec<u8>);

impl Tar {
    fn entry(
        mut self,
        kind: u8,
        name: &str,
        change: impl FnOnce(&mut tar::Header),
        data: &[u8],
    ) -> Self {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::new(kind));
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_mode(if kind == b'5' { 0o755 } else { 0o644 });
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(1_000_000_000);
        header.set_size(data.len() as u64);
        change(&mut header);
        header.set_cksum();
        self.0.extend_from_slice(header.as_bytes());
        self.0.extend_from_slice(data);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    fn file(self, name: &str, data: &str) -> Self {
        self.entry(b'0', name, |_| {}, data.as_bytes())
    }

    fn folder(self, name: &str) -> Self {
        self.entry(b'5', name, |_| {}, b"")
    }

    fn link(self, kind: u8, name: &str, target: &str) -> Self {
        let set = |header: &mut tar::Header| {
            header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
        };
        self.entry(kind, name, set, b"")
    }

    fn symlink(self, name: &str, target: &str) -> Self {
        self.link(b'2', name, target)
    }

    /// An extended header for the next entry.
    fn pax(self, records: &[(&str, &[u8])]) -> Self {
        let mut data = Vec::new();
        for (key, value) in records {
            let rest = key.len() + value.len() + 3;
            let length = (1..1000)
                .find(|&length| length == rest + length.to_string().len())
                .unwrap();
            write!(data, "{length} {key}=").unwrap();
            data.extend_from_slice(value);
            data.push(b'\n');
        }
        self.entry(b'x', "pax", |_| {}, &data)
    }

    fn end(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 1024, 0);
        self.0
    }
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// A place for some layers.
struct Layers {
    folder: tempfile::TempDir,
    /// The nearest first.
    done: Vec<PathBuf>,
}

impl Layers {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            done: Vec::new(),
        }
    }

    fn try_add(&mut self, blob: &[u8]) -> Result<Unpacked, UnpackError> {
        let into = self.folder.path().join(self.done.len().to_string());
        fs::create_dir_all(&into).unwrap();
        let unpacked = unpack_layer(blob, &Digest::of(blob), &into, &self.done)?;
        self.done.insert(0, into);
        Ok(unpacked)
    }

    /// Unpacks a layer on the others and returns where.
    fn add(&mut self, tar: Tar) -> PathBuf {
        self.try_add(&tar.end()).unwrap();
        self.done[0].clone()
    }
}

fn unpacked(tar: Tar) -> (Layers, PathBuf) {
    let mut layers = Layers::new();
    let path = layers.add(tar);
    (layers, path)
}

fn refusal(tar: Tar) -> UnpackError {
    Layers::new().try_add(&tar.end()).unwrap_err()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn is_whiteout(path: &Path) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|metadata| metadata.file_type().is_char_device() && metadata.rdev() == 0)
}

fn is_opaque(path: &Path) -> bool {
    let mut value = [0; 8];
    rustix::fs::lgetxattr(path, "user.overlay.opaque", &mut value[..])
        .is_ok_and(|length| &value[..length] == b"y")
}

fn xattr(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 256];
    let length = rustix::fs::lgetxattr(path, name, value.as_mut_slice()).ok()?;
    value.truncate(length);
    Some(value)
}

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
