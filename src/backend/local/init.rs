//! The first process of a sandbox's PID namespace: it enters the root, starts the one process it is for, reaps what is
//! orphaned, and ends. When it ends, the kernel ends everything else in the namespace.

use std::fs::{self, File};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use atelier_lang::graph::User;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, mount_remount, unmount};
use rustix::process::{
    Pid, Signal, WaitOptions, pivot_root, set_parent_process_death_signal, setsid, wait,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, Gid, Uid, UnshareFlags, capabilities,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs, set_thread_groups,
    set_thread_res_gid, set_thread_res_uid,
};
use serde::{Deserialize, Serialize};

use super::limits::Membership;
use super::place::Place;
use super::protocol::{Action, Layout, Process, Refusal, StdioKind};
use super::way::{DEV, Way};
use super::{direct, files, seccomp, userns};
use crate::backend::{Ending, Network};
use crate::sys;

/// What the kernel has; later ones are refused with EINVAL and do not matter.
const LAST_CAPABILITY: u32 = 63;

/// What a root step may do inside the sandbox.
const ROOT_CAPABILITIES: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETFCAP)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SYS_CHROOT);

#[derive(Serialize, Deserialize)]
enum Report {
    Ended(Ending),
    Refused(Refusal),
}

/// The namespaces of a sandbox's first process, beside that of process ids.
pub(super) fn namespaces(network: Network) -> UnshareFlags {
    let own = UnshareFlags::NEWNS
        .union(UnshareFlags::NEWIPC)
        .union(UnshareFlags::NEWUTS);
    match network {
        Network::Host => own,
        Network::None => own.union(UnshareFlags::NEWNET),
    }
}

/// What a process has to know of where it is started.
pub(super) struct Setting<'a> {
    pub way: Way,
    /// What every process has in its environment beyond what it is given.
    pub variable: Option<(&'a str, &'a str)>,
    /// The control groups that it enters, if its parent is in none.
    pub groups: Option<Arc<Membership>>,
}

/// Never returns: this is the child of a fork.
pub(super) fn main(
    joined: Result<(), Refusal>,
    root: &Path,
    place: &Place,
    process: &Process,
    output: Option<PipeWriter>,
    terminal: Option<&OwnedFd>,
    mut report: PipeWriter,
) -> ! {
    if !watch_launcher(&report) {
        sys::exit_now(1);
    }
    let result = joined.and_then(|()| live(root, place, process, output, terminal));
    let message = match result {
        Ok(ending) => Report::Ended(ending),
        Err(refusal) => Report::Refused(refusal),
    };
    let written = serde_json::to_vec(&message).is_ok_and(|text| report.write_all(&text).is_ok());
    sys::exit_now(i32::from(!written))
}

/// From here on the launcher's death is this process's; `false` if it is dead already. Its process id would not tell, in
/// a namespace of its own: the other end of `channel` does, which the launcher alone has.
pub(super) fn watch_launcher(channel: &impl AsFd) -> bool {
    let watched = set_parent_process_death_signal(Some(Signal::KILL)).is_ok();
    let mut channel = [PollFd::new(channel, PollFlags::empty())];
    let now = Timespec::default();
    let asked = poll(&mut channel, Some(&now)).is_ok();
    let closed = PollFlags::ERR | PollFlags::HUP;
    watched && asked && !channel[0].revents().intersects(closed)
}

/// What the first process said before it ended; nothing means that it was killed.
pub(super) fn read_report(mut report: PipeReader) -> Result<Ending, Refusal> {
    let mut text = Vec::new();
    report
        .read_to_end(&mut text)
        .map_err(|error| Refusal::new("read a report", error))?;
    match serde_json::from_slice(&text) {
        Ok(Report::Ended(ending)) => Ok(ending),
        Ok(Report::Refused(refusal)) => Err(refusal),
        Err(_) => Ok(Ending::Signalled(Signal::KILL.as_raw())),
    }
}

fn live(
    root: &Path,
    place: &Place,
    process: &Process,
    output: Option<PipeWriter>,
    terminal: Option<&OwnedFd>,
) -> Result<Ending, Refusal> {
    let layout = place.layout();
    match place {
        Place::Sandbox(_) => settle(root, layout)?,
        Place::Machine(_) => direct::adopt_orphans()?,
    }
    match &process.action {
        Action::Write(file) => {
            become_user(User::Dev, layout.way)
                .map_err(|error| Refusal::new("become dev", error))?;
            files::write(Path::new("/home/dev"), file)
                .map_err(|error| Refusal::new(format!("write {}", file.path), error))?;
            Ok(Ending::Exited(0))
        }
        Action::Run(program) => match start(&place.setting(), process, program, output, terminal) {
            Ok(child) => reap(child).map_err(|error| Refusal::new("wait for the process", error)),
            Err(NotStarted(code)) => Ok(Ending::Exited(code)),
        },
    }
}

/// Makes the namespaces of this process those of a sandbox.
pub(super) fn settle(root: &Path, layout: &Layout) -> Result<(), Refusal> {
    enter(root)?;
    rustix::system::sethostname(layout.hostname.as_bytes())
        .map_err(|error| Refusal::new("set the host name", error))?;
    match layout.network {
        Network::Host => Ok(()),
        Network::None => sys::raise_loopback()
            .map_err(|error| Refusal::new("bring the loopback device up", error)),
    }
}

/// Makes `root` the root of this mount namespace; what is outside is unreachable from here on.
fn enter(root: &Path) -> Result<(), Refusal> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", root.join("proc"), "proc", flags, None)
        .map_err(|error| Refusal::new("mount /proc", error))?;
    protect_proc(&root.join("proc")).map_err(|error| Refusal::new("protect /proc", error))?;
    let pivot = || {
        rustix::process::chdir(root)?;
        pivot_root(".", ".")?;
        unmount(".", UnmountFlags::DETACH)?;
        rustix::process::chdir("/")
    };
    pivot().map_err(|error| Refusal::new("enter the root file system", error))
}

/// What of /proc belongs to the machine. Its files ask who writes for a uid, not for a capability, so that a root step
/// could otherwise change it.
const READ_ONLY: [&str; 6] = ["sys", "irq", "bus", "fs", "acpi", "sysrq-trigger"];
const HIDDEN: [&str; 4] = ["kcore", "keys", "timer_list", "sched_debug"];

fn protect_proc(proc: &Path) -> rustix::io::Result<()> {
    let there = |name: &&&str| proc.join(name).exists();
    for path in READ_ONLY.iter().filter(there).map(|name| proc.join(name)) {
        mount_bind(&path, &path)?;
        let flags = MountFlags::BIND
            | MountFlags::RDONLY
            | MountFlags::NOSUID
            | MountFlags::NODEV
            | MountFlags::NOEXEC;
        mount_remount(&path, flags, c"")?;
    }
    for path in HIDDEN.iter().filter(there).map(|name| proc.join(name)) {
        mount_bind("/dev/null", &path)?;
    }
    Ok(())
}

/// What a shell says of a program that it cannot start: 127 if there is none, else 126. The reason has been printed
/// where the program would have printed.
pub(super) struct NotStarted(pub i32);

pub(super) fn start(
    setting: &Setting<'_>,
    process: &Process,
    program: &[String],
    output: Option<PipeWriter>,
    terminal: Option<&OwnedFd>,
) -> Result<Pid, NotStarted> {
    let mut errors = match (&output, terminal) {
        (Some(output), _) => output.as_fd().try_clone_to_owned(),
        (None, Some(terminal)) => terminal.try_clone(),
        (None, None) => io::stderr().as_fd().try_clone_to_owned(),
    }
    .map(File::from);
    launch(setting, process, program, output, terminal).map_err(|error| {
        if let Ok(errors) = &mut errors {
            let name = program.first().map_or("", String::as_str);
            writeln!(errors, "cannot start {name} in {}: {error}", process.folder).ok();
        }
        NotStarted(if error.kind() == io::ErrorKind::NotFound {
            127
        } else {
            126
        })
    })
}

fn launch(
    setting: &Setting<'_>,
    process: &Process,
    program: &[String],
    output: Option<PipeWriter>,
    terminal: Option<&OwnedFd>,
) -> io::Result<Pid> {
    let (name, arguments) = program.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(find(name, &process.environment)?);
    command
        .args(arguments)
        .env_clear()
        .envs(process.environment.iter().cloned())
        .envs(setting.variable);
    let copy = |fd: &OwnedFd| fd.try_clone().map(Stdio::from);
    match (process.stdio, output, terminal) {
        (StdioKind::Frames, Some(output), _) => {
            let output = OwnedFd::from(output);
            command
                .stdin(Stdio::null())
                .stdout(copy(&output)?)
                .stderr(output);
        }
        (StdioKind::Terminal(_), _, Some(terminal)) => {
            command.stdin(copy(terminal)?);
            command.stdout(copy(terminal)?).stderr(copy(terminal)?);
        }
        _ => {}
    }
    let (user, way) = (process.user, setting.way);
    let groups = setting.groups.clone();
    let terminal = terminal.is_some();
    let folder = process.folder.clone();
    let filters = seccomp::filters()?;
    sys::before_exec(&mut command, move || {
        groups.as_ref().map_or(Ok(()), |groups| groups.enter())?;
        begin_session(terminal)?;
        become_user(user, way)?;
        // As the user: a folder that they may not enter is an error.
        rustix::process::chdir(&folder)?;
        filters
            .iter()
            .try_for_each(|filter| seccompiler::apply_filter(filter).map_err(io::Error::other))
    });
    let child = command.spawn()?;
    Ok(Pid::from_raw(child.id().cast_signed()).ok_or(io::ErrorKind::Other)?)
}

/// The program's path, by the PATH that it will have and not by atelier's.
pub(crate) fn find(program: &str, environment: &[(String, String)]) -> io::Result<PathBuf> {
    if program.contains('/') {
        return Ok(PathBuf::from(program));
    }
    let path = environment
        .iter()
        .find(|(name, _)| name == "PATH")
        .map_or("", |(_, path)| path);
    let executable = |candidate: &PathBuf| {
        fs::metadata(candidate)
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    let found = path
        .split(':')
        .map(|folder| Path::new(folder).join(program))
        .find(executable);
    found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "it is not on the sandbox's PATH"))
}

fn begin_session(terminal: bool) -> io::Result<()> {
    setsid()?;
    if terminal {
        sys::take_terminal(io::stdin().as_raw_fd())?;
    }
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    Ok(())
}

/// Becomes `user`, with no more privileges than they need, for good.
fn become_user(user: User, way: Way) -> io::Result<()> {
    // Without a sandbox who is not root stays who they are.
    let is_caller = way.is_direct() && !way.has_root();
    match way {
        Way::Alone { .. } => userns::become_dev()?,
        _ if is_caller => {}
        _ => set_thread_groups(&[])?,
    }
    let keep = match user {
        User::Dev => CapabilitySet::empty(),
        User::Root => ROOT_CAPABILITIES,
    };
    for number in 0..=LAST_CAPABILITY {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        if !keep.contains(capability) && remove_capability_from_bounding_set(capability).is_err() {
            break; // The kernel knows no more.
        }
    }
    if user == User::Dev && !is_caller {
        let (uid, gid) = (Uid::from_raw(DEV), Gid::from_raw(DEV));
        set_thread_res_gid(gid, gid, gid)?;
        set_thread_res_uid(uid, uid, uid)?;
    }
    // A container's root may have fewer.
    let keep = keep.intersection(capabilities(None)?.permitted);
    let sets = CapabilitySets {
        effective: keep,
        permitted: keep,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, sets)?;
    Ok(set_no_new_privs(true)?)
}

/// Waits for `child`, and for every orphan that the namespace hands to its first process.
fn reap(child: Pid) -> rustix::io::Result<Ending> {
    loop {
        let (pid, status) = match wait(WaitOptions::empty()) {
            Ok(Some(ended)) => ended,
            Ok(None) | Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error),
        };
        if pid != child {
            continue;
        }
        if let Some(code) = status.exit_status() {
            return Ok(Ending::Exited(code));
        }
        if let Some(signal) = status.terminating_signal() {
            return Ok(Ending::Signalled(signal));
        }
    }
}
