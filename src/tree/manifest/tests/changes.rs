//! What is different from a manifest.

use super::super::{Difference, verify};
use super::*;

/// Describes [`one_of_each`], changes it, and returns what is different then, line by line.
fn after(change: impl FnOnce(&dyn Fn(&str) -> PathBuf)) -> Vec<String> {
    let place = Folder::new();
    one_of_each(place.path());
    let manifest = manifest(place.path());
    assert_eq!(verify(place.path(), &manifest).unwrap(), []);
    change(&|name| place.path().join(name));
    let differences = verify(place.path(), &manifest).unwrap();
    differences.iter().map(Difference::to_string).collect()
}

/// Changes an entry, and puts back the time of its folder.
fn quietly(folder: &Path, change: impl FnOnce()) {
    use std::os::unix::fs::MetadataExt;
    let meta = fs::metadata(folder).unwrap();
    change();
    tests::set_time(folder, meta.mtime(), meta.mtime_nsec());
}

#[test]
fn what_is_changed_is_told() {
    let lines = after(|at| {
        let time = |name: &str| tests::set_time(&at(name), 4_999_995, 123_456_789);
        fs::write(at("file"), "TEXT").unwrap();
        fs::set_permissions(at("file"), PermissionsExt::from_mode(0o751)).unwrap();
        fs::write(at("sparse"), "short").unwrap();
        time("sparse");
        tests::set_time(&at("file"), -5, 1);
        fs::set_permissions(at("folder"), PermissionsExt::from_mode(0o755)).unwrap();
        set_attribute(&at("folder"), "user.new\n", b"");
        set_attribute(&at("folder"), "user.note", b"other");
    });
    assert_eq!(
        lines,
        [
            "file has another content",
            "file had the mode 6751, and has 0751",
            "file was last changed at -5.123456789, and now at -5.000000001",
            "folder had the mode 3750, and has 0755",
            "folder has another attribute user.note",
            "folder has another attribute user.new\\n",
            "folder/again has another content",
            "folder/again had the mode 6751, and has 0751",
            "folder/again was last changed at -5.123456789, and now at -5.000000001",
            "sparse had 9437184 bytes, and has 5",
        ]
    );
}

#[test]
fn what_is_gone_and_what_is_new_is_told() {
    let lines = after(|at| {
        quietly(&at(""), || {
            fs::remove_dir_all(at("folder")).unwrap();
            fs::remove_file(at("empty")).unwrap();
            fs::create_dir_all(at("new/in")).unwrap();
            fs::write(at("new/file"), "").unwrap();
            fs::write(at("zuletzt\n"), "").unwrap();
        });
    });
    assert_eq!(
        lines,
        [
            "empty is missing",
            "folder is missing, with the 2 entries in it",
            "new was added, with the 2 entries in it",
            "zuletzt\\n was added",
        ]
    );
}

#[test]
fn what_is_something_else_is_told() {
    let lines = after(|at| {
        quietly(&at(""), || {
            for name in ["fifo", "symlink", "empty", "symlink-again"] {
                fs::remove_file(at(name)).unwrap();
            }
            fs::remove_dir_all(at("folder")).unwrap();
            fs::write(at("fifo"), "").unwrap();
            fs::create_dir(at("empty")).unwrap();
            fs::write(at("empty/inside"), "").unwrap();
            fs::write(at("folder"), "").unwrap();
            symlink("elsewhere", at("symlink")).unwrap();
            fs::hard_link(at("symlink"), at("symlink-again")).unwrap();
            tests::set_time(&at("symlink"), 2_999_995, 123_456_789);
        });
    });
    assert_eq!(
        lines,
        [
            "empty was a file, and is a folder",
            "fifo was a FIFO, and is a file",
            "folder was a folder, and is a file",
            "symlink leads elsewhere",
            "symlink-again leads elsewhere",
        ]
    );
}

#[test]
fn which_names_are_one_file_is_told() {
    let lines = after(|at| {
        quietly(&at(""), || {
            fs::remove_file(at("symlink-again")).unwrap();
            symlink("nowhere\n", at("symlink-again")).unwrap();
            tests::set_time(&at("symlink-again"), 2_999_995, 123_456_789);
        });
    });
    assert_eq!(lines, ["symlink-again shares its file with other names"]);
}

#[test]
fn owners_devices_and_the_root_are_told() {
    if !is_root() {
        return;
    }
    let place = Folder::new();
    let device = place.path().join("device");
    make(&device, FileType::CharacterDevice, 0x103);
    let manifest = manifest(place.path());
    fs::remove_file(&device).unwrap();
    make(&device, FileType::CharacterDevice, 0x104);
    std::os::unix::fs::chown(&device, Some(12), Some(34)).unwrap();
    let differences = verify(place.path(), &manifest).unwrap();
    let mut lines = differences.iter().map(Difference::to_string);
    assert!(
        lines
            .next()
            .unwrap()
            .starts_with("the layer's root was last changed at ")
    );
    assert_eq!(
        lines.next().unwrap(),
        "device was device 0x103, and is 0x104"
    );
    assert_eq!(
        lines.next().unwrap(),
        "device belonged to 0:0, and does to 12:34"
    );
    assert!(
        lines
            .next()
            .unwrap()
            .starts_with("device was last changed at ")
    );
    assert_eq!(lines.next(), None);
}
