//! Users of this machine who are not root, for the ways into a sandbox that they have. Made by root, once.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::geteuid;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// Has a range of subordinate ids.
    Range,
    /// Has its own id and no other.
    Alone,
}

/// Beyond what `useradd` gives away by itself.
const LENT: &str = "2100000000-2100065535";

impl User {
    fn name(self) -> &'static str {
        match self {
            Self::Range => "atelier-range",
            Self::Alone => "atelier-alone",
        }
    }

    /// Makes the account if it is not there.
    fn ensure(self) {
        assert!(geteuid().is_root(), "only root can act as other users");
        let name = self.name();
        if accounts()
            .iter()
            .any(|account| account.starts_with(&format!("{name}:")))
        {
            return;
        }
        let run = |program: &str, arguments: &[&str]| {
            let status = Command::new(program).args(arguments).status().unwrap();
            assert!(status.success(), "{program} {arguments:?}");
        };
        let add = [
            "--system",
            "--user-group",
            "--no-create-home",
            "--shell",
            "/bin/sh",
            name,
        ];
        run("useradd", &add);
        if self == Self::Range {
            run(
                "usermod",
                &["--add-subuids", LENT, "--add-subgids", LENT, name],
            );
        }
    }

    /// A folder of the user's own that they can reach; it stays until root deletes it.
    pub(crate) fn folder(self) -> tempfile::TempDir {
        self.ensure();
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let accounts = accounts();
        let account = accounts
            .iter()
            .find(|account| account.starts_with(&format!("{}:", self.name())));
        let ids: Vec<u32> = account
            .unwrap()
            .split(':')
            .filter_map(|part| part.parse().ok())
            .collect();
        chown(folder.path(), Some(ids[0]), Some(ids[1])).unwrap();
        folder
    }

    /// `program`, as this user, with `home` as home and nothing else of the environment but a plain PATH.
    pub(crate) fn command(self, program: &Path, home: &Path) -> Command {
        self.ensure();
        let mut command = Command::new("setpriv");
        command
            .args([
                "--reuid",
                self.name(),
                "--regid",
                self.name(),
                "--init-groups",
                "--",
            ])
            .arg(program)
            .env_clear()
            .env(
                "PATH",
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            )
            .env("HOME", home)
            .env("TMPDIR", home)
            .current_dir(home);
        command
    }
}

fn accounts() -> Vec<String> {
    let accounts = fs::read_to_string("/etc/passwd").unwrap();
    accounts.lines().map(str::to_owned).collect()
}

/// A copy of a program that every user can reach.
pub(crate) fn reachable(program: &Path, folder: &Path) -> PathBuf {
    let copy = folder.join(program.file_name().unwrap());
    if !copy.exists() {
        fs::copy(program, &copy).unwrap();
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    }
    copy
}
