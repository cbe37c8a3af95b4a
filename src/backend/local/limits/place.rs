//! Where this process may make control groups, and for what.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::super::protocol::Version;
use super::{Controller, Unlimited};

/// The groups in which those of sandboxes are made.
#[derive(Debug, Default)]
pub(super) struct Place {
    pub hierarchies: Vec<Hierarchy>,
    pub unlimited: Vec<Unlimited>,
}

/// One tree of control groups.
#[derive(Debug, PartialEq)]
pub(super) struct Hierarchy {
    pub version: Version,
    /// New groups are made in it.
    pub parent: PathBuf,
    pub controllers: Vec<Controller>,
}

/// A mounted tree, and this process's own group in it.
struct Tree {
    version: Version,
    /// The names of its controllers; in version 2 the groups themselves tell.
    controllers: Vec<String>,
    top: PathBuf,
    own: PathBuf,
}

impl Place {
    /// `root` is where /proc and the mount points are looked for.
    pub(super) fn find(root: &Path) -> Self {
        let read = |name: &str| fs::read_to_string(root.join("proc/self").join(name));
        let (mounts, own) = (read("mountinfo"), read("cgroup"));
        let trees = trees(root, &mounts.unwrap_or_default(), &own.unwrap_or_default());
        let mut place = Self::default();
        let mut rest = Vec::new();
        for controller in Controller::ALL {
            match trees.iter().find(|tree| tree.has(controller)) {
                Some(tree) => place.below_own(tree, controller),
                None => rest.push(controller),
            }
        }
        let unified = trees.iter().find(|tree| tree.version == Version::Two);
        place.unified(unified, &rest);
        place
            .unlimited
            .sort_by_key(|(controller, _)| *controller as usize);
        place
    }

    /// Version 1: a group of this process's own may hold others beside its processes.
    fn below_own(&mut self, tree: &Tree, controller: Controller) {
        let parent = &tree.own;
        if !may_make_in(parent) {
            // Not where: it is another place for each controller, and the reason is one.
            let why = "this user may not make control groups".to_owned();
            self.unlimited.push((controller, why));
            return;
        }
        // Controllers that are mounted together share one group.
        match self
            .hierarchies
            .iter_mut()
            .find(|other| other.parent == *parent)
        {
            Some(other) => other.controllers.push(controller),
            None => self.hierarchies.push(Hierarchy {
                version: Version::One,
                parent: parent.clone(),
                controllers: vec![controller],
            }),
        }
    }

    /// Version 2: a group with processes hands no controller down, so that this process's own is of no use. The nearest
    /// above it is that hands most of them down and that this user may change, as systemd's `user@1000.service` is.
    fn unified(&mut self, tree: Option<&Tree>, wanted: &[Controller]) {
        let mut best: (PathBuf, Vec<Controller>) = Default::default();
        for group in tree.into_iter().flat_map(Tree::above_own) {
            let handed = handed_down(group);
            let handed: Vec<_> = wanted
                .iter()
                .copied()
                .filter(|one| handed.contains(one))
                .collect();
            if handed.len() > best.1.len() && may_make_in(group) {
                best = (group.to_owned(), handed);
            }
        }
        let (parent, controllers) = best;
        for &controller in wanted.iter().filter(|one| !controllers.contains(one)) {
            self.unlimited.push((controller, absent(tree, controller)));
        }
        if !controllers.is_empty() {
            self.hierarchies.push(Hierarchy {
                version: Version::Two,
                parent,
                controllers,
            });
        }
    }
}

/// Why version 2 has no group with `controller` for this user.
fn absent(tree: Option<&Tree>, controller: Controller) -> String {
    let Some(tree) = tree else {
        return format!("no control groups for {} are mounted", controller.name());
    };
    let known = fs::read_to_string(tree.top.join("cgroup.controllers")).unwrap_or_default();
    if known
        .split_whitespace()
        .any(|name| name == controller.name())
    {
        "no control group above this process is delegated to this user; `systemd-run --user --scope` starts a program in \
         one that is"
            .to_owned()
    } else {
        format!(
            "this machine's control groups know no `{}`",
            controller.name()
        )
    }
}

/// What a group of version 2 gives to those in it.
fn handed_down(group: &Path) -> Vec<Controller> {
    let names = fs::read_to_string(group.join("cgroup.subtree_control")).unwrap_or_default();
    let is_named = |one: &Controller| names.split_whitespace().any(|name| name == one.name());
    Controller::ALL.into_iter().filter(is_named).collect()
}

/// Making a group takes the right to its folder; moving a process there, the right to the list of processes of the group
/// above both.
fn may_make_in(group: &Path) -> bool {
    let may = |path: &Path| access(path, Access::WRITE_OK).is_ok();
    may(group) && may(&group.join("cgroup.procs"))
}

impl Tree {
    fn has(&self, controller: Controller) -> bool {
        self.controllers
            .iter()
            .any(|name| name == controller.name())
    }

    /// From this process's group upwards, without itself; the machine's topmost group may have processes.
    fn above_own(&self) -> impl Iterator<Item = &Path> {
        let is_topmost = !self.top.join("cgroup.type").exists();
        self.own
            .ancestors()
            .take_while(|group| group.starts_with(&self.top))
            .filter(move |group| *group != self.own || (is_topmost && *group == self.top))
    }
}

fn trees(root: &Path, mounts: &str, own: &str) -> Vec<Tree> {
    mounts
        .lines()
        .filter_map(|mount| tree(root, mount, own))
        .collect()
}

/// A line of `mountinfo` is `id parent device ROOT POINT options … - KIND source OPTIONS`, one of `cgroup` is
/// `id:CONTROLLERS:PATH`, without controllers for version 2.
fn tree(root: &Path, mount: &str, own: &str) -> Option<Tree> {
    let (place, kind) = mount.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (mounted, point) = (place.next()?, place.next()?);
    let mut kind = kind.split(' ');
    let version = match kind.next()? {
        "cgroup" => Version::One,
        "cgroup2" => Version::Two,
        _ => return None,
    };
    let options: Vec<&str> = kind.nth(1)?.split(',').collect();
    let own = own.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let mut controllers = controllers.split(',');
        match version {
            Version::One => controllers.all(|name| options.contains(&name)),
            Version::Two => controllers.all(str::is_empty),
        }
        .then_some(path)
    })?;
    let top = root.join(point.trim_start_matches('/'));
    // What lies outside of what is mounted, as in some containers, cannot be reached.
    let own = Path::new(own).strip_prefix(mounted).ok()?;
    Some(Tree {
        version,
        controllers: match version {
            Version::One => options.into_iter().map(str::to_owned).collect(),
            Version::Two => Vec::new(),
        },
        own: top.join(own).components().collect(),
        top,
    })
}
