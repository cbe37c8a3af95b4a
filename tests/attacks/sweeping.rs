//! What others left in a store costs room for a while, and no build.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::processes::wait_until;
use crate::project::Project;
use crate::wrapped::started_by;

/// As killed bakes leave them.
fn abandon(store: &Path, count: usize) {
    for number in 0..count {
        let folder = store.join(format!("w/dead{number}"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("lock"), "").unwrap();
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[test]
fn builds_that_start_together_after_a_crash_all_succeed() {
    let project = Project::new("from dev-base\nrun \"echo 0\"");
    project.run(&["build"]).expect(0);
    for round in 0..3 {
        abandon(&project.store, 300);
        let running: Vec<_> = (0..4)
            .map(|number| {
                let file = format!("f{round}{number}.kdl");
                let text = format!("from dev-base\nrun \"echo {round} {number}\"");
                project.write(&file, &text);
                project.start(&["build", &file])
            })
            .collect();
        for running in running {
            let ran = running.wait().expect(0);
            assert!(!ran.stderr.contains("sweep"), "{}", ran.stderr);
        }
        project.assert_nothing_left();
    }
}

#[test]
fn a_store_that_cannot_be_swept_is_built_in() {
    let project = Project::new("from dev-base\nrun \"echo 0\"");
    project.run(&["build"]).expect(0);
    project.assert_nothing_left();
    abandon(&project.store, 1);
    fs::remove_dir(project.store.join("trash")).unwrap();
    fs::write(project.store.join("trash"), "").unwrap();
    let ran = project.run(&["build", "--force", "default"]).expect(0);
    assert!(
        ran.stderr.contains("cannot sweep the store"),
        "{}",
        ran.stderr
    );
}

/// Deeper than the limit of open files, and than any path can be long.
#[test]
fn folders_of_any_depth_are_deleted() {
    let deep = "import os\nfor _ in range(6000): os.mkdir('d'); os.chdir('d')";
    let project = Project::empty();
    project.write("deep.py", deep);
    let file = "from dev-base\nfile deep.py from=deep.py\nrun \"python3 deep.py; exit 1\"";
    project.write("prebuild.kdl", file);
    let limited = ["prlimit", "--nofile=256", "--"];
    let build = started_by(&limited, &project.atelier(&["build"]));
    project.run_command(build).expect(1);
    project.assert_nothing_left();
    assert_eq!(entries(&project.store.join("trash")), [] as [PathBuf; 0]);
}

struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        Command::new("umount").arg(&self.0).status().ok();
    }
}

#[test]
fn what_cannot_be_deleted_keeps_nothing_else() {
    let project = Project::new("from dev-base\nrun \"echo 0\"");
    project.run(&["build"]).expect(0);
    wait_until("the trash to be emptied", || project.processes().is_empty());
    let trash = project.store.join("trash");
    // Looked at before and after it, in whichever order.
    for number in 0..50 {
        fs::create_dir_all(trash.join(format!("a{number}/b"))).unwrap();
        fs::write(trash.join(format!("a{number}/b/c")), "").unwrap();
    }
    let busy = trash.join("busy");
    fs::create_dir(&busy).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "tmpfs"])
        .arg(&busy)
        .status();
    assert!(mounted.unwrap().success());
    let mounted = Mounted(busy.clone());
    project.run(&["build", "--force", "default"]).expect(0);
    wait_until("the rest to be deleted", || {
        entries(&trash) == [busy.clone()]
    });
    drop(mounted);
    wait_until("the trash to be given up", || {
        project.processes().is_empty()
    });
    project.run(&["build", "--force", "default"]).expect(0);
    wait_until("all to be deleted", || entries(&trash).is_empty());
}

#[test]
fn a_sandbox_of_a_snapshot_that_is_there_sweeps_too() {
    let project = Project::new("from dev-base");
    project.run(&["build"]).expect(0);
    abandon(&project.store, 2);
    project.run(&["up", "--", "true"]).expect(0);
    project.assert_nothing_left();
}
