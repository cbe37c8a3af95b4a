//! What a sandbox that stays survives, and how it is found again.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, getsid, kill_process};

use crate::attached::Attached;
use crate::house::House;
use crate::processes::{is_running, marker, wait_until};
use crate::project::pairs;
use crate::wrapped::started_by;

/// Opens the machine's root as two more descriptors.
const OPENED: [&str; 4] = ["bash", "-c", "exec \"$@\" 9</ 250</", "bash"];

#[test]
fn it_survives_the_terminal_it_was_started_on() {
    let house = House::new("from dev-base");
    let marker = marker();
    let up = house.atelier(&["up", "-d", "--name", "web", "--", "sleep", &marker]);
    let mut attached = Attached::start(&up, "--default-signal=HUP");
    attached.until("web");
    attached.wait();
    attached.hang_up();
    std::thread::sleep(Duration::from_millis(200));
    assert!(is_running(&format!("sleep\0{marker}")));
    assert_eq!(house.listed(), pairs(&[("web", "running")]));
}

#[test]
fn its_keeper_has_nothing_of_the_caller() {
    let house = House::new("from dev-base");
    let mut up = started_by(&OPENED, &house.atelier(&["up", "-d", "--name", "web"]));
    up.env("A_VARIABLE", "of the caller");
    house.run_command(up).expect(0);
    let (keeper, first) = (house.keeper("web"), house.first("web"));
    assert_eq!(getsid(Some(keeper)).unwrap(), keeper);
    let process = |pid: Pid, name: &str| format!("/proc/{}/{name}", pid.as_raw_pid());
    let links = |pid: Pid| {
        let entries = fs::read_dir(process(pid, "fd")).unwrap().flatten();
        entries
            .map(|entry| fs::read_link(entry.path()).unwrap_or_default())
            .map(|path| path.display().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(links(first), [] as [String; 0]);
    let allowed = [
        "/dev/null",
        "/sys/fs/cgroup/",
        "socket:",
        "pipe:",
        "anon_inode:",
        "ipc:",
        "pid:",
        "uts:",
        "mnt:",
    ];
    let lock = house.store.join("k/web/lock").display().to_string();
    for link in links(keeper) {
        let known = allowed.iter().any(|start| link.starts_with(start));
        assert!(known || link == lock, "{link}");
    }
    for pid in [keeper, first] {
        let environ = fs::read_to_string(process(pid, "environ")).unwrap();
        assert!(!environ.contains("A_VARIABLE"), "{environ}");
        assert!(environ.contains("PATH="), "{environ}");
    }
    // Nor has what runs in it.
    let exec = house.atelier(&["exec", "web", "--", "sh", "-c", "ls /proc/self/fd | xargs"]);
    let ran = house.run_command(started_by(&OPENED, &exec)).expect(0);
    assert_eq!(ran.stdout, "0 1 2 3\n");
}

#[test]
fn a_name_in_use_is_said_so() {
    let house = House::with_web();
    let ran = house.run(&["up", "-d", "--name", "web"]).expect(2);
    assert_eq!(ran.stdout, "");
    assert_eq!(
        ran.stderr,
        "error[A0801]: the name web is in use\n  help: choose another name, or remove the sandbox with `atelier rm web`\n"
    );
    house.run(&["up", "-d", "--name", "a/b"]).expect(2);
    house
        .run(&["up", "--name", "other", "--", "true"])
        .expect(2);
    let ran = house.run(&["up", "-d"]).expect(0);
    let name = ran.stdout.trim_end();
    assert!((1..12).contains(&name.len()), "{name}");
    house.sh(name, "test -e f").expect(0);
    assert_eq!(
        house.listed(),
        pairs(&[("web", "running"), (name, "running")])
    );
}

#[test]
fn of_two_that_want_one_name_one_gets_it() {
    let house = House::new("from dev-base");
    for _ in 0..5 {
        let running: Vec<_> = (0..4)
            .map(|_| house.start(&["up", "-d", "--name", "web"]))
            .collect();
        let mut codes: Vec<i32> = running
            .into_iter()
            .map(|running| running.wait().code())
            .collect();
        codes.sort_unstable();
        assert_eq!(codes, [0, 2, 2, 2]);
        house.sh("web", "true").expect(0);
        house.run(&["rm", "web"]).expect(0);
        house.assert_nothing_left();
    }
}

#[test]
fn a_killed_keeper_takes_the_sandbox_with_it_and_leaves_its_writes() {
    let house = House::with_web();
    let marker = marker();
    house
        .sh(
            "web",
            &format!("echo mine > g; rm f; sleep {marker} >/dev/null 2>&1 &"),
        )
        .expect(0);
    for round in 0..3 {
        let (keeper, first) = (house.keeper("web"), house.first("web"));
        // From the second round on it is not the keeper, but what it keeps.
        kill_process(if round == 0 { keeper } else { first }, Signal::KILL).unwrap();
        wait_until("it to end", || house.listed() == pairs(&[("web", "ended")]));
        wait_until("its processes to end", || {
            !is_running(&format!("sleep\0{marker}"))
        });
        let ran = house.run(&["exec", "web", "--", "true"]).expect(2);
        assert!(
            ran.stderr.contains("atelier up -d --name web"),
            "{}",
            ran.stderr
        );
        house.run(&["up", "-d", "--name", "web"]).expect(0);
        assert_eq!(house.listed(), pairs(&[("web", "running")]));
        let ran = house
            .sh("web", "cat g; test ! -e f; echo $?; echo again >> g")
            .expect(0);
        assert_eq!(
            ran.stdout,
            "mine\n".to_owned() + &"again\n".repeat(round) + "0\n"
        );
    }
    house.run(&["rm", "web"]).expect(0);
    house.assert_nothing_left();
}

#[test]
fn it_starts_again_at_once_after_its_keeper_was_killed() {
    let house = House::with_web();
    for round in 0..20 {
        house.sh("web", &format!("echo {round} >> g")).expect(0);
        kill_process(house.keeper("web"), Signal::KILL).unwrap();
        house.run(&["up", "-d", "--name", "web"]).expect(0);
    }
    let ran = house.sh("web", "wc -l < g").expect(0);
    assert_eq!(ran.stdout, "20\n");
}

#[test]
fn an_ended_one_of_another_snapshot_is_left_alone() {
    let house = House::with_web();
    house.sh("web", "echo mine > g").expect(0);
    kill_process(house.keeper("web"), Signal::KILL).unwrap();
    wait_until("it to end", || house.listed() == pairs(&[("web", "ended")]));
    house.edit("echo baked", "echo other");
    let ran = house.run(&["up", "-d", "--name", "web"]).expect(2);
    assert!(
        ran.stderr.contains("the name web is in use"),
        "{}",
        ran.stderr
    );
    house.edit("echo other", "echo baked");
    house.run(&["up", "-d", "--name", "web"]).expect(0);
    assert_eq!(house.sh("web", "cat g").expect(0).stdout, "mine\n");
}

/// behaviours 2.19
#[test]
fn builds_and_sweeps_leave_it_alone() {
    let house = House::with_web();
    house.run(&["build", "--force", "default"]).expect(0);
    house.run(&["up", "--", "true"]).expect(0);
    house.run(&["build", "--force", "default"]).expect(0);
    assert_eq!(house.sh("web", "cat f").expect(0).stdout, "baked\n");
    kill_process(house.keeper("web"), Signal::KILL).unwrap();
    wait_until("it to end", || house.listed() == pairs(&[("web", "ended")]));
    house.run(&["build", "--force", "default"]).expect(0);
    house.run(&["up", "-d", "--name", "web"]).expect(0);
    assert_eq!(house.sh("web", "cat f").expect(0).stdout, "baked\n");
}

#[test]
fn a_killed_up_leaves_a_listed_sandbox_or_nothing() {
    let house = House::new("from dev-base");
    let (mut listed, mut none) = (0, 0);
    for round in 0..60 {
        let marker = marker();
        let running = house.start(&["up", "-d", "--name", "web", "--", "sleep", &marker]);
        std::thread::sleep(Duration::from_millis(round * 2));
        running.signal(Signal::KILL);
        running.wait();
        // What was not confirmed ends by itself.
        let settled = || match house.listed().as_slice() {
            [] => house.processes().is_empty(),
            [(name, state)] => {
                assert_eq!(name, "web");
                state == "running" || house.processes().is_empty()
            }
            more => panic!("{more:?}"),
        };
        wait_until("it to settle", settled);
        match house.listed().pop() {
            None => none += 1,
            Some((_, state)) => {
                listed += 1;
                if state == "ended" {
                    house.run(&["up", "-d", "--name", "web"]).expect(0);
                }
                house.sh("web", "true").expect(0);
                house.run(&["rm", "web"]).expect(0);
            }
        }
        house.run(&["ps"]).expect(0);
        house.assert_nothing_left();
        assert!(!is_running(&marker));
    }
    assert!(
        listed > 0 && none > 0,
        "{listed} listed, {none} not: other moments are needed"
    );
}

#[test]
fn twenty_at_once() {
    let house = House::new("from dev-base\nrun \"echo baked > f\"");
    let names: Vec<String> = (0..20).map(|number| format!("s{number}")).collect();
    let ups: Vec<_> = names
        .iter()
        .map(|name| house.start(&["up", "-d", "--name", name]))
        .collect();
    for up in ups {
        up.wait().expect(0);
    }
    assert_eq!(house.listed().len(), 20);
    let execs: Vec<_> = names
        .iter()
        .map(|name| house.start_sh(name, &format!("echo {name} > g; sleep 0.1; cat f g")))
        .collect();
    for (exec, name) in execs.into_iter().zip(&names) {
        assert_eq!(exec.wait().expect(0).stdout, format!("baked\n{name}\n"));
    }
    house.run(&["down", "--all"]).expect(0);
    assert_eq!(house.listed(), []);
    house.assert_nothing_left();
}
