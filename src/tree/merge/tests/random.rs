//! Random stacks: each layer is what random changes through a real overlay have left in its upper folder.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;

/// What to do, where, with which other place, and a number for what else it needs.
type Change = (u8, u8, u8, u16);

/// Few places, so that changes meet.
fn place_of(index: u8) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    const NAMES: [&[u8]; 4] = [b"a", b"b", b"odd\n name", b"\xff\xfe"];
    let name = |digit: usize| Path::new(std::ffi::OsStr::from_bytes(NAMES[digit % 4])).to_owned();
    let index = usize::from(index);
    match index % 8 {
        0..3 => name(index / 8),
        3..6 => name(index / 8).join(name(index / 32)),
        _ => name(index / 8 % 2)
            .join(name(index / 16 % 2))
            .join(name(index / 32)),
    }
}

/// A FIFO would wait for a reader; a device there is none, by its number and by how this is mounted.
fn write(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    options.custom_flags(libc::O_NONBLOCK).open(path)
}

/// Makes a change below `root`, if it can be made: where it cannot, that is no change.
fn change(root: &Path, (what, place, other, number): Change) -> std::io::Result<()> {
    let path = root.join(place_of(place));
    let other = root.join(place_of(other));
    let mode = Mode::from_raw_mode(0o640);
    let special = |kind, device| Ok(rustix::fs::mknodat(CWD, &path, kind, mode, device)?);
    let attribute = |name: &str, value: &[u8]| {
        Ok(rustix::fs::lsetxattr(
            &path,
            name,
            value,
            rustix::fs::XattrFlags::empty(),
        )?)
    };
    match what % 20 {
        0..3 => write(&path)?.write_all_at(number.to_string().as_bytes(), 0),
        3 => fs::create_dir_all(&path),
        4 => fs::create_dir(&path),
        5 if path.is_dir() && !path.is_symlink() => fs::remove_dir_all(&path),
        5 => fs::remove_file(&path),
        6 | 7 => fs::rename(&path, &other),
        8 | 9 => fs::hard_link(&path, &other),
        10 => symlink(number.to_string(), &path),
        11 => fs::set_permissions(&path, PermissionsExt::from_mode(u32::from(number) & 0o7777)),
        12 => std::os::unix::fs::lchown(&path, Some(number.into()), Some(0)),
        13 => attribute("user.note", &number.to_be_bytes()),
        14 => attribute(
            ["user.overlay.opaque", "trusted.note", "user.overlay.x"][usize::from(number % 3)],
            b"y",
        ),
        15 => special(
            [FileType::Fifo, FileType::Socket][usize::from(number % 2)],
            0,
        ),
        16 => special(FileType::CharacterDevice, u64::from(number % 9)),
        17 => {
            let file = write(&path)?;
            file.write_all_at(b"data", u64::from(number) << 8)?;
            file.set_len(u64::from(number) << 10)
        }
        // A folder in place of what was there: opaque, if that was a folder of a layer below.
        18 => {
            drop(fs::remove_dir_all(&path));
            fs::create_dir_all(&path)?;
            fs::write(path.join("new"), "new")
        }
        _ => {
            set_time(root, i64::from(number) - 30_000, number.into());
            Ok(())
        }
    }
}

/// Makes layers in the current folder, and returns their names, the lowest first.
fn stack(changes: &[Vec<Change>]) -> Vec<String> {
    fs::create_dir("merged").unwrap();
    let mut layers: Vec<String> = Vec::new();
    for changes in changes {
        let upper = layers.len().to_string();
        for folder in [&*upper, "work", "empty"] {
            fs::create_dir_all(folder).unwrap();
        }
        if let Some(below) = layers.last() {
            let below = fs::metadata(below).unwrap();
            chown(&upper, Some(below.uid()), Some(below.gid())).unwrap();
            fs::set_permissions(&upper, below.permissions()).unwrap();
        }
        let mut lower: Vec<&str> = layers.iter().rev().map(String::as_str).collect();
        lower.push("empty");
        let options = format!(
            "userxattr,volatile,lowerdir={},upperdir={upper},workdir=work",
            lower.join(":")
        );
        let options = std::ffi::CString::new(options).unwrap();
        let flags = MountFlags::NODEV;
        mount("overlay", "merged", "overlay", flags, options.as_c_str()).unwrap();
        for &each in changes {
            drop(change(Path::new("merged"), each));
        }
        // At once, though another test may be forking, with all that is open here.
        unmount("merged", UnmountFlags::DETACH).unwrap();
        fs::remove_dir_all("work").unwrap();
        layers.push(upper);
    }
    layers
}

/// Checks `cases` stacks of `depth` layers: the lowest of many changes, the others of some.
fn check_stacks(depth: usize, cases: u32) {
    if !is_root() {
        return;
    }
    let changes = |count| prop::collection::vec(any::<Change>(), count);
    let stacks = (
        changes(30..60),
        prop::collection::vec(changes(1..20), depth - 1),
    );
    in_a_namespace(|| {
        let mut runner = TestRunner::new(Config {
            cases,
            failure_persistence: None,
            max_shrink_iters: 300,
            ..Config::default()
        });
        let result = runner.run(&stacks, |(lowest, others)| {
            let place = Place::new();
            std::env::set_current_dir(place.path()).unwrap();
            check(&stack(&[vec![lowest], others].concat()));
            std::env::set_current_dir("/").unwrap();
            Ok(())
        });
        result.unwrap();
    });
}

/// behaviours 1.20
#[test]
fn one_layer_is_merged_exactly() {
    check_stacks(1, 12);
}

/// behaviours 1.20
#[test]
fn five_layers_are_merged_exactly() {
    check_stacks(5, 24);
}

/// behaviours 1.20
#[test]
fn seventy_layers_are_merged_exactly() {
    check_stacks(70, 3);
}
