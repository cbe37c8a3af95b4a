//! Nothing of the caller's machine gets into a key or a step.

use crate::project::{Project, pairs};

const FILE: &str = r#"from dev-base
repo "." path=src
file script "echo x" mode="0750"
env A=1
path bin "/opt/x/bin"
run "env | sort > environment; id > id; pwd > folder; umask > umask; readlink /proc/self/fd/0 > stdin"
run "stat -c '%a %U:%G' /home/dev/script /home/dev/src /home/dev/src/prebuild.kdl > modes"
"#;

const ENVIRONMENT: &str = "\
A=1
ATELIER=1
CI=true
HOME=/home/dev
LANG=C.UTF-8
LOGNAME=dev
PATH=/home/dev/bin:/opt/x/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin
PWD=/home/dev
SHELL=/bin/bash
SHLVL=1
TZ=UTC
USER=dev
_=/usr/bin/env
";

fn show(project: &Project, file: &str) -> String {
    project.run(&["up", "--", "cat", file]).expect(0).stdout
}

#[test]
fn the_world_of_a_step() {
    let project = Project::new(FILE);
    project.run(&["build"]).expect(0);
    assert_eq!(without_proxies(&show(&project, "environment")), ENVIRONMENT);
    assert_eq!(
        show(&project, "id"),
        "uid=1000(dev) gid=1000(dev) groups=1000(dev)\n"
    );
    assert_eq!(show(&project, "folder"), "/home/dev\n");
    assert_eq!(show(&project, "umask"), "0022\n");
    assert_eq!(show(&project, "stdin"), "/dev/null\n");
    assert_eq!(
        show(&project, "modes"),
        "750 dev:dev\n755 dev:dev\n644 dev:dev\n"
    );
}

fn without_proxies(environment: &str) -> String {
    let ours = environment
        .lines()
        .filter(|line| !line.to_lowercase().contains("_proxy="));
    ours.fold(String::new(), |text, line| text + line + "\n")
}

/// behaviours 1.5, 2.11, 2.13; row 11 of the table of keys
#[test]
fn another_caller_has_the_same_key_and_the_same_step() {
    let project = Project::new(FILE);
    project.run(&["build"]).expect(0);
    let expected = show(&project, "environment");
    let store = project.store.join("../other store");
    let clone = project.root.join("../elsewhere");
    project.git(&["clone", "--quiet", ".", clone.to_str().unwrap()]);
    let mut other = std::process::Command::new("sh");
    other
        .args([
            "-c",
            "umask 077; exec \"$0\" build --json --store \"$1\" prebuild.kdl",
        ])
        .arg(env!("CARGO_BIN_EXE_atelier"))
        .arg(&store)
        .current_dir(&clone)
        .env_clear()
        .env(
            "PATH",
            format!("/nonexistent:{}", std::env::var("PATH").unwrap()),
        )
        .env("HOME", "/nonexistent")
        .env("LANG", "de_DE.UTF-8")
        .env("LC_ALL", "tr_TR.UTF-8")
        .env("TZ", "Asia/Tokyo")
        .env("TMPDIR", "/nonexistent")
        .env("CDPATH", "/")
        .env("BASH_ENV", "/nonexistent")
        .env("A", "2")
        .env("GIT_DIR", "/nonexistent");
    // A clone has the first repository as its origin, which has no HTTPS form.
    let ran = project.run_command(other).expect(0);
    let key = project.snapshots()[0]["key"].clone();
    assert_eq!(ran.json()["nodes"][0]["key"], key);
    let elsewhere = Project::empty().with_store(&store);
    elsewhere.write("prebuild.kdl", FILE);
    std::fs::remove_dir_all(elsewhere.root.join(".git")).unwrap();
    std::fs::rename(clone.join(".git"), elsewhere.root.join(".git")).unwrap();
    assert_eq!(
        without_proxies(&show(&elsewhere, "environment")),
        without_proxies(&expected)
    );
    assert_eq!(show(&elsewhere, "modes"), show(&project, "modes"));
}

/// behaviours 2.12
#[test]
fn how_many_jobs_there_are_and_who_looks_on_is_not_in_a_key() {
    let project = Project::new(
        "prebuild a { from dev-base; run \"true\"; }\nprebuild b { from dev-base; run \"echo\"; }",
    );
    let one = project
        .run(&["build", "--json", "-j", "1"])
        .expect(0)
        .column("key");
    assert_eq!(
        project
            .run(&["build", "--json", "-j", "8"])
            .expect(0)
            .column("key"),
        one
    );
    let mut quiet = project.atelier(&["build", "--json"]);
    quiet
        .env("NO_COLOR", "1")
        .env("CI", "1")
        .env("TERM", "dumb");
    let ran = project.run_command(quiet).expect(0);
    assert_eq!(ran.column("key"), one);
    assert_eq!(
        ran.column("result"),
        pairs(&[("a", "reused"), ("b", "reused")])
    );
    // With all that is shown on a terminal.
    let mut terminal = project.command("script");
    let build = "\"$ATELIER\" build --json --store \"$STORE\" --force a > shown.json";
    terminal
        .args(["--quiet", "--return", "--command", build, "/dev/null"])
        .env("ATELIER", env!("CARGO_BIN_EXE_atelier"))
        .env("STORE", &project.store)
        .env("TERM", "xterm");
    let shown = project.run_command(terminal).expect(0).stdout;
    assert!(shown.contains('\u{1b}'), "{shown:?}");
    let json = std::fs::read_to_string(project.root.join("shown.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let keys = json["nodes"].as_array().unwrap().iter();
    let keys: Vec<&str> = keys.map(|node| node["key"].as_str().unwrap()).collect();
    let expected: Vec<&str> = one.iter().map(|(_, key)| key.as_str()).collect();
    assert_eq!(keys, expected);
}

#[test]
fn a_variable_of_the_caller_s_own_is_seen_and_not_in_the_key() {
    let project = Project::new("from dev-base\nrun \"echo ${K-unset} > k\"");
    project.run(&["build", "--env", "K=one"]).expect(0);
    assert_eq!(show(&project, "k"), "one\n");
    assert_eq!(
        project.build(&["--env", "K=two"]),
        pairs(&[("default", "reused")])
    );
    project
        .run(&["build", "--env", "K=two", "--force", "default"])
        .expect(0);
    assert_eq!(show(&project, "k"), "two\n");
    assert_eq!(project.snapshots().len(), 1);
    let ran = project
        .run(&["up", "--env", "K=three", "--", "sh", "-c", "echo $K"])
        .expect(0);
    assert_eq!(ran.stdout, "three\n");
}

#[test]
fn a_step_sees_no_other_file_or_process_of_the_machine() {
    let project = Project::new("from dev-base");
    project.edit(
        "from dev-base",
        r##"from dev-base
run #"test ! -e /root/.bashrc && test ! -e /var/lib/dpkg && test "$(ls /home)" = dev && test -z "$(ls -A /tmp)$(ls -A /run)""#
run #"! cat /etc/shadow; test "$(ls -d /proc/[0-9]* | wc -l)" -lt 8; ! touch /usr/x; ! touch /etc/x; ! touch /opt/x"#
run #"! chown root:root . ; ! mount -t tmpfs x /tmp; grep -q 'CapBnd:.*0000000000000000' /proc/self/status; grep -q 'NoNewPrivs:.*1' /proc/self/status"#
run #"test "$(id -u)" = 0; touch /etc/x" as=root
"##
            .replace("/etc/x\" as", "/etc/x\"# as")
            .as_str(),
    );
    project.run(&["build"]).expect(0);
}
