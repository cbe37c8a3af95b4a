//! What the package manager says is installed, as lines in order; the contents of packages are not looked at.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use super::{Host, HostError, walk};

const DPKG: &str = "var/lib/dpkg/status";
const APK: &str = "lib/apk/db/installed";
const PACMAN: &str = "var/lib/pacman/local";
/// One file is the database; which one depends on the release.
const RPM: &[&str] = &[
    "var/lib/rpm/rpmdb.sqlite",
    "var/lib/rpm/Packages.db",
    "var/lib/rpm/Packages",
    "usr/lib/sysimage/rpm/rpmdb.sqlite",
    "usr/lib/sysimage/rpm/Packages.db",
];

/// The files and folders whose change means that packages changed.
pub(super) fn databases(host: &Host) -> Vec<PathBuf> {
    [DPKG, APK, PACMAN]
        .iter()
        .chain(RPM)
        .map(|path| host.at(path))
        .collect()
}

/// The installed packages; empty where no package manager is known.
pub(super) fn installed(host: &Host) -> Result<BTreeSet<String>, HostError> {
    let mut packages = BTreeSet::new();
    if let Some(status) = read(host, DPKG)? {
        packages.extend(
            String::from_utf8_lossy(&status)
                .split("\n\n")
                .filter_map(dpkg_package),
        );
    }
    if let Some(installed) = read(host, APK)? {
        let text = String::from_utf8_lossy(&installed).into_owned();
        packages.extend(text.split("\n\n").filter_map(|stanza| {
            Some(format!(
                "apk {} {} {}",
                field(stanza, "P:")?,
                field(stanza, "V:")?,
                field(stanza, "A:")?
            ))
        }));
    }
    for name in walk::names(&host.at(PACMAN)) {
        packages.insert(format!("pacman {}", name.to_string_lossy()));
    }
    for path in RPM {
        if let Some(database) = read(host, path)? {
            packages.insert(format!(
                "rpm {path} {}",
                hex::encode(Sha256::digest(&database))
            ));
        }
    }
    Ok(packages)
}

fn read(host: &Host, path: &str) -> Result<Option<Vec<u8>>, HostError> {
    let path = host.at(path);
    match fs::read(&path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => Ok(None),
        Err(source) => Err(HostError::Read { path, source }),
    }
}

fn field<'a>(stanza: &'a str, name: &str) -> Option<&'a str> {
    stanza
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .map(str::trim)
}

/// A package that is removed but has left its configuration is not installed.
fn dpkg_package(stanza: &str) -> Option<String> {
    let state = field(stanza, "Status:")?.rsplit(' ').next()?;
    if matches!(state, "not-installed" | "config-files") {
        return None;
    }
    let field = |name| field(stanza, name).unwrap_or("");
    Some(format!(
        "dpkg {} {} {}",
        field("Package:"),
        field("Version:"),
        field("Architecture:")
    ))
}

#[cfg(test)]
mod tests {
    use super::dpkg_package;

    #[test]
    fn only_what_is_installed_counts() {
        let stanza = "Package: a\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1:2\nDescription: x\n Version: 9";
        assert_eq!(dpkg_package(stanza).as_deref(), Some("dpkg a 1:2 amd64"));
        assert_eq!(
            dpkg_package("Package: a\nStatus: deinstall ok config-files\nVersion: 1"),
            None
        );
        assert_eq!(dpkg_package(""), None);
    }
}
