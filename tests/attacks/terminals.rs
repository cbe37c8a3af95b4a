//! A sandbox on a terminal that goes away, or that is told to.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use crate::processes::{is_running, marker, wait_until};
use crate::project::Project;
use crate::wrapped::started_by;

/// The program on a terminal of its own.
struct Attached {
    /// The side of whoever looks at it.
    outer: Option<OwnedFd>,
    inner: File,
    child: Child,
}

impl Attached {
    fn up(project: &Project, script: &str, signals: &str) -> Self {
        let outer = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&outer).unwrap();
        unlockpt(&outer).unwrap();
        let name = ptsname(&outer, Vec::new()).unwrap().into_string().unwrap();
        let mut options = File::options();
        options.read(true).write(true);
        let inner = options
            .custom_flags(OpenptFlags::NOCTTY.bits().cast_signed())
            .open(name)
            .unwrap();
        let up = project.atelier(&["up", "--", "sh", "-c", script]);
        let mut command = started_by(&["env", signals, "setsid", "--ctty"], &up);
        let end = || Stdio::from(inner.try_clone().unwrap());
        let child = command.stdin(end()).stdout(end()).stderr(end());
        let child = child.spawn().unwrap();
        let mut attached = Self {
            outer: Some(outer),
            inner,
            child,
        };
        attached.until("begun");
        attached
    }

    fn until(&mut self, text: &str) {
        let mut outer = File::from(self.outer.as_ref().unwrap().try_clone().unwrap());
        let (mut seen, mut buffer) = (String::new(), [0; 1024]);
        while !seen.contains(text) {
            let length = outer.read(&mut buffer).unwrap();
            seen.push_str(&String::from_utf8_lossy(&buffer[..length]));
        }
    }

    fn is_cooked(&self) -> bool {
        let modes = tcgetattr(&self.inner).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    fn wait(&mut self) -> Option<i32> {
        let mut ended = None;
        wait_until("it to end", || {
            ended = self.child.try_wait().unwrap();
            ended.is_some()
        });
        ended.unwrap().code()
    }

    /// Ticks of the processor that it has used.
    fn work(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        let fields: Vec<&str> = fields.split(' ').collect();
        [11, 12]
            .map(|at| fields[at].parse::<u64>().unwrap())
            .iter()
            .sum()
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // If the test has failed, nobody else ends it.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn project() -> Project {
    let project = Project::new("from dev-base");
    project.run(&["build"]).expect(0);
    project
}

#[test]
fn a_signal_leaves_the_terminal_as_it_was_and_nothing_behind() {
    let project = project();
    for signal in [Signal::HUP, Signal::QUIT, Signal::TERM] {
        let marker = marker();
        let script = format!("echo begun; sleep {marker}");
        let mut attached = Attached::up(&project, &script, "--default-signal=HUP,QUIT,TERM");
        assert!(!attached.is_cooked());
        kill_process(Pid::from_child(&attached.child), signal).unwrap();
        assert_eq!(attached.wait(), Some(130), "{signal:?}");
        assert!(attached.is_cooked(), "{signal:?}");
        assert!(!is_running(&marker));
        project.assert_nothing_left();
    }
}

#[test]
fn a_terminal_that_goes_away_ends_the_sandbox() {
    let project = project();
    let marker = marker();
    let script = format!("echo begun; sleep {marker}");
    let mut attached = Attached::up(&project, &script, "--default-signal=HUP");
    drop(attached.outer.take());
    assert_eq!(attached.wait(), Some(130));
    assert!(!is_running(&marker));
    project.assert_nothing_left();
}

#[test]
fn a_terminal_that_goes_away_while_hang_ups_are_ignored_costs_no_time() {
    let project = project();
    let marker = marker();
    let script = format!("trap '' HUP; echo begun; sleep {marker}");
    let mut attached = Attached::up(&project, &script, "--ignore-signal=HUP");
    drop(attached.outer.take());
    let before = attached.work();
    std::thread::sleep(Duration::from_secs(1));
    let spent = attached.work() - before;
    assert!(spent < 20, "{spent} ticks in a second");
    kill_process(Pid::from_child(&attached.child), Signal::TERM).unwrap();
    attached.wait();
    assert!(!is_running(&marker));
    project.assert_nothing_left();
}
