//! Much at once: large files, endless output. What is in memory has a limit.

use std::fs;

use crate::project::Project;
use crate::wrapped::started_by;

/// Runs a command, and writes the most memory that it had at once into a file.
const MEASURE: &str = "import resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
open(sys.argv[1], 'w').write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code)";

/// Bakes it, and returns the MiB that took.
#[track_caller]
fn memory_of_a_build(project: &Project) -> u64 {
    let file = project.store.with_file_name("memory");
    let measure = ["python3", "-c", MEASURE, file.to_str().unwrap()];
    let build = started_by(&measure, &project.atelier(&["build"]));
    project.run_command(build).expect(0);
    let kilobytes: u64 = fs::read_to_string(file).unwrap().parse().unwrap();
    kilobytes >> 10
}

#[test]
fn many_large_files_are_written() {
    let project = Project::empty();
    let mut text = "from dev-base".to_owned();
    for number in 0..5 {
        let content = vec![u8::MAX - number; 14_000_000];
        fs::write(project.root.join(format!("big{number}")), content).unwrap();
        text = format!("{text}\nfile b{number} from=big{number}");
    }
    project.write("prebuild.kdl", &text);
    let memory = memory_of_a_build(&project);
    assert!(memory < 400, "{memory} MiB");
    let sums = "cat b0 b1 b2 b3 b4 | sha256sum";
    let inside = project.run(&["up", "--", "sh", "-c", sums]).expect(0);
    let mut outside = std::process::Command::new("sh");
    outside.args(["-c", &sums.replace(" b", " big")]);
    let outside = outside.current_dir(&project.root).output().unwrap();
    assert_eq!(inside.stdout.as_bytes(), outside.stdout);
}

#[test]
fn a_chatty_step_fills_no_memory() {
    let project = Project::new("from dev-base\nrun \"yes abcdefghi | head -c 8000000\" shell=sh");
    let memory = memory_of_a_build(&project);
    assert!(memory < 50, "{memory} MiB");
}
