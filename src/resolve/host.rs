//! The image `host`: the machine's own system folders, known by a fingerprint.
//!
//! The fingerprint covers the release, the packages, and the metadata of what no package owns. Walking that takes a
//! while, so it is remembered and repeated only when a folder changed or a minute has passed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{ImageLocation, PinError, PinnedImage};

mod fingerprint;
mod memory;
mod packages;
mod programs;
mod walk;

/// What is known of the machine.
#[derive(Clone, Debug)]
pub struct Host {
    /// `/`, but for tests.
    root: PathBuf,
    /// Where the walk is remembered.
    memory: PathBuf,
    /// What the configuration adds, in its order.
    extra: Vec<HostPath>,
}

/// A folder or file of the machine that the configuration adds. Both paths are absolute and UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostPath {
    /// As it was named; it may be a symbolic link, or lie behind one.
    pub named: PathBuf,
    /// Where it is.
    pub real: PathBuf,
}

/// What a look at the machine yields.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    fingerprint: [u8; 32],
    /// Paths below /etc, as on the machine, in order.
    hidden: BTreeSet<PathBuf>,
    /// Folders of the extra paths that hold programs.
    path: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
enum HostError {
    #[error("cannot read {}: {source}", path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("/etc/os-release is missing, so the release is unknown")]
    NoRelease,
}

impl Host {
    pub fn new(memory: PathBuf) -> Self {
        Self {
            root: PathBuf::from("/"),
            memory,
            extra: Vec::new(),
        }
    }

    pub(super) fn with_extra(mut self, extra: Vec<HostPath>) -> Self {
        self.extra = extra;
        self
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }
}

/// The platform of this machine, as images name it.
pub fn platform() -> String {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "powerpc64" => "ppc64le",
        "x86" => "386",
        other => other,
    };
    format!("{}/{arch}", std::env::consts::OS)
}

/// Looks at the machine, or remembers the last look.
pub(super) fn pin(host: &Host, wanted: &str) -> Result<PinnedImage, PinError> {
    let here = platform();
    if wanted != here {
        return Err(PinError {
            input: "host".to_owned(),
            cause: format!("this machine is {here}, and the node wants {wanted}"),
            help: "leave out `platform=`, or name an image for that platform".to_owned(),
        });
    }
    let seen = look(host).map_err(|error| PinError {
        input: "host".to_owned(),
        cause: error.to_string(),
        help: "use an image (`from \"oci:./dir\"`) on this machine".to_owned(),
    })?;
    Ok(PinnedImage {
        digest: crate::node::ImageDigest(seen.fingerprint),
        location: ImageLocation::Host {
            hidden: seen.hidden.into_iter().collect(),
            extra: host.extra.clone(),
            path: seen.path,
        },
    })
}

fn look(host: &Host) -> Result<Seen, HostError> {
    if let Some(seen) = memory::recall(host) {
        return Ok(seen);
    }
    let start = memory::start(host);
    let (fingerprint, mut folders) = fingerprint::take(host)?;
    let (hidden, more) = walk::hidden(&host.root, Path::new("etc"));
    folders.extend(more);
    let seen = Seen {
        fingerprint,
        hidden,
        path: programs::folders(&host.extra),
    };
    memory::remember(host, start, folders, &seen);
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;
    use std::time::Instant;

    use super::{Host, look};

    fn machine() -> (tempfile::TempDir, Host) {
        let root = tempfile::tempdir().unwrap();
        for folder in [
            "etc/ssh",
            "etc/ssl/private",
            "usr/local/bin",
            "opt",
            "var/lib/dpkg",
        ] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        fs::write(
            root.path().join("etc/os-release"),
            "ID=debian\nVERSION_ID=\"12\"\n",
        )
        .unwrap();
        let status =
            "Package: a\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n\n";
        fs::write(root.path().join("var/lib/dpkg/status"), status).unwrap();
        fs::write(root.path().join("usr/local/bin/tool"), "x").unwrap();
        // Whatever the umask is.
        for path in ["etc", "etc/ssh", "etc/ssl", "etc/os-release"] {
            let permissions = fs::Permissions::from_mode(0o755);
            fs::set_permissions(root.path().join(path), permissions).unwrap();
        }
        let host = Host {
            root: root.path().to_owned(),
            memory: root.path().join("host.json"),
            extra: Vec::new(),
        };
        (root, host)
    }

    fn write(root: &Path, path: &str, mode: u32) {
        fs::write(root.join(path), "").unwrap();
        fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_look_is_remembered_until_something_changes() {
        let (root, host) = machine();
        std::thread::sleep(std::time::Duration::from_millis(30));
        let first = look(&host).unwrap();
        assert_eq!(super::memory::recall(&host).as_ref(), Some(&first));
        assert_eq!(look(&host).unwrap(), first);
        fs::write(root.path().join("usr/local/bin/other"), "").unwrap();
        let second = look(&host).unwrap();
        assert_ne!(second.fingerprint, first.fingerprint);
        let status =
            "Package: a\nStatus: install ok installed\nArchitecture: amd64\nVersion: 2\n\n";
        fs::write(root.path().join("var/lib/dpkg/status"), status).unwrap();
        let third = look(&host).unwrap();
        assert_ne!(third.fingerprint, second.fingerprint);
        symlink("tool", root.path().join("opt/link")).unwrap();
        assert_ne!(look(&host).unwrap().fingerprint, third.fingerprint);
    }

    #[test]
    fn the_same_machine_has_the_same_fingerprint() {
        let (_root, mut host) = machine();
        let first = look(&host).unwrap();
        host.memory = host.root.join("elsewhere.json");
        assert_eq!(look(&host).unwrap(), first);
    }

    #[test]
    fn a_spoilt_memory_is_no_memory() {
        let (_root, host) = machine();
        let first = look(&host).unwrap();
        for spoilt in ["", "{}", "not json", "[1,2]"] {
            fs::write(&host.memory, spoilt).unwrap();
            assert_eq!(look(&host).unwrap(), first, "{spoilt}");
        }
    }

    #[test]
    fn secrets_below_etc_are_hidden() {
        let (root, host) = machine();
        let root = root.path();
        write(root, "etc/shadow", 0o644);
        write(root, "etc/passwd", 0o644);
        write(root, "etc/passwd-", 0o644);
        write(root, "etc/token", 0o640);
        write(root, "etc/ssh/ssh_host_rsa_key", 0o644);
        write(root, "etc/ssh/ssh_host_rsa_key.pub", 0o644);
        write(root, "etc/ssl/private/key.pem", 0o644);
        fs::create_dir(root.join("etc/closed")).unwrap();
        write(root, "etc/closed/inner", 0o644);
        fs::set_permissions(root.join("etc/closed"), fs::Permissions::from_mode(0o750)).unwrap();
        let hidden = look(&host).unwrap().hidden;
        let expected = [
            "/etc/closed",
            "/etc/passwd-",
            "/etc/shadow",
            "/etc/ssh/ssh_host_rsa_key",
            "/etc/ssl/private",
            "/etc/token",
        ];
        assert_eq!(
            hidden
                .iter()
                .map(|path| path.to_str().unwrap())
                .collect::<Vec<_>>(),
            expected
        );
    }

    #[test]
    fn a_remembered_look_at_this_machine_is_quick() {
        let state = tempfile::tempdir().unwrap();
        let host = Host::new(state.path().join("host.json"));
        let started = Instant::now();
        let first = look(&host).unwrap();
        let walked = started.elapsed();
        let started = Instant::now();
        assert_eq!(look(&host).unwrap(), first);
        println!(
            "walked in {walked:?}, remembered in {:?}",
            started.elapsed()
        );
    }
}
