//! A disk with too little room, from none at all to enough: whole, or nothing and a word about it.

use std::path::Path;

use tempfile::TempDir;

use crate::disk::{Disk, MIB};
use crate::litter::{assert_same, groups_before};
use crate::project::Project;

const FILE: &str = r##"
prebuild a {
    from dev-base
    repo "." path=src
    file given from=given
    run #"head -c 500k /dev/zero | tr '\0' x > made; mkdir many; for n in $(seq 20); do echo $n > many/$n; done"#
}
prebuild b {
    from prebuild=a
    run #"rm -r many/1*; echo more >> given; head -c 200k /dev/zero | tr '\0' y > made"#
}
"##;

const LIST: &str = "find . -type f ! -path './src/.git/*' -print0 | sort -z | xargs -0 sha256sum; cd src; git status --porcelain; git fsck --no-progress";

fn project() -> Project {
    let project = Project::new(FILE);
    project.write("given", &"given\n".repeat(20_000));
    let words = (0..60_000_u32).map(|number| number.wrapping_mul(2_654_435_761).to_string());
    let noise = words.collect::<Vec<_>>().join("\n");
    project.write("noise", &noise);
    project.commit("noise");
    project
}

fn list(project: &Project) -> String {
    let ran = project.run(&["up", "b", "--", "sh", "-c", LIST]);
    ran.expect(0).stdout
}

/// One size: what happens is one of two things, and all is well once there is room.
struct Sweep {
    project: Project,
    expected: String,
    /// How often it failed.
    failed: usize,
}

impl Sweep {
    fn new() -> Self {
        groups_before();
        let project = project();
        let expected = list(&project);
        Self {
            project,
            expected,
            failed: 0,
        }
    }

    /// `true` if there was room enough.
    fn point(&mut self, store: &Path, what: &str, make_room: impl FnOnce()) -> bool {
        store.clone_into(&mut self.project.store);
        let ran = self.project.run(&["build", "-j2"]);
        let is_enough = ran.code() == 0;
        if !is_enough {
            let said = &ran.stderr;
            assert_eq!(ran.code(), 6, "{what}: {said}");
            assert!(said.contains("A0703"), "{what}: {said}");
            self.failed += 1;
        }
        make_room();
        // What is said to be there is whole, and the rest can be baked.
        assert_same(&list(&self.project), &self.expected, what);
        self.project.assert_no_litter();
        is_enough
    }
}

fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// behaviours 1.12
#[test]
fn too_few_bytes() {
    let mut sweep = Sweep::new();
    let folder = folder();
    let disk = Disk::ext4(folder.path(), 40 * MIB, &[], None);
    for kib in [0, 64].into_iter().chain((256..12_000).step_by(192)) {
        disk.leave_bytes(kib << 10);
        let store = disk.path(&format!("store-{kib}"));
        let is_enough = sweep.point(&store, &format!("{kib} KiB"), || disk.make_room());
        std::fs::remove_dir_all(&store).unwrap();
        if is_enough {
            println!("{kib} KiB were enough; {} times it was less", sweep.failed);
            assert!(sweep.failed > 10, "{}", sweep.failed);
            return;
        }
    }
    panic!("the disk is never large enough");
}

/// behaviours 1.12
#[test]
fn too_few_inodes() {
    let mut sweep = Sweep::new();
    let folder = folder();
    let disk = Disk::ext4(folder.path(), 40 * MIB, &["-N", "600"], None);
    for inodes in (0..30).step_by(3).chain((30..400).step_by(6)) {
        disk.leave_inodes(inodes);
        let store = disk.path(&format!("store-{inodes}"));
        let is_enough = sweep.point(&store, &format!("{inodes} inodes"), || disk.make_room());
        std::fs::remove_dir_all(&store).unwrap();
        if is_enough {
            println!(
                "{inodes} inodes were enough; {} times it was less",
                sweep.failed
            );
            assert!(sweep.failed > 10, "{}", sweep.failed);
            return;
        }
    }
    panic!("there are never enough inodes");
}
