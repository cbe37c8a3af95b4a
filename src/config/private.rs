//! What image `host` must not show: whole homes, the machine's live state, and what is known to hold credentials.
//!
//! A list of known places is no proof that the rest holds none. It catches what people do without a thought.

use std::fs;
use std::path::{Path, PathBuf};

/// Where nothing may be shown: the place, and why.
const CLOSED: [(&str, &str); 8] = [
    ("/proc", "the machine's processes"),
    ("/sys", "the machine's devices"),
    ("/dev", "the machine's devices"),
    ("/run", "the machine's sockets"),
    ("/var/run", "the machine's sockets"),
    (
        "/etc",
        "the machine's configuration, which is there without its secrets",
    ),
    ("/boot", "how the machine starts"),
    ("/home/dev", "the workspace is mounted there"),
];

/// Too wide as a whole, though not what is in them.
const WIDE: [&str; 7] = ["/", "/home", "/root", "/tmp", "/srv", "/mnt", "/var/lib"];

/// Folders with credentials, in whoever's home: the end of their path, and what they hold.
const FOLDERS: [(&str, &str); 29] = [
    (".ssh", "SSH keys"),
    (".gnupg", "GPG keys"),
    (".aws", "AWS credentials"),
    (".azure", "Azure credentials"),
    (".config/gcloud", "Google Cloud credentials"),
    (".config/gh", "GitHub tokens"),
    (".config/glab-cli", "GitLab tokens"),
    (".config/containers", "registry credentials"),
    (".config/op", "a password manager's session"),
    (".docker", "registry credentials"),
    (".kube", "cluster credentials"),
    (".npm", "npm's cache and logs"),
    (".password-store", "passwords"),
    (".local/share/keyrings", "keyrings"),
    (".local/share/kwalletd", "keyrings"),
    (".pki", "certificates and keys"),
    (".terraform.d", "Terraform credentials"),
    (".claude", "a session's credentials"),
    (".codex", "a session's credentials"),
    (".mozilla", "a browser's profiles"),
    (".thunderbird", "a mail program's profiles"),
    (".config/google-chrome", "a browser's profiles"),
    (".config/chromium", "a browser's profiles"),
    (".config/BraveSoftware", "a browser's profiles"),
    (".config/microsoft-edge", "a browser's profiles"),
    (".config/vivaldi", "a browser's profiles"),
    (".var/app", "profiles of Flatpak's programs"),
    ("snap/firefox", "a browser's profiles"),
    ("snap/chromium", "a browser's profiles"),
];

/// Files with credentials, in the same way.
const FILES: [(&str, &str); 21] = [
    ("credentials", "credentials"),
    ("credentials.toml", "cargo's credentials"),
    (".credentials.json", "credentials"),
    (".netrc", "passwords"),
    ("_netrc", "passwords"),
    (".npmrc", "npm tokens"),
    (".yarnrc.yml", "npm tokens"),
    (".pypirc", "PyPI tokens"),
    (".git-credentials", "git's passwords"),
    (".pgpass", "database passwords"),
    (".my.cnf", "database passwords"),
    (".vault-token", "a Vault token"),
    ("id_rsa", "a private key"),
    ("id_dsa", "a private key"),
    ("id_ecdsa", "a private key"),
    ("id_ecdsa_sk", "a private key"),
    ("id_ed25519", "a private key"),
    ("id_ed25519_sk", "a private key"),
    ("gh/hosts.yml", "GitHub tokens"),
    (".docker/config.json", "registry credentials"),
    ("containers/auth.json", "registry credentials"),
];

/// How far below a path its files are looked at.
const LEVELS: usize = 3;

/// Places that only this caller has.
pub(super) struct Places {
    homes: Vec<PathBuf>,
    stores: Vec<PathBuf>,
}

impl Places {
    /// Under every name: as they are called, and where they are.
    pub(super) fn of(home: Option<&Path>, store: Option<&Path>) -> Self {
        let names = |path: Option<&Path>| {
            let called = path.and_then(|path| std::path::absolute(path).ok());
            let real = path.and_then(|path| fs::canonicalize(path).ok());
            called.into_iter().chain(real).collect()
        };
        Self {
            homes: names(home),
            stores: names(store),
        }
    }

    /// Why a path must not be shown, as far as its place tells.
    pub(super) fn forbid(&self, path: &Path) -> Option<String> {
        closed(path)
            .or_else(|| self.wide(path))
            .or_else(|| self.of_store(path))
            .or_else(|| of_credentials(path))
    }

    fn of_store(&self, path: &Path) -> Option<String> {
        let is_near = |store: &&PathBuf| path.starts_with(store) || store.starts_with(path);
        let store = self.stores.iter().find(is_near)?;
        Some(format!("the store is {}", store.display()))
    }

    /// Whole homes, and what holds a place that must not be shown.
    fn wide(&self, path: &Path) -> Option<String> {
        let is_home =
            path.parent() == Some(Path::new("/home")) || self.homes.iter().any(|home| home == path);
        if is_home {
            return Some("a whole home".to_owned());
        }
        let below_homes = self
            .homes
            .iter()
            .flat_map(|home| FOLDERS.map(|(folder, _)| home.join(folder)));
        let inner = CLOSED.iter().map(|(place, _)| PathBuf::from(place));
        let inner = inner
            .chain(WIDE.map(PathBuf::from))
            .chain(self.homes.iter().cloned())
            .chain(below_homes)
            .find(|place| place.starts_with(path) && place != path);
        if let Some(inner) = inner {
            return Some(format!("too wide: it holds {}", inner.display()));
        }
        let is_wide = WIDE.iter().any(|wide| Path::new(wide) == path) || path.ends_with(".config");
        is_wide.then(|| "too wide".to_owned())
    }
}

fn closed(path: &Path) -> Option<String> {
    let closed = CLOSED.iter().find(|(place, _)| path.starts_with(place));
    closed.map(|(place, why)| format!("{place}: {why}"))
}

/// A path that is a place of credentials, or lies in one.
fn of_credentials(path: &Path) -> Option<String> {
    let in_folder = path
        .ancestors()
        .find_map(|above| Some((above, ending(above, &FOLDERS)?)));
    let (place, what) = in_folder.or_else(|| Some((path, of_file(path)?)))?;
    Some(format!("{} holds {what}", place.display()))
}

/// The first thing below `path` that is known to hold credentials, and what those are. Only the first levels are looked
/// at, and no link is followed: what it leads to is not shown.
pub(super) fn within(path: &Path) -> Option<(PathBuf, &'static str)> {
    let entries = walkdir::WalkDir::new(path)
        .min_depth(1)
        .max_depth(LEVELS)
        .sort_by_file_name();
    entries.into_iter().flatten().find_map(|entry| {
        let what = match entry.file_type().is_dir() {
            true => ending(entry.path(), &FOLDERS),
            false => of_file(entry.path()),
        };
        Some((entry.path().to_owned(), what?))
    })
}

fn of_file(path: &Path) -> Option<&'static str> {
    ending(path, &FILES).or_else(|| is_private_key(path).then_some("a private key"))
}

fn ending(path: &Path, list: &[(&str, &'static str)]) -> Option<&'static str> {
    let known = list.iter().find(|(ending, _)| path.ends_with(ending));
    known.map(|(_, what)| *what)
}

/// By its name: certificates, which programs ship, end in .pem too.
fn is_private_key(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".pem").map(str::to_lowercase);
    stem.is_some_and(|stem| stem.contains("key") || stem.contains("priv"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forbid(path: &str) -> Option<String> {
        let places = Places {
            homes: vec!["/h/me".into()],
            stores: vec!["/s/store".into()],
        };
        places.forbid(Path::new(path))
    }

    #[test]
    fn places_of_programs_are_open() {
        for path in [
            "/h/me/.cargo/bin",
            "/h/me/.rustup/toolchains",
            "/h/me/.nvm/versions/node",
            "/h/me/.config/composer/vendor/bin",
            "/h/me/.local/bin",
            "/home/other/.bun/bin",
            "/root/.cargo/bin",
            "/opt/tools",
            "/tmp/tools",
            "/usr/lib/go",
            "/snap/go/current/bin",
            "/s/stores",
        ] {
            assert_eq!(forbid(path), None, "{path}");
        }
    }

    #[test]
    fn every_place_of_the_lists_is_closed_with_all_that_is_in_it() {
        for (place, why) in CLOSED {
            for path in [place.to_owned(), format!("{place}/x")] {
                assert!(
                    forbid(&path).is_some_and(|told| told.contains(why)),
                    "{path}"
                );
            }
        }
        for (folder, what) in FOLDERS {
            for path in [format!("/h/me/{folder}"), format!("/data/you/{folder}/x")] {
                let told = forbid(&path).unwrap_or_default();
                assert!(told.contains(what), "{path}: {told}");
            }
        }
        for (file, what) in FILES {
            let told = forbid(&format!("/h/me/{file}")).unwrap_or_default();
            assert!(
                told.contains(what) || file.contains(".docker"),
                "{file}: {told}"
            );
        }
    }

    #[test]
    fn what_is_too_wide_is_closed() {
        for path in WIDE.iter().copied().chain([
            "/h",
            "/h/me",
            "/h/me/.config",
            "/h/me/.local",
            "/h/me/.local/share",
            "/h/me/snap",
            "/home/other",
            "/var",
            "/s",
            "/s/store",
            "/s/store/caches",
            "/elsewhere/.config",
        ]) {
            assert!(forbid(path).is_some(), "{path}");
        }
    }

    #[test]
    fn files_are_found_three_levels_down_and_certificates_are_none() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("a/b/c/d")).unwrap();
        for harmless in ["cacert.pem", "a/id_rsa.pub", "a/b/c/.netrc", "config.json"] {
            fs::write(root.join(harmless), "").unwrap();
        }
        assert_eq!(within(root), None);
        for (file, _) in FILES.into_iter().chain([("server-key.pem", "")]) {
            let path = root.join("a").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            let (found, _) = within(root).unwrap();
            assert!(path.starts_with(&found), "{file}: {}", found.display());
            fs::remove_file(&path).unwrap();
            fs::remove_dir(path.parent().unwrap()).ok();
        }
        fs::create_dir(root.join("a/b/.ssh")).unwrap();
        assert_eq!(within(root), Some((root.join("a/b/.ssh"), "SSH keys")));
    }
}
