//! Machines and stores that do not play along: a typed error, nothing published, and the next run works.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::project::{Project, Ran, pairs};

const GOOD: &str = "from dev-base\nrun \"echo fine > f\"";

/// A file system of its own; dropped, it is gone.
struct Disk(PathBuf);

impl Disk {
    /// Small, and as real as disks are: overlays do not work on every tmpfs.
    fn small(folder: &Path) -> Self {
        let image = folder.join("image");
        fs::File::create(&image).unwrap().set_len(32 << 20).unwrap();
        call("mkfs.ext4", &["-q", image.to_str().unwrap()]);
        Self::mount(folder, &["-o", "loop", image.to_str().unwrap()])
    }

    fn read_only(folder: &Path) -> Self {
        Self::mount(folder, &["-t", "tmpfs", "-o", "ro", "tmpfs"])
    }

    fn mount(folder: &Path, what: &[&str]) -> Self {
        let target = folder.join("disk");
        fs::create_dir(&target).unwrap();
        call("mount", &[what, &[target.to_str().unwrap()]].concat());
        Self(target)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        Command::new("umount").arg(&self.0).status().ok();
    }
}

fn call(program: &str, arguments: &[&str]) {
    let status = Command::new(program).args(arguments).status();
    assert!(status.expect(program).success(), "{program} {arguments:?}");
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Runs out of room, and bakes once there is less to bake.
#[track_caller]
fn runs_out_of_room(prepare: impl FnOnce(&Project)) -> Ran {
    let folder = folder();
    let disk = Disk::small(folder.path());
    let project = Project::new(GOOD).with_store(&disk.0.join("store"));
    prepare(&project);
    project.commit("large");
    let ran = project.run(&["build"]).expect(6);
    assert!(ran.stderr.contains("A0703"), "{}", ran.stderr);
    assert_eq!(project.snapshots(), [] as [serde_json::Value; 0]);
    project.assert_nothing_left();
    project.write("prebuild.kdl", GOOD);
    project.run(&["build"]).expect(0);
    project.assert_nothing_left();
    ran
}

/// behaviours 1.12
#[test]
fn a_step_that_fills_the_disk() {
    let ran = runs_out_of_room(|project| {
        project.write(
            "prebuild.kdl",
            "from dev-base\nrun \"head -c 99M /dev/zero > big\"",
        );
    });
    assert!(
        ran.stderr.contains("No space left on device"),
        "{}",
        ran.stderr
    );
}

#[test]
fn files_that_fill_the_disk() {
    runs_out_of_room(|project| {
        project.write("big", &"x".repeat(15 << 20));
        project.write(
            "prebuild.kdl",
            "from dev-base\nfile one from=big\nfile two from=big\nfile three from=big",
        );
    });
}

#[test]
fn a_repository_that_fills_the_disk() {
    runs_out_of_room(|project| {
        let mut noise = vec![0; 40 << 20];
        std::io::Read::read_exact(&mut fs::File::open("/dev/urandom").unwrap(), &mut noise)
            .unwrap();
        fs::write(project.root.join("noise"), noise).unwrap();
        project.write("prebuild.kdl", "from dev-base\nrepo \".\" path=src");
    });
}

#[test]
fn a_store_that_cannot_be_written_to() {
    let folder = folder();
    let disk = Disk::read_only(folder.path());
    let project = Project::new(GOOD).with_store(&disk.0.join("store"));
    let ran = project.run(&["build"]).expect(6);
    let expected = "error[A0702]: cannot use the store [store]: Read-only file system (os error 30)\n  help: choose a folder you may write to with --store DIR\n";
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", expected));
}

#[test]
fn a_store_below_a_file() {
    let folder = folder();
    fs::write(folder.path().join("file"), "").unwrap();
    let project = Project::new(GOOD).with_store(&folder.path().join("file/store"));
    let ran = project.run(&["build"]).expect(6);
    assert!(
        ran.stderr
            .contains("cannot use the store [store]: Not a directory"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_store_of_another_format() {
    let project = Project::new(GOOD);
    project.run(&["build"]).expect(0);
    let format = project.store.join("format");
    let ours = fs::read_to_string(&format).unwrap();
    fs::write(&format, "atelier store 99\n").unwrap();
    let expected = "error[A0702]: the store [store] has another format than this version's\n  help: use the version that made it, or another folder with --store DIR\n";
    for words in [
        &["build"][..],
        &["plan"],
        &["up", "--", "true"],
        &["snapshots"],
    ] {
        let ran = project.run(words).expect(6);
        assert_eq!(
            (ran.stdout.as_str(), ran.stderr.as_str()),
            ("", expected),
            "{words:?}"
        );
    }
    fs::write(&format, ours).unwrap();
    assert_eq!(project.build(&[]), pairs(&[("default", "reused")]));
}

#[test]
fn a_folder_with_other_things_in_it_is_no_store() {
    let folder = folder();
    fs::write(folder.path().join("thesis"), "years of work").unwrap();
    let project = Project::new(GOOD).with_store(folder.path());
    let ran = project.run(&["build"]).expect(6);
    assert!(
        ran.stderr.contains("the folder is not empty, and no store"),
        "{}",
        ran.stderr
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// behaviours 2.14: a record without its data is a miss that says so, and is baked again.
#[track_caller]
fn is_baked_again(damage: impl FnOnce(&Project, &str)) {
    let file = "prebuild a { from dev-base; run \"echo a > a\"; }\nprebuild b { from prebuild=a; run \"cat a > b\"; }\nprebuild c { from prebuild=b; run \"cat b > c\"; }";
    let project = Project::new(file);
    project.run(&["build"]).expect(0);
    let key = project.snapshots()[1]["key"].as_str().unwrap().to_owned();
    damage(&project, &key);
    let plan = project.run(&["plan", "--json"]).expect(0);
    let lost: Vec<_> = plan
        .column("action")
        .into_iter()
        .filter(|(_, action)| action == "bake")
        .collect();
    assert!(lost.iter().any(|(name, _)| name == "b"), "{lost:?}");
    assert!(!lost.iter().any(|(name, _)| name == "a"), "{lost:?}");
    for node in plan.json()["nodes"].as_array().unwrap() {
        if node["action"] == "bake" {
            assert_eq!(node["reason"]["kind"], "snapshot-lost", "{node}");
        }
    }
    let baked: Vec<_> = project
        .build(&[])
        .into_iter()
        .filter(|(_, result)| result == "baked")
        .collect();
    assert_eq!(baked.len(), lost.len(), "{baked:?}");
    let ran = project.run(&["up", "c", "--", "cat", "c"]).expect(0);
    assert_eq!(ran.stdout, "a\n");
}

fn record(project: &Project, key: &str) -> PathBuf {
    project.store.join(format!("s/{key}.json"))
}

#[test]
fn a_record_that_was_cut_short() {
    is_baked_again(|project, key| {
        let text = fs::read(record(project, key)).unwrap();
        fs::write(record(project, key), &text[..text.len() / 2]).unwrap();
    });
}

#[test]
fn an_empty_record() {
    is_baked_again(|project, key| fs::write(record(project, key), "").unwrap());
}

#[test]
fn a_record_of_another_key() {
    is_baked_again(|project, key| {
        let text = fs::read_to_string(record(project, key)).unwrap();
        fs::write(record(project, key), text.replace(key, &"0".repeat(64))).unwrap();
    });
}

#[test]
fn a_layer_that_is_gone() {
    is_baked_again(|project, key| {
        let text: serde_json::Value =
            serde_json::from_slice(&fs::read(record(project, key)).unwrap()).unwrap();
        let layer = text["layers"].as_array().unwrap().last().unwrap();
        let layer = layer["name"].as_str().unwrap();
        fs::remove_dir_all(project.store.join(layer)).unwrap();
    });
}

#[test]
fn a_machine_that_allows_no_namespaces() {
    let project = Project::new(GOOD);
    let build = project.atelier(&["build"]);
    let mut without = Command::new("setpriv");
    without.args(["--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"]);
    without
        .arg(build.get_program())
        .args(build.get_args())
        .current_dir(&project.root);
    let ran = project.run_command(without).expect(6);
    assert!(ran.stderr.contains("A0702"), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("cannot create a mount namespace: Operation not permitted"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr
            .contains("`atelier doctor` says what this machine does not allow"),
        "{}",
        ran.stderr
    );
    project.assert_nothing_left();
    project.run(&["build"]).expect(0);
}

#[test]
fn a_user_with_one_id_is_refused_root_steps_and_nothing_else() {
    // Below nobody's home, so that the user may read it.
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let program = folder.path().join("atelier");
    fs::copy(env!("CARGO_BIN_EXE_atelier"), &program).unwrap();
    let build = |file: &str| {
        fs::write(folder.path().join("prebuild.kdl"), file).unwrap();
        let output = Command::new(&program)
            .args(["build", "prebuild.kdl", "--store", "store"])
            .current_dir(folder.path())
            .env("HOME", folder.path())
            .uid(12_345)
            .gid(12_345)
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, stderr) = build("from host\nrun \"true\"\nrun \"id\" as=root\n");
    assert_eq!(code, Some(6), "{stderr}");
    assert!(
        stderr.contains("A0702")
            && stderr.contains("step 2 runs as root, for which you have no range of user ids"),
        "{stderr}"
    );
    assert_eq!(build(GOOD).0, Some(0));
}
