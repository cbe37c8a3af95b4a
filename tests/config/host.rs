//! `host { path … }`: what it shows in a sandbox, and what it does to keys.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::project::{Project, Ran};

impl Project {
    /// A program of the caller's own, which says its name.
    fn install(&self, path: &str) {
        self.write_at_home(path, "#!/bin/sh\necho this is ${0##*/}\n");
        let permissions = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.home.join(path), permissions).unwrap();
    }

    fn key(&self) -> String {
        self.run(&["plan", "--json"])
            .expect(0)
            .column("key")
            .remove(0)
            .1
    }

    /// Runs a shell command in a sandbox, and returns what it prints with the home as `[home]`.
    #[track_caller]
    fn sh(&self, command: &str) -> String {
        let ran: Ran = self.run(&["up", "--", "sh", "-c", command]).expect(0);
        ran.stdout.replace(self.home.to_str().unwrap(), "[home]")
    }
}

#[test]
fn a_program_of_a_host_path_runs_in_a_step_and_in_up() {
    let project =
        Project::of("from dev-base\nrun \"hello > said; command -v hello tool > places\"");
    project.install("tools/hello");
    project.install("kit/bin/tool");
    project.configure("host { path \"~/tools\" \"~/kit\"; }");
    project.run(&["build"]).expect(0);
    assert_eq!(project.sh("cat said"), "this is hello\n");
    assert_eq!(
        project.sh("cat places"),
        "[home]/tools/hello\n[home]/kit/bin/tool\n"
    );
    assert_eq!(project.sh("hello; tool"), "this is hello\nthis is tool\n");
    let path = project.sh("echo $PATH");
    assert!(
        path.ends_with(":/usr/local/go/bin:[home]/tools:[home]/kit/bin\n"),
        "{path}"
    );
}

#[test]
fn a_host_path_is_read_only_and_its_home_is_empty_and_root_s() {
    let project = Project::of("from host\nrun \"true\"");
    project.install("deep/down/tools/hello");
    project.write_at_home("deep/secret", "canary");
    project.write_at_home("secret", "canary");
    project.configure("host { path \"~/deep/down/tools\"; }");
    let home = project.home.to_str().unwrap();
    let script =
        format!("ls -A {home} {home}/deep; stat -c '%a %U %F' {home} {home}/deep {home}/deep/down");
    let folder = "755 root directory\n";
    let expected = format!("[home]:\ndeep\n\n[home]/deep:\ndown\n{}", folder.repeat(3));
    assert_eq!(project.sh(&script), expected);
    let script = format!(
        "cd {home}; touch deep/x 2>&1; touch deep/down/tools/x 2>&1; grep tools /proc/self/mountinfo | cut -d' ' -f6"
    );
    let said = project.sh(&script);
    assert!(
        said.contains("touch: cannot touch 'deep/x': Permission denied"),
        "{said}"
    );
    assert!(
        said.contains("'deep/down/tools/x': Read-only file system"),
        "{said}"
    );
    assert!(
        said.lines().last().unwrap().starts_with("ro,nosuid,nodev"),
        "{said}"
    );
}

#[test]
fn root_cannot_write_to_a_host_path_either() {
    let step = "hello; if echo x >> $(command -v hello); then exit 1; fi; if mount -o remount,bind,rw $(dirname $(command -v hello)); then exit 1; fi";
    let project = Project::of(&format!("from host\nrun \"{step}\" as=root"));
    project.install("tools/hello");
    project.configure("host { path \"~/tools\"; }");
    project.run(&["build"]).expect(0);
    let program = fs::read_to_string(project.home.join("tools/hello")).unwrap();
    assert!(!program.ends_with("x\n"));
}

#[test]
fn a_link_is_resolved_and_both_names_work() {
    let project = Project::of("from host\nrun \"true\"");
    project.install("versions/3/bin/hello");
    symlink("hello", project.home.join("versions/3/bin/hi")).unwrap();
    symlink("versions/3", project.home.join("current")).unwrap();
    symlink(project.home.join("versions"), project.home.join("all")).unwrap();
    project.configure("host { path \"~/current\" \"~/all/3/bin\"; }");
    let home = project.home.to_str().unwrap();
    let script = format!(
        "readlink {home}/current; command -v hi; hi; {home}/versions/3/bin/hello; {home}/all/3/bin/hello; ls {home}/all {home}/versions"
    );
    let expected = "[home]/versions/3\n[home]/current/bin/hi\nthis is hi\nthis is hello\nthis is hello\n[home]/all:\n3\n\n[home]/versions:\n3\n";
    assert_eq!(project.sh(&script), expected);
}

#[test]
fn a_path_may_be_one_file_or_lie_in_another_path() {
    let project = Project::of("from host\nrun \"true\"");
    project.install("kit/bin/hello");
    project.write_at_home("kit/share/readme", "text\n");
    project.write_at_home("settings", "one\n");
    project.configure("host { path \"~/kit/bin\" \"~/kit\" \"~/settings\"; }");
    let home = project.home.to_str().unwrap();
    let script = format!(
        "hello; cat {home}/kit/share/readme {home}/settings; ls {home}; echo $PATH | tr : '\\n' | grep -c {home}"
    );
    let expected = "this is hello\ntext\none\nkit\nsettings\n1\n";
    assert_eq!(project.sh(&script), expected);
}

#[test]
fn what_a_host_path_holds_is_in_the_key() {
    let project = Project::of("from host\nrun \"true\"");
    project.install("tools/sub/hello");
    fs::create_dir(project.home.join("empty")).unwrap();
    let without = project.key();
    project.configure("host { path \"~/tools\"; }");
    let first = project.key();
    assert_ne!(first, without);
    assert_eq!(project.key(), first);
    let mut keys = vec![without.clone(), first.clone()];
    let mut is_new = |key: String| {
        assert!(!keys.contains(&key));
        keys.push(key);
    };
    // Replaced as installers do it: a new file under the old name.
    project.install("tools/sub/hello.new");
    let old = project.home.join("tools/sub/hello");
    fs::rename(project.home.join("tools/sub/hello.new"), &old).unwrap();
    let replaced = project.key();
    is_new(replaced.clone());
    assert_eq!(project.key(), replaced);
    symlink("sub/hello", project.home.join("tools/hello")).unwrap();
    is_new(project.key());
    fs::remove_file(project.home.join("tools/hello")).unwrap();
    assert_eq!(project.key(), replaced);
    // The set of paths and its order, also where they hold nothing.
    project.configure("host { path \"~/tools\" \"~/empty\"; }");
    is_new(project.key());
    project.configure("host { path \"~/empty\"; path \"~/tools\"; }");
    is_new(project.key());
    // The same under another name.
    fs::create_dir(project.home.join("hollow")).unwrap();
    project.configure("host { path \"~/empty\"; }");
    is_new(project.key());
    project.configure("host { path \"~/hollow\"; }");
    is_new(project.key());
    project.configure("");
    assert_eq!(project.key(), without);
}

/// Without the memory of another store, and so by a walk of its own.
#[test]
fn a_mode_or_a_time_below_a_host_path_is_in_the_key() {
    let project = Project::of("from host\nrun \"true\"");
    project.install("tools/hello");
    project.configure("host { path \"~/tools\"; }");
    let fresh = || {
        fs::remove_file(project.store.join("host.json")).ok();
        project.key()
    };
    let first = fresh();
    assert_eq!(fresh(), first);
    let file = project.home.join("tools/hello");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o700)).unwrap();
    let other_mode = fresh();
    assert_ne!(other_mode, first);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(fresh(), first);
    let time = std::time::UNIX_EPOCH;
    fs::File::options()
        .write(true)
        .open(&file)
        .unwrap()
        .set_modified(time)
        .unwrap();
    assert_ne!(fresh(), first);
}

#[test]
fn what_is_missing_names_its_line_and_matters_to_image_host_alone() {
    let project = Project::of("from host");
    project.configure("store \"~/s\"\nhost { path \"~/gone\"; }");
    let ran = project.plainly(&["plan"], &[]).expect(2);
    let expected = "A0501

  × cannot find ~/gone
   ╭─[[home]/.config/atelier/config.kdl:2:13]
 1 │ store \"~/s\"
 2 │ host { path \"~/gone\"; }
   ·             ────┬───
   ·                 ╰── No such file or directory (os error 2)
   ╰────
  help: delete it, or install what was there

";
    assert_eq!(ran.stderr, expected);
    project.plainly(&["config"], &[]).expect(2);
    project.plainly(&["snapshots"], &[]).expect(0);
    project.write("prebuild.kdl", "from \"oci:./image\"");
    let ran = project.plainly(&["plan"], &[]).expect(5);
    assert!(
        ran.stderr.contains("cannot resolve oci:./image"),
        "{}",
        ran.stderr
    );
}

#[test]
fn settings_show_each_path_and_its_line() {
    let project = Project::of("from host");
    project.install("a/bin/x");
    project.install("b/x");
    project.configure("host { path \"~/a\"; }\nhost {\n    path \"~/b/\"\n}");
    let place = "[home]/.config/atelier/config.kdl";
    let expected = [
        ("[home]/a".to_owned(), format!("{place}:1")),
        ("[home]/b".to_owned(), format!("{place}:3")),
    ];
    assert_eq!(project.settings("host path", &[], &[]), expected);
}
