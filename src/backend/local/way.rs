//! How this machine lets its user make sandboxes: as root, or in a user namespace, with or without ids beside one's own.
//!
//! In a sandbox root is 0 and `dev` is [`DEV`], whoever they are outside. So that what steps make belongs to the caller,
//! the caller's id is `dev`'s.

use std::fs;
use std::path::Path;

use rustix::process::{getegid, geteuid};
use serde::{Deserialize, Serialize};

/// Uid and gid of `dev`.
pub(super) const DEV: u32 = 1000;

/// The ids of a sandbox: as many as images use.
const IDS: u32 = 65_536;

/// The programs that may map ids other than the caller's own.
pub(super) const MAPPERS: [&str; 2] = ["newuidmap", "newgidmap"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Way {
    /// Without a user namespace: ids are those of the machine.
    Root,
    /// A user whom the machine lends ids of their own: all of a sandbox's.
    Range { users: Ids, groups: Ids },
    /// A user without such ids. There is one user in a sandbox.
    Alone { user: u32, group: u32 },
    /// No sandbox: the machine itself, on which `dev` is this user. See [`super::direct`].
    Direct { user: u32, group: u32 },
}

/// What a caller wants of sandboxes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Isolation {
    /// Work on the machine itself, since it is thrown away.
    pub direct: bool,
    /// Take snapshots that were baked so also for sandboxes.
    pub accept_direct: bool,
}

/// The caller's own id, and the first of those that are lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ids {
    own: u32,
    lent: u32,
}

/// How a snapshot was baked, in its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Sandbox {
    Root,
    Range,
    Alone,
    Direct,
}

impl Way {
    /// The caller's, as they want it.
    pub(super) fn wanted(isolation: Isolation) -> Self {
        match isolation.direct {
            false => Self::of_caller(),
            true if geteuid().is_root() => Self::Direct {
                user: DEV,
                group: DEV,
            },
            true => Self::Direct {
                user: geteuid().as_raw(),
                group: getegid().as_raw(),
            },
        }
    }

    /// The caller's way.
    pub(super) fn of_caller() -> Self {
        let (user, group) = (geteuid().as_raw(), getegid().as_raw());
        if user == 0 {
            return Self::Root;
        }
        let lent = |file: &str| {
            lent(
                &fs::read_to_string(file).ok()?,
                user,
                user_name(user).as_deref(),
            )
        };
        match (lent("/etc/subuid"), lent("/etc/subgid")) {
            (Some(uids), Some(gids)) if MAPPERS.iter().all(|program| is_installed(program)) => {
                Self::Range {
                    users: Ids {
                        own: user,
                        lent: uids,
                    },
                    groups: Ids {
                        own: group,
                        lent: gids,
                    },
                }
            }
            _ => Self::Alone { user, group },
        }
    }

    pub(super) fn sandbox(self) -> Sandbox {
        match self {
            Self::Root => Sandbox::Root,
            Self::Range { .. } => Sandbox::Range,
            Self::Alone { .. } => Sandbox::Alone,
            Self::Direct { .. } => Sandbox::Direct,
        }
    }

    /// What `dev` and their group are to a process that has entered the sandbox's namespaces, and is root there.
    pub(super) fn dev(self) -> (u32, u32) {
        match self {
            Self::Root | Self::Range { .. } => (DEV, DEV),
            Self::Alone { .. } => (0, 0),
            Self::Direct { user, group } => (user, group),
        }
    }

    pub(super) fn is_direct(self) -> bool {
        matches!(self, Self::Direct { .. })
    }

    /// Whether steps may run as root.
    pub(super) fn has_root(self) -> bool {
        match self {
            Self::Root | Self::Range { .. } => true,
            Self::Alone { .. } => false,
            Self::Direct { .. } => geteuid().is_root(),
        }
    }
}

impl Ids {
    /// What the mapping programs take: inside, outside and count of each stretch of ids. The caller is `dev`.
    pub(super) fn stretches(self) -> [[u32; 3]; 3] {
        [
            [0, self.lent, DEV],
            [DEV, self.own, 1],
            [DEV + 1, self.lent + DEV, IDS - DEV - 1],
        ]
    }
}

impl Sandbox {
    /// Whether a snapshot that was baked this way is what `way` would have baked. Without a sandbox a step may have seen
    /// anything, so that is for those who say that they take it.
    pub(super) fn serves(self, way: Way, accept_direct: bool) -> bool {
        match (self, way.sandbox()) {
            (_, Self::Direct) => true,
            (Self::Direct, _) => accept_direct,
            // With one user, everything is `dev`'s, which every user's way shows as it is.
            (Self::Alone, Self::Range) => true,
            (baked, wanted) => baked == wanted,
        }
    }
}

impl Sandbox {
    /// Why a snapshot that was baked so does not serve.
    pub(super) fn refusal(self) -> String {
        match self {
            Self::Direct => {
                "it was baked with --sandbox direct, which isolates nothing; --accept-direct takes it"
                    .to_owned()
            }
            _ => format!("it was baked in {self}"),
        }
    }
}

impl std::fmt::Display for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Root => "namespaces, as root",
            Self::Range => "namespaces, as a user with a range of ids",
            Self::Alone => "namespaces, as a user with one id",
            Self::Direct => "the machine itself, without any isolation",
        })
    }
}

/// The first of the ids that a line of /etc/subuid or /etc/subgid lends a user, if they are enough.
fn lent(text: &str, user: u32, name: Option<&str>) -> Option<u32> {
    text.lines().find_map(|line| {
        let mut parts = line.split(':');
        let whose = parts.next()?;
        let first: u32 = parts.next()?.parse().ok()?;
        let count: u32 = parts.next()?.trim().parse().ok()?;
        let mine = Some(whose) == name || whose.parse() == Ok(user);
        (mine && count >= IDS - 1).then_some(first)
    })
}

fn user_name(user: u32) -> Option<String> {
    let accounts = fs::read_to_string("/etc/passwd").ok()?;
    let name = accounts.lines().find_map(|line| {
        let mut parts = line.split(':');
        let name = parts.next()?;
        (parts.nth(1)?.parse() == Ok(user)).then(|| name.to_owned())
    });
    // Accounts that a server keeps are not in the file.
    name.or_else(|| std::env::var("USER").ok())
}

pub(super) fn is_installed(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
        || ["/usr/bin", "/bin"]
            .iter()
            .any(|folder| Path::new(folder).join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::{Ids, Sandbox, Way, lent};

    #[test]
    fn lent_ids_are_found_by_name_or_number_if_they_are_enough() {
        let text = "other:1:65536\nme:2000:100\nme:100000:65536\n1001:300000:65535\nbroken\n";
        assert_eq!(lent(text, 5, Some("me")), Some(100_000));
        assert_eq!(lent(text, 1001, None), Some(300_000));
        assert_eq!(lent(text, 5, Some("nobody")), None);
        assert_eq!(lent("", 5, Some("me")), None);
    }

    #[test]
    fn every_id_of_a_sandbox_is_mapped_once() {
        let stretches = Ids {
            own: 7,
            lent: 100_000,
        }
        .stretches();
        let mut inside = 0;
        for [first, _, count] in stretches {
            assert_eq!(first, inside);
            inside += count;
        }
        assert_eq!(inside, 65_536);
        let outside = |id: u32| {
            let stretch = stretches
                .iter()
                .find(|[first, _, count]| (*first..first + count).contains(&id));
            stretch.map(|[first, outside, _]| outside + (id - first))
        };
        let places = [0, 999, 1000, 1001, 65_535].map(|id| outside(id).unwrap());
        assert_eq!(places, [100_000, 100_999, 7, 101_000, 165_534]);
    }

    #[test]
    fn a_snapshot_serves_those_who_would_bake_the_same() {
        let range = Way::Range {
            users: Ids { own: 7, lent: 1 },
            groups: Ids { own: 7, lent: 1 },
        };
        let alone = Way::Alone { user: 7, group: 7 };
        assert!(Sandbox::Range.serves(range, false) && Sandbox::Alone.serves(range, false));
        assert!(Sandbox::Alone.serves(alone, false) && !Sandbox::Range.serves(alone, false));
        assert!(Sandbox::Root.serves(Way::Root, false) && !Sandbox::Root.serves(range, false));
        assert!(!Sandbox::Alone.serves(Way::Root, false));
    }

    #[test]
    fn what_no_sandbox_kept_is_for_those_who_take_it() {
        let direct = Way::Direct { user: 7, group: 7 };
        for sandbox in [
            Sandbox::Root,
            Sandbox::Range,
            Sandbox::Alone,
            Sandbox::Direct,
        ] {
            assert!(sandbox.serves(direct, false), "{sandbox}");
        }
        for way in [Way::Root, Way::Alone { user: 7, group: 7 }] {
            assert!(!Sandbox::Direct.serves(way, false) && Sandbox::Direct.serves(way, true));
        }
        assert!(!Sandbox::Alone.serves(Way::Root, true));
    }
}
