//! One call on the store fails, each in turn: nothing is half published, and the next build succeeds.

use std::collections::BTreeMap;
use std::fs;

use tempfile::TempDir;

use crate::litter::groups_before;
use crate::project::Project;

const FILE: &str = r##"
prebuild a {
    from dev-base
    repo "." path=src
    file round from=round
    run #"cat round > a"#
}
prebuild b {
    from prebuild=a
    run #"cat a a > b; rm a"#
}
"##;

struct Faults {
    project: Project,
    folder: TempDir,
    round: usize,
    /// How often a build ended with which code.
    ends: BTreeMap<i32, usize>,
}

impl Faults {
    fn new() -> Self {
        groups_before();
        let project = Project::new(FILE);
        project.write("round", "0\n");
        project.run(&["build"]).expect(0);
        Self {
            project,
            folder: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(),
            round: 0,
            ends: BTreeMap::new(),
        }
    }

    /// The next build bakes both nodes.
    fn edit(&mut self) {
        self.round += 1;
        self.project.write("round", &format!("{}\n", self.round));
    }

    /// Which calls of a build by atelier itself concern the store: the first, the second, …
    fn calls(&mut self, call: &str, concerns: impl Fn(&str) -> bool) -> Vec<usize> {
        self.edit();
        let trace = self.folder.path().join("trace");
        let only = format!("trace={call}");
        let trace_to = trace.to_str().unwrap();
        let strace = [
            "strace",
            "-qqq",
            "-y",
            "-s0",
            "-esignal=none",
            "-o",
            trace_to,
            "-e",
            &only,
        ];
        let build = self.project.wrapped(&strace, &["build"]);
        self.project.run_command(build).expect(0);
        let store = self.project.store.to_str().unwrap();
        let calls = fs::read_to_string(trace).unwrap();
        let calls = calls.lines().enumerate();
        calls
            .filter(|(_, line)| line.contains(store) && concerns(line))
            .map(|(index, _)| index + 1)
            .collect()
    }

    /// Builds while the `number`th of these calls fails, and then again.
    fn inject(&mut self, call: &str, error: &str, number: usize, everywhere: bool) {
        self.edit();
        let what = format!("{call} {number}: {error}");
        let only = format!("trace={call}");
        let fault = format!("--inject={call}:error={error}:when={number}");
        let mut strace = vec!["strace", "-qqq", "-o", "/dev/null", "-e", &only, &fault];
        if everywhere {
            strace.extend(["-f", "--seccomp-bpf"]);
        }
        let build = self.project.wrapped(&strace, &["build", "--json"]);
        let ran = self.project.run_command(build);
        *self.ends.entry(ran.code()).or_default() += 1;
        // What fails in a step, or in git, is told as theirs.
        let is_theirs = everywhere || ran.stderr.contains("git cannot be started");
        let is_told = matches!(ran.code(), 0 | 6) || is_theirs && matches!(ran.code(), 1 | 5);
        assert!(is_told, "{what}: {}", ran.stderr);
        if ran.code() == 6 && error == "ENOSPC" && !everywhere {
            assert!(ran.stderr.contains("A0703"), "{what}: {}", ran.stderr);
        }
        let words = [
            "up",
            "b",
            "--",
            "sh",
            "-c",
            "cat b round; ls; git -C src fsck",
        ];
        let ran = self.project.run(&words).expect(0);
        let round = self.round;
        let expected = format!("{round}\n{round}\n{round}\nb\nround\nsrc\n");
        assert_eq!(ran.stdout, expected, "{what}");
        self.project.assert_no_litter();
    }

    /// Each of these calls fails once, but no more than `limit` of them, the last before all others.
    fn each(&mut self, call: &str, error: &str, limit: usize, concerns: impl Fn(&str) -> bool) {
        let numbers = self.calls(call, concerns);
        assert!(!numbers.is_empty(), "{call}");
        for &number in numbers.iter().rev().take(limit) {
            self.inject(call, error, number, false);
        }
    }
}

const LIMIT: usize = 8;

/// behaviours 1.12
#[test]
fn a_disk_that_is_full_for_one_call() {
    let mut faults = Faults::new();
    for call in ["rename", "mkdir", "fsync"] {
        faults.each(call, "ENOSPC", LIMIT, |_| true);
    }
    faults.each("openat", "ENOSPC", LIMIT, |line| line.contains("O_CREAT"));
    println!("full: {:?}", faults.ends);
    // Many of the calls matter; how many there are differs from run to run.
    assert!(faults.ends[&6] > 10, "{:?}", faults.ends);
}

/// behaviours 1.12
#[test]
fn a_disk_that_fails_for_one_call() {
    let mut faults = Faults::new();
    for call in ["rename", "mkdir", "fsync", "openat"] {
        faults.each(call, "EIO", LIMIT, |_| true);
    }
    // In all processes and threads, each of which counts by itself.
    for (call, numbers) in [("syncfs", 1..=2), ("fsync", 1..=4), ("rename", 1..=6)] {
        for number in numbers {
            faults.inject(call, "EIO", number, true);
        }
    }
    println!("failing: {:?}", faults.ends);
    assert!(faults.ends[&6] > 10, "{:?}", faults.ends);
}
