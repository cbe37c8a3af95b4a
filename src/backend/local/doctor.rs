//! What of this machine a sandbox needs, tried one by one.

use std::path::Path;

use atelier_lang::graph::User;

use super::limits::Limits;
use super::protocol::{Action, Layout, Process, Root, RootLayers, StdioKind};
use super::session::Session;
use super::store::Scratch;
use super::way::{MAPPERS, Way, is_installed};
use super::{Local, environment};
use crate::backend::{BackendError, Ending, Network};

/// One thing that was tried.
#[derive(Debug)]
pub struct Check {
    pub name: &'static str,
    pub finding: Finding,
    /// What was found, for people.
    pub detail: String,
    /// What to do about it.
    pub help: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    Good,
    /// It works, with less than there could be.
    Limited,
    /// Sandboxes do not work.
    Missing,
}

impl Check {
    pub(crate) fn new(name: &'static str, finding: Finding, detail: impl Into<String>) -> Self {
        Self {
            name,
            finding,
            detail: detail.into(),
            help: None,
        }
    }

    pub(crate) fn with_help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }

    pub(crate) fn missing(name: &'static str, error: BackendError) -> Self {
        Self {
            help: error.help,
            ..Self::new(name, Finding::Missing, error.message)
        }
    }
}

/// Tries everything, in the order in which it is needed.
pub async fn examine(local: &Local) -> Vec<Check> {
    let mut checks = vec![
        kernel(),
        user(local.store.way()),
        store(local.store.root()),
        git(local).await,
    ];
    match start(local).await {
        Ok((mut session, scratch)) => {
            checks.push(sandbox(local.store.way()));
            checks.push(limits(&session));
            checks.push(run(&mut session, User::Dev, "step").await);
            if local.store.way().has_root() {
                checks.push(run(&mut session, User::Root, "root step").await);
            }
            session.end().await;
            drop(scratch);
        }
        Err(error) => checks.push(Check::missing("sandbox", error)),
    }
    checks
}

fn kernel() -> Check {
    let release = rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned();
    let mut numbers = release
        .split(['.', '-'])
        .map_while(|number| number.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    // Overlays for users, and their `volatile`, came with these.
    match version {
        (5, 11..) | (6.., _) => Check::new("kernel", Finding::Good, format!("Linux {release}")),
        _ => Check::new(
            "kernel",
            Finding::Missing,
            format!("Linux {release} is too old"),
        )
        .with_help("use Linux 5.11 or newer"),
    }
}

fn user(way: Way) -> Check {
    let detail = way.sandbox().to_string();
    let limited = || {
        Check::new(
            "user",
            Finding::Limited,
            format!("{detail}: steps cannot run as root"),
        )
    };
    match way {
        _ if way.has_root() => Check::new("user", Finding::Good, detail),
        Way::Direct { .. } => limited().with_help("run atelier as root, if a step needs it"),
        Way::Alone { .. } if MAPPERS.iter().any(|program| !is_installed(program)) => limited()
            .with_help("have root install the package that has newuidmap (`uidmap`, or `shadow-utils`)"),
        _ => limited().with_help(
            "have root run `usermod --add-subuids 100000-165535 --add-subgids 100000-165535 YOU`, with ids that nobody \
             else has",
        ),
    }
}

fn store(root: &Path) -> Check {
    let place = root.display();
    match rustix::fs::statvfs(root) {
        Ok(disk) => {
            let free = disk.f_bavail * disk.f_frsize / (1 << 20);
            Check::new("store", Finding::Good, format!("{place}, {free} MiB free"))
        }
        Err(error) => Check::new("store", Finding::Missing, format!("{place}: {error}")),
    }
}

async fn git(local: &Local) -> Check {
    match local.git.version().await {
        Ok(version) => Check::new("git", Finding::Good, version),
        Err(error) => {
            Check::new("git", Finding::Missing, error.to_string()).with_help("install git")
        }
    }
}

/// Any will do.
const LIMITS: Limits = Limits {
    cpus: 1,
    memory: 1 << 30,
    processes: 100,
};

fn limits(session: &Session) -> Check {
    match session.group.not_enforced() {
        None => Check::new("limits", Finding::Good, "`resources` is enforced"),
        Some(detail) => Check::new("limits", Finding::Limited, detail),
    }
}

fn sandbox(way: Way) -> Check {
    if way.is_direct() {
        let detail = "none: /home/dev can be taken, and steps see all of the machine";
        return Check::new("sandbox", Finding::Limited, detail)
            .with_help("only where the machine is thrown away: in a container of a CI");
    }
    Check::new("sandbox", Finding::Good, "namespaces and overlays work")
}

async fn start(local: &Local) -> Result<(Session, Scratch), BackendError> {
    let scratch = local.store.scratch(&[])?;
    let layout = Layout {
        way: local.store.way(),
        store: local.store.root().to_owned(),
        scratch: scratch.name().to_owned(),
        writes: None,
        root: RootLayers::Host {
            hidden: Vec::new(),
            extra: Vec::new(),
        },
        workspace: Vec::new(),
        caches: Vec::new(),
        hostname: "atelier".to_owned(),
        groups: Vec::new(),
        network: Network::Host,
    };
    let session = Session::start(layout, &local.groups, &LIMITS).await?;
    Ok((session, scratch))
}

async fn run(session: &mut Session, user: User, name: &'static str) -> Check {
    let process = Process {
        root: Root::Image,
        user,
        folder: environment::folder(""),
        environment: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        action: Action::Run(vec!["true".to_owned()]),
        stdio: StdioKind::Frames,
    };
    let mut said = Vec::new();
    let ended = session
        .run(process, async |bytes| said.extend_from_slice(bytes))
        .await;
    match ended {
        Ok(Ending::Exited(0)) => Check::new(name, Finding::Good, "runs"),
        Ok(_) => {
            let said = String::from_utf8_lossy(&said).trim().to_owned();
            Check::new(name, Finding::Missing, said)
        }
        Err(error) => Check::missing(name, error),
    }
}
