//! Whether this machine runs an image's programs: they are for its own processor, or it emulates the other.

use std::fs;
use std::path::Path;

use crate::backend::{BackendError, Class};
use crate::resolve::host;

/// Where the kernel tells what it runs programs of other kinds with.
const EMULATORS: &str = "proc/sys/fs/binfmt_misc";

/// `root` is where /proc is looked for.
pub(super) fn check(platform: &str, root: &Path) -> Result<(), BackendError> {
    let own = host::platform();
    let kind = |platform: &str| -> Vec<String> {
        platform.split('/').take(2).map(str::to_owned).collect()
    };
    let wanted = kind(platform);
    if wanted == kind(&own) || is_emulated(&wanted, root) {
        return Ok(());
    }
    let message = format!("the image is for {platform}, and this machine runs {own}");
    Err(BackendError::new(Class::Denied, message).with_help(
        "use an image for this machine, without `platform=`; or have root register an emulator that works in \
         containers, as `qemu-user-static` does",
    ))
}

/// An emulator has to be open already (`F`), since the image does not have it.
fn is_emulated(wanted: &[String], root: &Path) -> bool {
    let [system, architecture] = wanted else {
        return false;
    };
    let name = match architecture.as_str() {
        "amd64" => "x86_64",
        "arm64" => "aarch64",
        other => other,
    };
    let emulator = root.join(EMULATORS).join(format!("qemu-{name}"));
    let emulator = fs::read_to_string(emulator).unwrap_or_default();
    let is_open = |line: &str| {
        line.strip_prefix("flags:")
            .is_some_and(|flags| flags.contains('F'))
    };
    system == "linux" && emulator.starts_with("enabled") && emulator.lines().any(is_open)
}

#[cfg(test)]
mod tests {
    use super::{check, fs, host};

    #[test]
    fn a_machine_runs_its_own_programs_and_those_that_it_emulates() {
        let root = tempfile::tempdir().unwrap();
        let own = host::platform();
        check(&own, root.path()).unwrap();
        check(&format!("{own}/v1"), root.path()).unwrap();
        let foreign = check("linux/s390x", root.path()).unwrap_err();
        assert_eq!(
            foreign.message,
            format!("the image is for linux/s390x, and this machine runs {own}")
        );
        let emulators = root.path().join(super::EMULATORS);
        fs::create_dir_all(&emulators).unwrap();
        let state = |text: &str| {
            fs::write(emulators.join("qemu-s390x"), text).unwrap();
            check("linux/s390x", root.path()).is_ok()
        };
        let known = "interpreter /usr/bin/qemu-s390x-static\nflags:";
        assert!(!state(&format!("enabled\n{known} \noffset 0\n")));
        assert!(!state(&format!("disabled\n{known} F\noffset 0\n")));
        assert!(state(&format!("enabled\n{known} OCF\noffset 0\n")));
        assert!(check("windows/s390x", root.path()).is_err());
    }
}
