//! What a configuration may not say: each with its code, its place and the way out.

use crate::project::Project;

/// Fails unless a caller's file of `text` is refused with `code`, pointing at `place` and saying all of `words`.
#[track_caller]
pub(crate) fn refused(text: &str, code: &str, place: &str, words: &[&str]) {
    let project = Project::of("from host");
    project.configure(text);
    is_refused(
        &project,
        "[home]/.config/atelier/config.kdl",
        code,
        place,
        words,
    );
}

/// The same for the project's file.
#[track_caller]
pub(crate) fn refused_in_project(text: &str, code: &str, place: &str, words: &[&str]) {
    let project = Project::of("from host");
    project.share(text);
    is_refused(
        &project,
        "[project]/.atelier/config.kdl",
        code,
        place,
        words,
    );
}

#[track_caller]
fn is_refused(project: &Project, file: &str, code: &str, place: &str, words: &[&str]) {
    for command in ["config", "plan"] {
        let ran = project.plainly(&[command], &[]).expect(2);
        let place = format!("[{file}:{place}]");
        for expected in [&code, &place.as_str()].into_iter().chain(words) {
            assert!(ran.stderr.contains(expected), "{expected}: {}", ran.stderr);
        }
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn it_looks_like_an_error_in_a_prebuild() {
    let project = Project::of("from host");
    project.share("// ours\nstroe \"/x\"");
    let ran = project.plainly(&["plan"], &[]).expect(2);
    let expected = "A0201

  × no setting `stroe`
   ╭─[[project]/.atelier/config.kdl:2:1]
 1 │ // ours
 2 │ stroe \"/x\"
   · ──┬──
   ·   ╰── unknown
   ╰────
  help: did you mean `store`?

";
    assert_eq!(ran.stderr, expected);
}

#[test]
fn what_is_no_setting() {
    refused("alia a b", "A0201", "1:1", &["did you mean `alias`?"]);
    refused(
        "editor vim",
        "A0201",
        "1:1",
        &["here can stand: alias, backend, git, host, kubernetes, registry, store"],
    );
}

#[test]
fn what_is_not_kdl() {
    refused("store", "A0203", "1:1", &["written: store"]);
    refused("store {", "A0105", "1:7", &["never closed"]);
    refused("store true", "A0106", "1:7", &[]);
    refused("alias a 1.50", "A0112", "1:9", &[]);
    refused("(x)store \"/a\"", "A0202", "1:2", &[]);
}

#[test]
fn what_is_too_much_or_too_little() {
    refused("store \"/a\" \"/b\"", "A0203", "1:12", &["too many"]);
    refused("alias dev-base", "A0203", "1:1", &["alias NAME \"IMAGE\""]);
    refused(
        "backend local fast=#true",
        "A0202",
        "1:15",
        &["`backend` has no `fast`"],
    );
    refused(
        "store \"/a\" { x; }",
        "A0202",
        "1:1",
        &["`store` has no block"],
    );
    refused(
        "store \"/a\"\nstore \"/b\"",
        "A0204",
        "2:1",
        &["first here"],
    );
    refused(
        "alias a host\nalias a host",
        "A0204",
        "2:1",
        &["`alias a` twice"],
    );
    refused(
        "backend local\nbackend local",
        "A0204",
        "2:1",
        &["`backend` twice"],
    );
}

#[test]
fn what_is_not_what_it_should_be() {
    refused("store here", "A0404", "1:7", &["begin it with `/` or `~/`"]);
    refused(
        "backend docker",
        "A0306",
        "1:9",
        &["there are: local, kubernetes"],
    );
    refused(
        "alias host \"oci:/x\"",
        "A0304",
        "1:7",
        &["the machine itself"],
    );
    refused(
        "alias Dev \"oci:/x\"",
        "A0304",
        "1:7",
        &["lower-case letters"],
    );
    refused(
        "alias a \"docker://x\"",
        "A0306",
        "1:9",
        &["an image has no scheme"],
    );
    refused("alias a b", "A0306", "1:9", &["another alias"]);
}

#[test]
fn a_token_is_refused_and_not_shown() {
    let token = format!("ghp_{}", "a1".repeat(18));
    let project = Project::of("from host");
    project.share(&format!("alias a \"{token}\""));
    let ran = project.plainly(&["config"], &[]).expect(2);
    assert!(ran.stderr.contains("A0601"), "{}", ran.stderr);
    assert!(!ran.stderr.contains(&token), "{}", ran.stderr);
}

#[test]
fn a_project_names_nothing_outside_of_it() {
    refused_in_project("store \"/a\"", "A0802", "1:1", &["--store DIR"]);
    for outside in ["/x", "../../x", "~/x", "../image/../../x"] {
        let text = format!("alias a \"oci:{outside}\"");
        refused_in_project(
            &text,
            "A0404",
            "1:9",
            &["outside of the project", "your own config.kdl"],
        );
    }
}

#[test]
fn what_is_no_host_path() {
    refused("host", "A0203", "1:1", &["written: host { path"]);
    refused("host \"/x\"", "A0203", "1:6", &["not here"]);
    refused(
        "host { paths x; }",
        "A0201",
        "1:8",
        &["`host` has no `paths`"],
    );
    refused("host { path; }", "A0203", "1:8", &["nothing follows"]);
    refused(
        "host { path \"/usr\" in=x; }",
        "A0202",
        "1:20",
        &["`path` has no `in`"],
    );
    refused(
        "host { path \"/a\" \"/a\"; }",
        "A0204",
        "1:18",
        &["first here"],
    );
    refused("host { path bin; }", "A0404", "1:13", &["it is relative"]);
    refused(
        "host { path \"/usr/../etc\"; }",
        "A0404",
        "1:13",
        &["it has `..`"],
    );
    refused(
        "host { path \"/a:b\"; }",
        "A0404",
        "1:13",
        &["cannot stand in PATH"],
    );
    refused(
        "host { path \"/none/such\"; }",
        "A0501",
        "1:13",
        &["No such file"],
    );
    refused_in_project(
        "host { path \"/usr\"; }",
        "A0802",
        "1:1",
        &["caller's own config.kdl"],
    );
}

/// Each with what it says why; most are not even there.
#[test]
fn what_image_host_must_not_show() {
    for (path, why) in [
        ("/", "too wide: it holds /"),
        ("~", "a whole home"),
        ("~/", "a whole home"),
        ("/root", "too wide"),
        ("/home", "too wide"),
        ("/home/dev", "the workspace is mounted there"),
        ("/home/dev/tools", "the workspace is mounted there"),
        ("/proc", "the machine's processes"),
        ("/sys/kernel", "the machine's devices"),
        ("/dev/shm", "the machine's devices"),
        ("/run", "the machine's sockets"),
        ("/var/run/user", "the machine's sockets"),
        ("/var", "too wide: it holds /var/run"),
        ("/etc/ssl", "without its secrets"),
        ("~/.ssh", "SSH keys"),
        ("~/.ssh/agent", "SSH keys"),
        ("~/.gnupg", "GPG keys"),
        ("~/.aws", "AWS credentials"),
        ("~/.config", "too wide"),
        ("~/.config/gh", "GitHub tokens"),
        ("~/.docker", "registry credentials"),
        ("~/.kube", "cluster credentials"),
        ("~/.netrc", "passwords"),
        ("~/.npm", "npm's cache"),
        ("~/.npmrc", "npm tokens"),
        ("~/.cargo/credentials.toml", "cargo's credentials"),
        ("~/.local/share/keyrings", "keyrings"),
        (
            "~/.local/share",
            "too wide: it holds [home]/.local/share/keyrings",
        ),
        ("~/.mozilla/firefox", "a browser's profiles"),
        ("~/.config/google-chrome", "a browser's profiles"),
        (
            "~/.local/share/atelier",
            "the store is [home]/.local/share/atelier",
        ),
        ("/home/else/.ssh", "SSH keys"),
    ] {
        refused(
            &format!("host {{ path \"{path}\"; }}"),
            "A0803",
            "1:13",
            &["must not show", why],
        );
    }
}

#[test]
fn what_holds_credentials_is_refused_wherever_it_leads() {
    let project = Project::of("from host");
    project.write_at_home(".cargo/bin/cargo", "");
    let file = "[home]/.config/atelier/config.kdl";
    project.configure("host { path \"~/.cargo\"; }");
    project.plainly(&["config"], &[]).expect(0);
    project.write_at_home(".cargo/credentials.toml", "");
    let words = [
        "holds cargo's credentials",
        "[home]/.cargo/credentials.toml is in it",
    ];
    is_refused(&project, file, "A0803", "1:13", &words);
    project.configure("host { path \"~/.cargo/bin\"; }");
    project.plainly(&["config"], &[]).expect(0);
    project.write_at_home(".ssh/config", "");
    std::os::unix::fs::symlink(".ssh", project.home.join("keys")).unwrap();
    project.configure("host { path \"~/keys\"; }");
    is_refused(
        &project,
        file,
        "A0803",
        "1:13",
        &["[home]/.ssh holds SSH keys"],
    );
    project.write_at_home("data/people/me/.ssh/config", "");
    project.configure("host { path \"~/data\"; }");
    let words = ["holds SSH keys", "[home]/data/people/me/.ssh is in it"];
    is_refused(&project, file, "A0803", "1:13", &words);
}

#[test]
fn files_that_cannot_be_read() {
    let project = Project::of("from host");
    std::fs::create_dir_all(project.home.join(".config/atelier/config.kdl")).unwrap();
    let file = "[home]/.config/atelier/config.kdl";
    is_refused(&project, file, "A0404", "1:1", &["not a regular file"]);
    let project = Project::of("from host");
    project.configure(&format!("// {}", "x".repeat(70_000)));
    is_refused(&project, file, "A0103", "1:1", &["limit 64 KiB"]);
    let project = Project::of("from host");
    project.write_at_home("outside.kdl", "backend local");
    project.share("");
    let shared = project.root.join(".atelier/config.kdl");
    std::fs::remove_file(&shared).unwrap();
    std::os::unix::fs::symlink(project.home.join("outside.kdl"), &shared).unwrap();
    let file = "[project]/.atelier/config.kdl";
    is_refused(&project, file, "A0404", "1:1", &["cannot be used"]);
}

#[test]
fn all_faults_of_both_files_are_told_at_once() {
    let project = Project::of("from host");
    project.configure("stroe x\nbackend docker");
    project.share("alias a b");
    let ran = project.plainly(&["config"], &[]).expect(2);
    let codes: Vec<&str> = ran
        .stderr
        .lines()
        .filter(|line| line.starts_with('A'))
        .collect();
    assert_eq!(codes, ["A0201", "A0306", "A0306"]);
}
