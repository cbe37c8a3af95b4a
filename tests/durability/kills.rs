//! kill -9 at random moments: no key is satisfied by half a snapshot, and the next command finishes the work.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::litter::groups_before;
use crate::processes::wait_until;
use crate::project::Project;
use crate::random::Random;

/// Two chains, side by side. Each node's content follows from its parent's and the round.
const FILE: &str = r##"
prebuild a {
    from dev-base
    file round from=round
    run #"for n in $(seq 20); do cat round > $n; done; ls | sort | xargs cat | sha256sum > sum"#
}
prebuild b {
    from prebuild=a
    run #"rm 1 2 3; mv 4 four; cat sum >> 5; ls | sort | xargs cat | sha256sum > sum-b"#
}
prebuild c {
    from prebuild=b
    run #"rm [5-9]; echo c >> four; ls | sort | xargs cat | sha256sum > sum-c"#
}
prebuild d {
    from prebuild=a
    run #"for n in $(seq 20); do cat sum >> $n; done; ls | sort | xargs cat | sha256sum > sum-d"#
}
"##;

/// Says what is wrong with a node, from what it says of itself: its sum was the last thing to be written.
const CHECK: &str = r#"
sum=sum${1:+-$1}
test -s $sum && test "$(ls | grep -vx $sum | sort | xargs cat | sha256sum)" = "$(cat $sum)" && cat round
"#;

/// Of each of the two tests, which run side by side.
const ROUNDS: u32 = 100;

fn rounds(name: &str) {
    groups_before();
    let random = Random::new(name);
    let project = Project::new(FILE);
    project.write("round", "0\n");
    project.run(&["build", "-j2"]).expect(0);
    let mut whole = Duration::ZERO;
    let mut kept = [0; 5];
    for round in 1..=ROUNDS {
        if round % 20 == 1 {
            // How long it takes when nothing kills it: the machine has other things to do as well.
            project.write("round", &format!("{name} whole {round}\n"));
            let began = Instant::now();
            project.run(&["build", "-j2"]).expect(0);
            whole = began.elapsed();
        }
        project.write("round", &format!("{name} {round}\n"));
        let running = project.start(&["build", "-j2"]);
        let micros = random.below(u64::try_from(whole.as_micros()).unwrap());
        std::thread::sleep(Duration::from_micros(micros));
        running.signal(Signal::KILL);
        let ended = running.wait().code();
        assert!(ended == -9 || ended == 0, "round {round}: {ended}");
        wait_until("everything to end", || project.processes().is_empty());
        let plan = project.plan(&[]);
        let reused = plan.iter().filter(|(_, action)| action == "reuse");
        kept[reused.clone().count()] += 1;
        for (node, _) in reused {
            check(&project, node, &format!("{name} {round}\n"));
        }
        // The next command finishes the work, and clears up.
        project.run(&["build", "-j2"]).expect(0);
        project.assert_no_litter();
        for node in ["c", "d"] {
            check(&project, node, &format!("{name} {round}\n"));
        }
    }
    println!("{name}: kills that left 0 to 4 snapshots: {kept:?}");
    // Kills that come before or after everything prove nothing.
    assert!(kept[1..4].iter().sum::<u32>() > ROUNDS / 10, "{kept:?}");
}

fn check(project: &Project, node: &str, round: &str) {
    let suffix = if node == "a" { "" } else { node };
    let ran = project.run(&["up", node, "--", "sh", "-c", CHECK, "check", suffix]);
    assert_eq!(ran.expect(0).stdout, round, "{node}");
}

/// behaviours 1.1, 1.11, 1.12
#[test]
fn killed_a_hundred_times() {
    rounds("one");
}

/// behaviours 1.1, 1.11, 1.12
#[test]
fn killed_a_hundred_times_more() {
    rounds("two");
}
