//! Folders given as a store: nobody else may look into one, and nothing of somebody else's becomes one.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use crate::project::{Project, pairs};

const FILE: &str = "from dev-base\nrun \"cp /bin/sh sh; chmod 4755 sh\" as=root";

/// Of nobody in particular.
const STRANGER: u32 = 12345;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn can_look_into(path: &Path) -> bool {
    let user = STRANGER.to_string();
    Command::new("setpriv")
        .args(["--reuid", &user, "--regid", &user, "--clear-groups", "ls"])
        .arg(path.join("l"))
        .output()
        .unwrap()
        .status
        .success()
}

#[test]
fn a_folder_that_becomes_a_store_is_closed_to_others() {
    // Below nobody's home, so that its own mode decides.
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    set_mode(folder.path(), 0o755);
    let store = folder.path().join("store");
    for first in [0o755, 0o777, 0o711, 0o770] {
        fs::create_dir(&store).unwrap();
        set_mode(&store, first);
        let project = Project::new(FILE).with_store(&store);
        project.run(&["build"]).expect(0);
        assert_eq!(mode(&store), 0o700, "{first:o}");
        assert!(!can_look_into(&store), "{first:o}");
        project.assert_nothing_left();
        fs::remove_dir_all(&store).unwrap();
    }
}

#[test]
fn a_new_store_is_closed_to_others() {
    let project = Project::new(FILE);
    project.run(&["build"]).expect(0);
    assert_eq!(mode(&project.store), 0o700);
}

#[test]
fn a_store_that_was_opened_is_closed_again() {
    let project = Project::new(FILE);
    project.run(&["build"]).expect(0);
    for words in [
        &["build"][..],
        &["plan"],
        &["snapshots"],
        &["up", "--", "true"],
    ] {
        set_mode(&project.store, 0o755);
        project.run(words).expect(0);
        assert_eq!(mode(&project.store), 0o700, "{words:?}");
    }
    assert_eq!(project.plan(&[]), pairs(&[("default", "reuse")]));
}

#[test]
fn a_folder_of_somebody_else_becomes_no_store() {
    let project = Project::new(FILE);
    fs::create_dir(&project.store).unwrap();
    set_mode(&project.store, 0o777);
    chown(&project.store, Some(STRANGER), Some(STRANGER)).unwrap();
    let ran = project.run(&["build"]).expect(6);
    assert!(
        ran.stderr.contains("it belongs to user 12345"),
        "{}",
        ran.stderr
    );
    assert_eq!(fs::read_dir(&project.store).unwrap().count(), 0);
    assert_eq!(mode(&project.store), 0o777);
}

#[test]
fn a_folder_that_is_refused_keeps_its_mode() {
    let project = Project::new(FILE);
    fs::create_dir(&project.store).unwrap();
    fs::write(project.store.join("thesis"), "years of work").unwrap();
    set_mode(&project.store, 0o1777);
    let ran = project.run(&["build"]).expect(6);
    assert!(
        ran.stderr.contains("the folder is not empty, and no store"),
        "{}",
        ran.stderr
    );
    assert_eq!(mode(&project.store), 0o1777);
}

#[test]
fn a_store_s_path_must_be_text() {
    use std::os::unix::ffi::OsStringExt;
    let project = Project::new(FILE);
    let odd = std::ffi::OsString::from_vec(b"store-\xff".to_vec());
    let odd = project.store.with_file_name(odd);
    for words in [&["build"][..], &["plan"], &["up", "--", "true"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
        command.args(&words[..1]).arg("--store").arg(&odd);
        command.args(&words[1..]).current_dir(&project.root);
        let ran = project.run_command(command).expect(2);
        assert!(ran.stderr.contains("is not UTF-8"), "{}", ran.stderr);
        assert!(!odd.exists());
    }
}
