//! Where each value comes from, and which of several holds.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::project::{Project, pairs};

#[test]
fn without_a_file_there_are_defaults() {
    let project = Project::of("from host");
    for (setting, value) in [
        ("store", "[home]/.local/share/atelier"),
        ("backend", "local"),
        ("alias", "host"),
    ] {
        assert_eq!(
            project.settings(setting, &[], &[]),
            pairs(&[(value, "default")])
        );
    }
}

#[test]
fn the_nearest_of_flag_variable_and_file_places_the_store() {
    let project = Project::of("from host");
    project.configure("\nstore \"~/there\"\n");
    let file = ("[home]/there", "[home]/.config/atelier/config.kdl:2");
    assert_eq!(project.settings("store", &[], &[]), pairs(&[file]));
    let variable = [("ATELIER_STORE", "/variable")];
    assert_eq!(
        project.settings("store", &[], &variable),
        pairs(&[("/variable", "environment")])
    );
    assert_eq!(
        project.settings("store", &["--store", "/flag"], &variable),
        pairs(&[("/flag", "flag")])
    );
    let empty = [("ATELIER_STORE", "")];
    assert_eq!(project.settings("store", &[], &empty), pairs(&[file]));
}

#[test]
fn the_store_of_the_file_is_used() {
    let project = Project::of("from host");
    project.configure("store \"~/there\"");
    project.plainly(&["build"], &[]).expect(0);
    assert!(project.home.join("there/format").is_file());
    assert!(!project.home.join(".local/share/atelier").exists());
    let ran = project.plainly(&["snapshots", "--json"], &[]).expect(0);
    assert_eq!(ran.json()["snapshots"].as_array().unwrap().len(), 1);
}

#[test]
fn the_project_s_file_goes_before_the_caller_s() {
    let project = Project::of("from host");
    project.configure("alias mine \"oci:/mine\"\nalias dev-base \"oci:~/caller\"\nbackend local");
    project.share("// ours\nalias dev-base \"oci:../image\"\nalias ours \"oci-archive:ours.tar\"");
    let expected = [
        ("oci:[project]/image", "[project]/.atelier/config.kdl:2"),
        ("oci:/mine", "[home]/.config/atelier/config.kdl:1"),
        (
            "oci-archive:[project]/.atelier/ours.tar",
            "[project]/.atelier/config.kdl:3",
        ),
    ];
    assert_eq!(project.settings("alias", &[], &[]), pairs(&expected));
    let backend = [("local", "[home]/.config/atelier/config.kdl:3")];
    assert_eq!(project.settings("backend", &[], &[]), pairs(&backend));
}

#[test]
fn the_caller_s_folder_is_the_one_of_xdg_and_may_hold_a_link() {
    let project = Project::of("from host");
    project.configure("store /home-s");
    project.write_at_home("dotfiles/atelier.kdl", "store \"/linked\"");
    let elsewhere = project.home.join("elsewhere");
    std::fs::create_dir_all(elsewhere.join("atelier")).unwrap();
    symlink(
        "../../dotfiles/atelier.kdl",
        elsewhere.join("atelier/config.kdl"),
    )
    .unwrap();
    let variables = [("XDG_CONFIG_HOME", elsewhere.to_str().unwrap())];
    let expected = [("/linked", "[home]/elsewhere/atelier/config.kdl:1")];
    assert_eq!(project.settings("store", &[], &variables), pairs(&expected));
}

#[test]
fn the_settings_are_a_table_for_people() {
    let project = Project::of("from host");
    project.share("alias dev-base \"oci:../image\"");
    let ran = project
        .plainly(&["config"], &[("ATELIER_STORE", "/s")])
        .expect(0);
    let root = project.root.display();
    let lines: Vec<Vec<&str>> = ran
        .stdout
        .lines()
        .map(|line| {
            line.split("  ")
                .map(str::trim)
                .filter(|word| !word.is_empty())
                .collect()
        })
        .collect();
    let image = format!("oci:{root}/image");
    let place = format!("{root}/.atelier/config.kdl:1");
    assert_eq!(
        lines,
        [
            vec!["SETTING", "VALUE", "FROM"],
            vec!["backend", "local", "default"],
            vec!["store", "/s", "ATELIER_STORE"],
            vec!["alias dev-base", &image, &place],
        ]
    );
}

/// As after `su` without a login: the home is the other user's.
#[test]
fn a_home_that_may_not_be_entered_has_no_configuration() {
    let project = Project::of("from host");
    project.configure("store \"/configured\"");
    // Someone who may not enter, run from where they may.
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("atelier");
    fs::copy(env!("CARGO_BIN_EXE_atelier"), &program).unwrap();
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.path(), open).unwrap();
    fs::set_permissions(&project.home, fs::Permissions::from_mode(0o700)).unwrap();
    let mut command = project.command("setpriv");
    command
        .args(["--reuid=12345", "--regid=12345", "--clear-groups"])
        .arg(&program)
        .arg("config")
        .current_dir(folder.path());
    let ran = project.run_command(command).expect(0);
    assert!(!ran.stdout.contains("configured"), "{}", ran.stdout);
    assert!(ran.stdout.contains("atelier  default"), "{}", ran.stdout);
}

/// A command that needs no project asks nothing of the project's file.
#[test]
fn a_project_s_faulty_file_does_not_hide_the_store() {
    let project = Project::of("from host");
    project.share("stroe x");
    project.plainly(&["snapshots"], &[]).expect(0);
    project.plainly(&["plan"], &[]).expect(2);
    project.plainly(&["config"], &[]).expect(2);
}
