//! Places on trees that are made up, and groups on the machine's own where it lets us make some.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::TempDir;

use super::super::protocol::Version;
use super::group::{Ended, Group, sweep};
use super::place::{Hierarchy, Place};
use super::{ControlGroups, Controller, Limits, describe};
use Controller::{Cpus, Memory, Processes};

/// A root folder with a /proc and control groups.
struct Machine(TempDir);

const UNIFIED: &str = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";

impl Machine {
    fn new(mounts: &str, own: &str) -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        machine.write("proc/self/mountinfo", &format!("{MOUNTS}{mounts}"));
        machine.write("proc/self/cgroup", own);
        machine
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A group that this user may change: in it is the list that takes processes.
    fn group(&self, name: &str, handed: &str) -> PathBuf {
        let path = self.path("sys/fs/cgroup").join(name);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("cgroup.procs"), "").unwrap();
        fs::write(path.join("cgroup.subtree_control"), handed).unwrap();
        path
    }

    fn place(&self) -> Place {
        Place::find(self.0.path())
    }
}

const MOUNTS: &str = "24 1 254:0 / / rw shared:1 - ext4 /dev/vda rw,discard
25 24 0:5 / /dev rw - devtmpfs devtmpfs rw,size=4096k,mode=755
";

fn two(parent: PathBuf, controllers: &[Controller]) -> Hierarchy {
    Hierarchy {
        version: Version::Two,
        parent,
        controllers: controllers.to_vec(),
    }
}

fn one(parent: PathBuf, controllers: &[Controller]) -> Hierarchy {
    Hierarchy {
        version: Version::One,
        ..two(parent, controllers)
    }
}

fn unlimited(place: &Place) -> Vec<Controller> {
    place.unlimited.iter().map(|(one, _)| *one).collect()
}

const USER: &str = "user.slice/user-1000.slice/user@1000.service";

/// As a login has it: systemd's own instance for the user hands controllers down, and starts programs in leaves.
#[test]
fn a_user_gets_groups_in_what_systemd_delegates() {
    let own = format!("0::/{USER}/app.slice/run.scope\n");
    let machine = Machine::new(UNIFIED, &own);
    machine.group(&format!("{USER}/app.slice/run.scope"), "");
    let slice = machine.group(&format!("{USER}/app.slice"), "memory pids\n");
    let place = machine.place();
    assert_eq!(place.hierarchies, [two(slice, &[Memory, Processes])]);
    assert_eq!(unlimited(&place), [Cpus]);
    let service = machine.group(USER, "cpu memory pids\n");
    let place = machine.place();
    let all = [Memory, Processes, Cpus];
    assert_eq!(place.hierarchies, [two(service, &all)]);
    assert_eq!(place.unlimited, []);
}

#[test]
fn a_group_that_is_somebody_else_s_is_not_used() {
    let machine = Machine::new(UNIFIED, "0::/user.slice/session-3.scope\n");
    machine.group("user.slice/session-3.scope", "");
    let slice = machine.group("user.slice", "cpu memory pids\n");
    fs::remove_file(slice.join("cgroup.procs")).unwrap();
    machine.write("sys/fs/cgroup/cgroup.controllers", "cpu io memory pids\n");
    let place = machine.place();
    assert_eq!(place.hierarchies, []);
    assert_eq!(
        describe(&place.unlimited).unwrap(),
        "memory and the number of processes and processors are not limited: no control group above this process is \
         delegated to this user; `systemd-run --user --scope` starts a program in one that is"
    );
}

/// A group with processes hands nothing down, but for the topmost of the machine, which a container does not have.
#[test]
fn the_topmost_group_may_have_processes_and_groups() {
    let machine = Machine::new(UNIFIED, "0::/\n");
    let top = machine.group("", "cpu memory pids\n");
    let place = machine.place();
    assert_eq!(
        place.hierarchies,
        [two(top.clone(), &[Memory, Processes, Cpus])]
    );
    fs::write(top.join("cgroup.type"), "domain\n").unwrap();
    assert_eq!(machine.place().hierarchies, []);
}

/// Version 1, mounted as systemd did it, and the new tree beside it for what is left.
#[test]
fn a_hybrid_machine_gives_what_each_version_has() {
    let mounts = "31 24 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
32 24 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
33 24 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";
    let own = "4:memory:/a/b\n3:cpu,cpuacct:/\n1:name=systemd:/x\n0::/c/d\n";
    let machine = Machine::new(mounts, own);
    let cpu = machine.group("cpu,cpuacct", "");
    let memory = machine.group("memory/a/b", "");
    machine.group("unified/c/d", "");
    let above = machine.group("unified/c", "pids\n");
    let place = machine.place();
    let expected = [
        one(memory, &[Memory]),
        one(cpu.clone(), &[Cpus]),
        two(above, &[Processes]),
    ];
    assert_eq!(place.hierarchies, expected);
    fs::remove_file(cpu.join("cgroup.procs")).unwrap();
    let why = "processors are not limited: this user may not make control groups";
    assert_eq!(describe(&machine.place().unlimited).as_deref(), Some(why));
}

/// A container sees a part of the tree; what lies outside of it is out of reach.
#[test]
fn in_a_container_the_own_group_is_found_below_what_is_mounted() {
    let mounts = "32 24 0:30 /docker/c /sys/fs/cgroup/all rw - cgroup cgroup rw,memory,pids,cpu\n";
    let machine = Machine::new(mounts, "4:memory,pids,cpu:/docker/c/x\n");
    let all = machine.group("all/x", "");
    let place = machine.place();
    assert_eq!(place.hierarchies, [one(all, &[Memory, Processes, Cpus])]);
    machine.write("proc/self/cgroup", "4:memory,pids,cpu:/elsewhere\n");
    assert_eq!(machine.place().hierarchies, []);
    let nothing = Machine::new("", "");
    assert_eq!(unlimited(&nothing.place()), Controller::ALL);
}

const LIMITS: Limits = Limits {
    cpus: 1,
    memory: 1 << 30,
    processes: 8,
};

fn only_folder(parent: &Path) -> PathBuf {
    let entries = fs::read_dir(parent)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut folders = entries.filter(|path| path.is_dir());
    let (folder, None) = (folders.next().unwrap(), folders.next()) else {
        panic!("several groups in {}", parent.display())
    };
    folder
}

#[test]
fn limits_are_written_where_each_version_has_them() {
    let machine = Machine::new("", "");
    let (old, new) = (machine.group("old", ""), machine.group("new", ""));
    let place = Place {
        hierarchies: vec![
            one(old.clone(), &[Memory, Cpus]),
            two(new.clone(), &[Memory, Processes]),
        ],
        unlimited: Vec::new(),
    };
    let group = Group::make(&place, &LIMITS);
    assert_eq!(group.not_enforced(), None);
    let read = |parent, name| fs::read_to_string(only_folder(parent).join(name)).unwrap();
    assert_eq!(read(&old, "memory.limit_in_bytes"), "1073741824");
    assert_eq!(read(&old, "memory.memsw.limit_in_bytes"), "1073741824");
    assert_eq!(read(&new, "memory.max"), "1073741824");
    assert_eq!(read(&new, "memory.swap.max"), "0");
    assert_eq!(read(&new, "pids.max"), "8");
    if std::thread::available_parallelism().unwrap().get() > 1 {
        assert_eq!(read(&old, "cpu.cfs_quota_us"), "100000");
    }
}

#[test]
fn what_the_limits_did_is_told_once() {
    let machine = Machine::new("", "");
    let (old, new) = (machine.group("old", ""), machine.group("new", ""));
    let place = Place {
        hierarchies: vec![one(old.clone(), &[Memory]), two(new.clone(), &[Processes])],
        unlimited: Vec::new(),
    };
    let mut group = Group::make(&place, &LIMITS);
    assert_eq!(group.ended(), Ended::default());
    let kills = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
    fs::write(only_folder(&old).join("memory.oom_control"), kills).unwrap();
    fs::write(only_folder(&new).join("pids.events"), "max 5\n").unwrap();
    let both = Ended {
        killed: 3,
        refused: 5,
    };
    assert_eq!(group.ended(), both);
    assert_eq!(group.ended(), Ended::default());
}

/// A group of the machine's own, if this user may make any with this limit.
fn real(controller: Controller) -> Option<(ControlGroups, Group)> {
    let groups = ControlGroups::default();
    let group = groups.group(&LIMITS);
    let refused = groups
        .place()
        .unlimited
        .iter()
        .any(|(one, _)| *one == controller);
    (!refused).then_some((groups, group))
}

/// A command that begins with joining the group, as the first process of a sandbox does.
fn inside(group: &Group, program: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", program]).stderr(Stdio::null());
    for folder in group.folders() {
        let list = match folder.version {
            Version::One => "tasks",
            Version::Two => "cgroup.procs",
        };
        let list = folder.path.join(list);
        crate::sys::before_exec(&mut command, move || fs::write(&list, "0"));
    }
    command.process_group(0);
    command
}

#[test]
fn the_number_of_processes_is_limited_and_a_group_is_removed_with_them() {
    let Some((groups, mut group)) = real(Processes) else {
        return;
    };
    let folders = group.folders();
    let many = "for n in 1 2 3 4 5 6 7 8 9; do sleep 60 & done";
    let status = inside(&group, many).status().unwrap();
    assert!(!status.success());
    assert!(group.ended().refused > 0);
    let list = folders[0].path.join("cgroup.procs");
    for pid in fs::read_to_string(list).unwrap().lines() {
        let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
        // It may have ended just now.
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
    }
    drop(group);
    // On a busy machine they take a moment to die, and then it is the next sweep's.
    swept(groups.place(), || {
        !folders.iter().any(|folder| folder.path.exists())
    });
}

/// Sweeps until something is gone: another sweep may have it in hand.
fn swept(place: &Place, is_gone: impl Fn() -> bool) {
    for _ in 0..500 {
        sweep(place);
        if is_gone() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("it stays");
}

#[test]
fn memory_that_is_used_up_ends_who_used_it() {
    let Some((_groups, mut group)) = real(Memory) else {
        return;
    };
    let hog = "head -c 2G /dev/zero | tail -c 2G | wc -c; exit 0";
    let output = inside(&group, hog).output().unwrap();
    assert_ne!(output.stdout, b"2147483648\n");
    assert!(group.ended().killed > 0);
}

#[test]
fn a_sweep_takes_what_nobody_holds() {
    let Some((groups, group)) = real(Memory) else {
        return;
    };
    let folders = group.folders();
    let abandoned = folders[0].path.with_file_name("atelier-abandoning");
    // Another program's, whose name begins like ours.
    let other = folders[0]
        .path
        .with_file_name(format!("atelier-other-{}", std::process::id()));
    for folder in [&abandoned, &other] {
        fs::create_dir(folder).unwrap();
    }
    swept(groups.place(), || !abandoned.exists());
    fs::remove_dir(&other).unwrap();
    assert!(folders.iter().all(|folder| folder.path.exists()));
}

/// The kernel's own groups, since it makes and removes one at a time, and so who removes may have to wait.
#[test]
fn a_sweep_never_takes_what_was_locked_beside_it() {
    let place = Place::find(Path::new("/"));
    let (ends, ended) = (AtomicBool::new(false), Ordering::Relaxed);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !ends.load(ended) {
                    sweep(&place);
                }
            });
        }
        let is_taken = (0..300).any(|_| {
            let group = Group::make(&place, &LIMITS);
            std::thread::sleep(std::time::Duration::from_millis(1));
            !group.folders().iter().all(|folder| folder.path.exists())
        });
        ends.store(true, ended);
        assert!(!is_taken);
    });
}
