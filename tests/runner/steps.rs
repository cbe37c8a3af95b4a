//! Steps: where they run, how they end, and what is made of the workspace.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use atelier::backend::Ending;
use atelier::runner::protocol::{Failure, Kind, Shell, Step, StepEnding};
use rustix::process::Signal;

use super::house::{Answer, House, NONCE, processes_with, secret, step, steps};

#[test]
fn a_step_has_what_the_request_says_and_nothing_else() {
    let house = House::with_workspace();
    fs::create_dir(house.workspace().join("sub")).unwrap();
    let mut request = steps(vec![
        step("tr '\\0' '\\n' </proc/$$/environ"),
        Step {
            folder: "sub".to_owned(),
            shell: Shell::Bash,
            ..step(
                "umask; pwd; ps -o sid= -p $$ | tr -d ' ' | sed \"s/^$$$/own session/\"; wc -c; id -u",
            )
        },
    ]);
    request.variables.push(("B".to_owned(), "2 2".to_owned()));
    request.variables.push(("A".to_owned(), String::new()));
    let answer = house.steps(&request);
    let sub = house.workspace().join("sub");
    let expected = format!(
        "PATH=/usr/bin:/bin\nB=2 2\nA=\n0022\n{}\nown session\n0\n{}\n",
        sub.display(),
        if rustix::process::geteuid().is_root() {
            1000
        } else {
            rustix::process::geteuid().as_raw()
        },
    );
    // The shell alone may sort them.
    assert_eq!(sorted(&answer.output()), sorted(&expected));
    assert_eq!(answer.code, 0);
    let Kind::Request { nonce } = &answer.events[0].kind else {
        panic!("{:?}", answer.events[0]);
    };
    assert_eq!(nonce, NONCE);
    let baked = answer.baked();
    assert_eq!(baked.verified, ["processes ended", "flush", "manifest"]);
    assert_eq!(house.in_volume(), ["manifest", "ws"]);
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn the_first_failure_ends_the_steps() {
    let house = House::with_workspace();
    let request = steps(vec![
        step("echo one"),
        Step {
            retry: 2,
            ..step("echo try >>tries; echo two >&2; false; echo not here")
        },
        step("touch three"),
    ]);
    let answer = house.steps(&request);
    assert_eq!(answer.output(), "one\ntwo\ntwo\ntwo\n");
    let ending = StepEnding::Ended(Ending::Exited(1));
    assert_eq!(answer.failure(), &Failure::Step { index: 1, ending });
    assert_eq!(answer.code, 1);
    let endings = answer.events.iter().filter_map(|event| match event.kind {
        Kind::Step { index, ending, .. } => Some((index, ending)),
        _ => None,
    });
    let endings: Vec<_> = endings.collect();
    let passed = StepEnding::Ended(Ending::Exited(0));
    assert_eq!(
        endings,
        [(0, passed), (1, ending), (1, ending), (1, ending)]
    );
    assert_eq!(
        answer.notices(),
        [
            "step 2 failed with exit status 1; try 2 of 3",
            "step 2 failed with exit status 1; try 3 of 3"
        ]
    );
    assert!(!house.workspace().join("three").exists());
}

#[test]
fn a_retry_may_pass() {
    let house = House::with_workspace();
    let request = steps(vec![Step {
        retry: 1,
        ..step("test -e flag || { touch flag; kill -9 $$; }")
    }]);
    let answer = house.steps(&request);
    answer.baked();
    assert_eq!(
        answer.notices(),
        ["step 1 was ended by signal 9; try 2 of 2"]
    );
}

#[test]
fn what_cannot_be_started_says_why() {
    let house = House::with_workspace();
    let mut request = steps(vec![step("true")]);
    request.variables = vec![("PATH".to_owned(), "/nonexistent".to_owned())];
    let answer = house.steps(&request);
    let ending = StepEnding::Ended(Ending::Exited(127));
    assert_eq!(answer.failure(), &Failure::Step { index: 0, ending });
    assert!(
        answer.output().starts_with("cannot start sh in "),
        "{}",
        answer.output()
    );
    let missing = Step {
        folder: "missing".to_owned(),
        ..step("true")
    };
    let answer = house.steps(&steps(vec![missing]));
    let output = answer.output();
    assert!(output.contains("missing: No such file"), "{output}");
}

#[test]
fn a_step_that_takes_too_long_ends_with_all_it_started() {
    let house = House::with_workspace();
    let request = steps(vec![Step {
        timeout: Duration::from_millis(700),
        ..step("trap '' TERM; setsid sleep 1071 & sleep 1071")
    }]);
    let answer = house.steps(&request);
    let ending = StepEnding::TimedOut(Duration::from_millis(700));
    assert_eq!(answer.failure(), &Failure::Step { index: 0, ending });
    assert_eq!(processes_with("1071"), 0);
}

#[test]
fn what_a_step_leaves_running_ends_with_it() {
    let house = House::with_workspace();
    let left = "(trap '' TERM HUP; setsid sh -c 'while :; do date +%N >>ticks; sleep 0.01; done' x1072 &) ; sleep 0.2";
    // The next step finds none of it, and nothing holds the output open.
    let request = steps(vec![
        step(left),
        step("cp ticks before; sleep 0.2; cmp ticks before; echo quiet"),
    ]);
    let answer = house.steps(&request);
    assert_eq!(answer.output(), "quiet\n");
    assert_eq!(processes_with("x1072"), 0);
    assert!(fs::metadata(house.workspace().join("ticks")).unwrap().len() > 0);
}

#[test]
fn the_whole_request_has_a_limit() {
    let house = House::with_workspace();
    let mut request = steps(vec![step("sleep 1073")]);
    request.limit = Duration::from_secs(1);
    let answer = house.steps(&request);
    assert_eq!(
        answer.failure(),
        &Failure::Timeout {
            limit: Duration::from_secs(1)
        }
    );
    assert_eq!(processes_with("1073"), 0);
}

#[test]
fn a_runner_that_is_asked_to_end_ends_everything() {
    let house = House::with_workspace();
    let running = house.begin(&steps(vec![step(
        "trap '' TERM; touch begun; setsid sleep 1074 & sleep 1074",
    )]));
    wait_for(|| house.workspace().join("begun").exists());
    running.signal(Signal::TERM);
    let answer = running.answer();
    assert_eq!(answer.failure(), &Failure::Terminated);
    assert_eq!(answer.code, 143);
    assert_eq!(processes_with("1074"), 0);
}

#[test]
fn a_runner_that_waits_for_its_request_can_be_asked_to_end() {
    for command in ["steps", "verify", "checkout"] {
        let house = House::with_workspace();
        let running = house.start(command, &[]);
        let status = format!("/proc/{}/status", running.pid().as_raw_pid());
        // Bit 14 of the signals that it handles.
        let handles = || {
            let status = fs::read_to_string(&status).unwrap_or_default();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            caught.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() >> 14 & 1 == 1)
        };
        wait_for(handles);
        running.signal(Signal::TERM);
        let answer = running.answer();
        assert_eq!(answer.failure(), &Failure::Terminated, "{command}");
        assert_eq!(answer.events.len(), 1);
    }
}

#[test]
fn a_request_that_does_not_arrive_whole_is_not_answered() {
    let house = House::with_workspace();
    let whole = super::house::written(&steps(vec![step("touch done")]), &[]);
    for length in [0, 3, 40] {
        let workspace = house.workspace().display().to_string();
        let mut running = house.start("steps", &["--workspace", &workspace]);
        running.send(&whole[..length]);
        running.close_input();
        let answer = running.answer();
        assert_eq!(answer.events.len(), 1);
        let text = format!("{:?}", answer.failure());
        assert!(text.contains("did not arrive whole"), "{text}");
    }
    assert!(!house.workspace().join("done").exists());
}

#[test]
fn secrets_are_masked_and_found() {
    let house = House::with_workspace();
    let value = "tok-5f9a1c\nsecond-line-77";
    let mut request = steps(vec![step(
        "printf '%s' \"$TOKEN\"; echo; printf tok-; sleep 0.1; echo 5f9a1c; echo $SHORT; mkdir a; printf '%s' \"$TOKEN\" | base64 -w0 >a/'x tok-5f9a1c'",
    )]);
    request
        .variables
        .push(("TOKEN".to_owned(), value.to_owned()));
    request
        .variables
        .push(("SHORT".to_owned(), "ab".to_owned()));
    request.secrets = vec![secret("secret TOKEN", value), secret("secret SHORT", "ab")];
    let answer = house.steps(&request);
    assert_eq!(answer.output(), "***\n***\n***\n***\n");
    let Failure::SecretInside { names, paths } = answer.failure() else {
        panic!("{:?}", answer.failure());
    };
    assert_eq!(names, &["secret TOKEN"]);
    assert!(!paths.is_empty());
    assert!(!answer.text.contains("tok-5f9a1c"), "{}", answer.text);
    assert_eq!(
        answer.notices(),
        ["secret SHORT is too short to be searched for in the workspace"]
    );

    let clean = House::with_workspace();
    request.steps = vec![step("echo clean >file")];
    let answer = clean.steps(&request);
    assert!(answer.baked().verified.contains(&"no secrets".to_owned()));
}

/// behaviours 2.16
#[test]
fn large_output_is_kept_whole() {
    let house = House::with_workspace();
    let lines = "seq -f 'line %010.0f of what a long build says, one after another' 1 900000";
    let request = steps(vec![step(&format!(
        "{lines} | tee ../ws/said; head -c 300000 /dev/zero | tr '\\0' x"
    ))]);
    let answer = house.steps(&request);
    answer.baked();
    let output = answer.output();
    let said = fs::read_to_string(house.workspace().join("said")).unwrap();
    assert!(said.len() > 50_000_000);
    assert!(output.starts_with(&said));
    assert_eq!(output[said.len()..].replace('\n', ""), "x".repeat(300_000));
    let longest = answer.text.lines().map(str::len).max().unwrap();
    assert!(longest < 16 << 10, "{longest}");
}

#[test]
fn output_is_seen_as_it_comes() {
    let house = House::with_workspace();
    let answer = house.steps(&steps(vec![step(
        "printf 'no end'; printf '\\377\\n\\n'; printf end",
    )]));
    assert_eq!(answer.output(), "no end\u{fffd}\n\nend\n");
}

#[test]
fn a_repository_that_a_step_broke_is_not_published() {
    let house = House::with_workspace();
    let make = "git init -q r; cd r; echo 1 >f; git add f; git -c user.name=a -c user.email=a@b commit -qm m";
    let mut request = steps(vec![step(make)]);
    request.checkouts = vec!["r".to_owned()];
    let verified = |answer: &Answer| answer.baked().verified.contains(&"git fsck".to_owned());
    assert!(verified(&house.steps(&request)));
    request.steps = vec![step("true")];
    request.checkouts.push("removed".to_owned());
    assert!(!verified(&house.steps(&request)));
    let spoil = "cd r; f=$(git rev-parse HEAD:f | sed 's|^..|&/|'); chmod u+w .git/objects/$f";
    for harm in [
        "rm .git/objects/$f",
        "echo garbage >.git/objects/$f",
        "mv .git ../elsewhere; ln -s ../elsewhere .git",
    ] {
        request.steps = vec![step(&format!("cp -a r kept; {spoil}; {harm}"))];
        let answer = house.steps(&request);
        let text = format!("{:?}", answer.failure());
        assert!(text.contains("cannot verify the repository r"), "{text}");
        assert_eq!(house.in_volume(), ["manifest", "ws"]);
        request.steps = vec![step("rm -rf r elsewhere; mv kept r")];
        house.steps(&request).baked();
    }
}

#[test]
fn what_steps_leave_beside_the_workspace_goes() {
    let house = House::with_workspace();
    let litter = "mkdir -p ../litter/closed; touch ../litter/closed/f ../manifest.1.draft; chmod 0 ../litter/closed; ln -s /etc/passwd ../manifest";
    let answer = house.steps(&steps(vec![step(litter)]));
    answer.baked();
    assert_eq!(house.in_volume(), ["manifest", "ws"]);
    let manifest = fs::symlink_metadata(house.volume().join("manifest")).unwrap();
    assert!(manifest.is_file());
    assert_eq!(manifest.permissions().mode() & 0o777, 0o644);
}

#[test]
fn another_folder_is_not_taken_for_the_workspace() {
    let house = House::with_workspace();
    let copies = house.copies().display().to_string();
    let answer = house.ask(
        "steps",
        &["--workspace", &copies],
        &steps(vec![step("true")]),
        &[],
    );
    let text = format!("{:?}", answer.failure());
    assert!(text.contains("is not the volume's workspace"), "{text}");
}

pub(crate) fn wait_for(there: impl Fn() -> bool) {
    let began = Instant::now();
    while !there() {
        assert!(began.elapsed() < Duration::from_secs(30), "it never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}
