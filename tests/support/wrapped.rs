//! The program, started by another one that changes what it inherits.

use std::path::PathBuf;
use std::process::Command;

use rustix::process::Pid;

use crate::processes::wait_until;
use crate::project::Running;

/// `starter`, with the whole of `command` as its last words.
pub(crate) fn started_by(starter: &[&str], command: &Command) -> Command {
    let mut wrapped = Command::new(starter[0]);
    let set = |(name, value): (_, Option<_>)| value.map(|value| (name, value));
    wrapped
        .args(&starter[1..])
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear()
        .envs(command.get_envs().filter_map(set))
        .stdin(std::process::Stdio::null());
    if let Some(folder) = command.get_current_dir() {
        wrapped.current_dir(folder);
    }
    wrapped
}

impl Running<'_> {
    /// The launcher of its sandbox.
    pub(crate) fn launcher(&self) -> Pid {
        let parent = format!("\nPPid:\t{}\n", self.child.id());
        let mut found = None;
        wait_until("a launcher", || {
            found = std::fs::read_dir("/proc")
                .unwrap()
                .flatten()
                .map(|entry| entry.path())
                .find(|process| {
                    let text = |name: &str| {
                        let path: PathBuf = process.join(name);
                        let bytes = std::fs::read(path).unwrap_or_default();
                        String::from_utf8_lossy(&bytes).into_owned()
                    };
                    text("status").contains(&parent) && text("cmdline").contains("\0__sandbox\0")
                });
            found.is_some()
        });
        let name = found.unwrap();
        let number = name.file_name().unwrap().to_str().unwrap();
        Pid::from_raw(number.parse().unwrap()).unwrap()
    }
}
