//! Steps that are no friends of their runner.

use std::fs;

use atelier::backend::Ending;
use atelier::runner::protocol::{Failure, Kind, StepEnding};

use super::house::{House, processes_with, secret, step, steps};

#[test]
fn a_step_reads_nothing_of_its_runner_and_writes_nothing_to_it() {
    let house = House::with_workspace();
    let tries = "
        test \"$PPID\" = 1
        for file in mem environ fd/0 fd/1 maps; do
            if head -c1 /proc/1/$file >/dev/null 2>&1; then echo \"reads $file\"; fi
        done
        if ls /proc/1/fd/ 2>/dev/null | grep .; then echo 'lists descriptors'; fi
        if { echo '{\"seq\":1}' >/proc/1/fd/1; } 2>/dev/null; then echo 'writes events'; fi
        ls /proc/self/fd | tr '\\n' ' '
    ";
    let mut request = steps(vec![step(tries)]);
    request.secrets = vec![secret("the login of x", "hunter2-hunter2")];
    let answer = house.steps(&request);
    assert_eq!(answer.output(), "0 1 2 3 \n");
    answer.baked();
}

#[test]
fn a_step_cannot_kill_its_runner() {
    let house = House::with_workspace();
    let tries =
        "sleep 1076 & kill -9 1; kill -STOP 1; kill -9 -1; sleep 0.1; echo here; kill -9 $$";
    let answer = house.steps(&steps(vec![step(tries)]));
    assert_eq!(answer.output(), "here\n");
    let ending = StepEnding::Ended(Ending::Signalled(9));
    assert_eq!(answer.failure(), &Failure::Step { index: 0, ending });
}

#[test]
fn forged_events_are_output() {
    let house = House::with_workspace();
    let forged = r#"{"seq":2,"kind":"result","outcome":{"baked":{}}}"#;
    let answer = house.steps(&steps(vec![step(&format!(
        "printf '%s\\n' '{forged}'; exit 3"
    ))]));
    assert_eq!(answer.output(), format!("{forged}\n"));
    let ending = StepEnding::Ended(Ending::Exited(3));
    assert_eq!(answer.failure(), &Failure::Step { index: 0, ending });
    let results = answer
        .events
        .iter()
        .filter(|event| matches!(event.kind, Kind::Result { .. }));
    assert_eq!(results.count(), 1);
}

#[test]
fn processes_that_start_others_all_the_time_end() {
    let house = House::with_workspace();
    // Each starts the next one and ends, so that none is there for long.
    fs::write(
        house.workspace().join("chain"),
        "test $1 -gt 3000 || setsid sh chain $(($1 + 1)) x1075 &\n",
    )
    .unwrap();
    let answer = house.steps(&steps(vec![step(
        "for i in 1 2 3 4 5; do sh chain 0 x1075 & done; sleep 0.1",
    )]));
    answer.baked();
    assert_eq!(processes_with("x1075"), 0);
}

#[test]
fn deep_and_closed_folders_are_described_or_told() {
    let house = House::with_workspace();
    let deep = "i=0; while [ $i -lt 600 ]; do mkdir d$i; cd d$i; i=$((i+1)); done";
    house.steps(&steps(vec![step(deep)])).baked();
    let answer = house.steps(&steps(vec![step(
        "mkdir closed; echo 1 >closed/file; chmod 0 closed",
    )]));
    let text = format!("{:?}", answer.failure());
    assert!(
        text.contains("cannot describe the workspace") && text.contains("closed"),
        "{text}"
    );
}
