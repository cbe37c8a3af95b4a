//! A user namespace for who is not root: entered by a process of one thread, before it mounts or unpacks anything.

use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{WaitOptions, waitpid};
use rustix::thread::{Gid, Uid, set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use super::protocol::Refusal;
use super::way::{DEV, Ids, MAPPERS, Way};
use crate::sys;

/// Enters the namespace that `way` needs, and becomes root there. Forgets the parent-death signal.
pub(super) fn enter(way: Way) -> Result<(), Refusal> {
    match way {
        Way::Root | Way::Direct { .. } => Ok(()),
        Way::Range { users, groups } => {
            enter_with_range(users, groups)?;
            become_root().map_err(|error| Refusal::new("become root of a user namespace", error))
        }
        Way::Alone { user, group } => {
            unshare()?;
            map_one("0", user, group).map_err(|error| Refusal::new("map the caller's id", error))
        }
    }
}

/// Enters a namespace inside that of [`Way::Alone`] in which its one user, root, is `dev`.
pub(super) fn become_dev() -> io::Result<()> {
    sys::unshare_user()?;
    map_one(&DEV.to_string(), 0, 0)
}

fn unshare() -> Result<(), Refusal> {
    sys::unshare_user().map_err(|error| Refusal::new("create a user namespace", error))
}

fn map_one(inside: &str, user: u32, group: u32) -> io::Result<()> {
    // Without this one's own group may not be mapped: leaving groups could give rights that they take away.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{inside} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{inside} {group} 1"))
}

fn become_root() -> rustix::io::Result<()> {
    let (user, group) = (Uid::ROOT, Gid::ROOT);
    set_thread_groups(&[])?;
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)
}

/// The ids have to be mapped from outside, by programs of the machine that may do so: a child stays there and calls them.
fn enter_with_range(users: Ids, groups: Ids) -> Result<(), Refusal> {
    let pipe = || io::pipe().map_err(|error| Refusal::new("make a pipe", error));
    let (entered, tell_entered) = pipe()?;
    let (mapped, tell_mapped) = pipe()?;
    let me = std::process::id();
    let forked = sys::fork().map_err(|error| Refusal::new("fork", error))?;
    let sys::Fork::Parent(child) = forked else {
        drop((tell_entered, mapped));
        map_from_outside(me, users, groups, entered, tell_mapped);
        sys::exit_now(0);
    };
    drop((entered, tell_mapped));
    let unshared = unshare();
    drop(tell_entered);
    let said = io::read_to_string(mapped).unwrap_or_default();
    waitpid(Some(child), WaitOptions::empty()).map_err(|error| Refusal::new("wait", error))?;
    unshared?;
    match said.as_str() {
        MAPPED => Ok(()),
        complaint => {
            let cause = io::Error::other(complaint.trim().to_owned());
            Err(Refusal::new("map the caller's range of ids", cause))
        }
    }
}

const MAPPED: &str = "mapped";

fn map_from_outside(
    process: u32,
    users: Ids,
    groups: Ids,
    mut entered: PipeReader,
    mut tell: PipeWriter,
) {
    // Closed when the parent has entered its namespace, or is dead.
    entered.read_to_end(&mut Vec::new()).ok();
    let [users, groups] = [(MAPPERS[0], users), (MAPPERS[1], groups)]
        .map(|(program, ids)| start(program, process, ids));
    let complaints: Vec<String> = [users, groups]
        .into_iter()
        .filter_map(|child| complaint(child.and_then(Child::wait_with_output)))
        .collect();
    let said = match complaints.is_empty() {
        true => MAPPED.to_owned(),
        false => complaints.join("; "),
    };
    tell.write_all(said.as_bytes()).ok();
}

fn start(program: &str, process: u32, ids: Ids) -> io::Result<Child> {
    let usual = Path::new("/usr/bin").join(program);
    let program = if usual.is_file() {
        usual
    } else {
        program.into()
    };
    Command::new(program)
        .arg(process.to_string())
        .args(ids.stretches().concat().iter().map(u32::to_string))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
}

fn complaint(output: io::Result<Output>) -> Option<String> {
    match output {
        Ok(output) if output.status.success() => None,
        Ok(Output { status, stderr, .. }) => Some(format!(
            "{} ({status})",
            String::from_utf8_lossy(&stderr).trim()
        )),
        Err(error) => Some(error.to_string()),
    }
}
