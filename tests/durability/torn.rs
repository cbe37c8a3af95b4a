//! The power is cut when a bake has been reported: its snapshot is there, and whole.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

use crate::disk::{Disk, MIB};
use crate::project::{Project, pairs};

/// A repository, a file, many small files, one that is still being written when the steps end, and a child.
const FILE: &str = r##"
prebuild a {
    from dev-base
    repo "." path=src
    file given from=given
    run #"mkdir made; for n in $(seq 80); do echo "module.exports = $n" > made/$n.js; done"#
    run #"setsid sh -c 'while :; do echo a line of a log >> log; done' & until [ -s log ]; do sleep 0.01; done"#
}
prebuild b {
    from prebuild=a
    run #"rm -r made/1*; mv made/2.js made/two.js; echo more >> given; head -c 300k /dev/urandom > noise"#
}
"##;

/// Every file with its content, and what git thinks of the repository.
const LIST: &str = "find . -type f -print0 | sort -z | xargs -0 sha256sum; cd src; git rev-parse HEAD; git status --porcelain; git fsck --no-progress";

const TRIALS: usize = 10;

/// What a power cut left.
#[derive(Debug)]
enum Left {
    Whole,
    /// The records are there, and what they promise is not.
    Torn(String),
    NoRecords,
    NoDisk,
}

struct Trials {
    project: Project,
    /// A store that holds nothing but what is remembered of the machine.
    remembers: TempDir,
}

impl Trials {
    fn new() -> Self {
        let mut project = Project::new(FILE);
        project.write("given", &"given\n".repeat(20_000));
        for number in 0..120 {
            let path = format!("sources/{number}.txt");
            project.write(&path, &format!("source {number}\n").repeat(1 + 5 * number));
        }
        project.commit("sources");
        let remembers = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        project.store = remembers.path().join("store");
        project.run(&["plan"]).expect(0);
        Self { project, remembers }
    }

    /// Bakes both on a fresh disk, by `wrapper` if there is one, cuts the power, and looks.
    fn trial(&mut self, wrapper: &[&str]) -> Left {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let disk = Disk::ext4(folder.path(), 96 * MIB, &[], Some(self.remembers.path()));
        self.project.store = disk.path("store");
        let build = self.project.wrapped(wrapper, &["build", "--json"]);
        let ran = self.project.run_command(build).expect(0);
        assert_eq!(
            ran.column("result"),
            pairs(&[("a", "baked"), ("b", "baked")])
        );
        let cut = disk.cut(&folder.path().join("cut"));
        let original = self.list();
        assert!(
            original.lines().count() > 180,
            "only {}",
            original.lines().count()
        );
        self.project.assert_nothing_left();
        let Some(cut) = cut else {
            return Left::NoDisk;
        };
        self.project.store = cut.path("store");
        let plan = self.project.run(&["plan", "--json"]);
        if plan.code() != 0 || plan.column("action") != pairs(&[("a", "reuse"), ("b", "reuse")]) {
            return Left::NoRecords;
        }
        let found = self.list();
        self.project.assert_nothing_left();
        let checked = self.project.run(&["fsck"]).code();
        assert_eq!(checked == 0, found == original, "fsck ends with {checked}");
        let mut differences = found.lines().filter(|line| !original.contains(line));
        match differences.next() {
            None if found == original => Left::Whole,
            difference => Left::Torn(difference.unwrap_or("files are missing").to_owned()),
        }
    }

    /// What is in the child's snapshot, and what git says if it fails.
    fn list(&self) -> String {
        let ran = self.project.run(&["up", "b", "--", "sh", "-c", LIST]);
        let code = ran.code();
        if code == 0 {
            ran.stdout
        } else {
            format!("{}\n{}\nends with {code}", ran.stdout, ran.stderr)
        }
    }
}

impl Project {
    /// The program with these words, started by another one.
    pub(crate) fn wrapped(&self, wrapper: &[&str], words: &[&str]) -> Command {
        let atelier = self.atelier(words);
        let [program, arguments @ ..] = wrapper else {
            return atelier;
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .arg(atelier.get_program())
            .args(atelier.get_args())
            .current_dir(&self.root)
            .env_clear();
        for (name, value) in atelier.get_envs() {
            command.envs(value.map(|value| (name, value)));
        }
        command
    }
}

/// behaviours 1.1
#[test]
fn a_power_cut_after_a_bake_leaves_it_whole() {
    let mut trials = Trials::new();
    for number in 1..=TRIALS {
        let left = trials.trial(&[]);
        assert!(matches!(left, Left::Whole), "trial {number}: {left:?}");
    }
}

/// The other half of the proof: this is how it goes when the flush does nothing. All other calls keep their promises, so
/// the records are there.
#[test]
fn without_the_flush_it_is_torn() {
    let wrapper = [
        "strace",
        "-f",
        "--seccomp-bpf",
        "-qqq",
        "-o",
        "/dev/null",
        "-e",
        "trace=syncfs",
        "--inject=syncfs:retval=0",
    ];
    let mut trials = Trials::new();
    let left: Vec<Left> = (0..TRIALS).map(|_| trials.trial(&wrapper)).collect();
    let torn = left.iter().filter_map(|left| match left {
        Left::Torn(difference) => Some(difference),
        Left::Whole | Left::NoRecords | Left::NoDisk => None,
    });
    let torn: Vec<&String> = torn.collect();
    println!(
        "torn without the flush: {} of {TRIALS}, such as {:?}",
        torn.len(),
        torn.first()
    );
    assert!(!torn.is_empty(), "{left:#?}");
}

#[test]
fn the_disk_forgets_what_nobody_flushed() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let disk = Disk::ext4(folder.path(), 16 * MIB, &[], None);
    fs::write(disk.path("kept"), "kept").unwrap();
    rustix::fs::syncfs(fs::File::open(disk.path("kept")).unwrap()).unwrap();
    fs::write(disk.path("lost"), "lost").unwrap();
    let cut = disk.cut(&folder.path().join("cut")).unwrap();
    assert_eq!(fs::read_to_string(cut.path("kept")).unwrap(), "kept");
    assert_ne!(
        fs::read_to_string(cut.path("lost")).ok().as_deref(),
        Some("lost")
    );
}
