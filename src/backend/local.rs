//! The embedded backend: Linux namespaces and overlays, without a daemon. A snapshot is a stack of overlay layers, so a
//! child never copies its parent, and a sandbox is one more, empty layer.
//!
//! Runs as root, or as any user, in a user namespace. Everything that is started is started from the main thread, since what watches over its parent's life
//! watches the thread.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::Child;

use crate::backend::{
    Backend, BackendError, BakeError, BakeRequest, Baked, Cancel, Class, Ending, Exec, Presence,
    Sandbox, SandboxId, SandboxRequest, Snapshot,
};
use crate::event::Sink;
use crate::git::{Git, GitError, Problem};
use crate::node::ContentKey;
use crate::registry::Registries;

pub(crate) mod attach;
mod attendant;
mod bake;
mod boot;
mod checkout;
mod descriptors;
pub(crate) mod direct;
pub mod doctor;
pub(crate) mod environment;
pub(crate) mod files;
mod first;
mod flatten;
pub mod fsck;
pub(crate) mod gate;
mod image;
pub(crate) mod init;
mod keeper;
mod kept;
pub mod launcher;
mod lease;
mod limits;
pub(crate) mod log;
mod mounts;
mod place;
mod protocol;
mod refusal;
mod seccomp;
mod session;
mod store;
mod terminal;
pub mod unpack;
mod userns;
mod way;
mod work;

use limits::ControlGroups;
use session::Session;
use store::{Below, Store, failed};
pub use way::Isolation;

pub struct Local {
    store: Store,
    git: Git,
    registries: Registries,
    groups: ControlGroups,
    /// What callers are to know of sandboxes, and is no failure.
    notices: RefCell<Vec<String>>,
    /// That something is not limited is said once.
    said: Cell<bool>,
    /// Who empties the trash.
    reaper: RefCell<Option<Child>>,
    /// What this value has booted; a session is taken out while it runs a command.
    sandboxes: RefCell<BTreeMap<SandboxId, boot::Running>>,
}

/// Makes the store at `root`, if there is none, for what a client of another backend keeps in it: logs, and what is
/// remembered of bakes.
pub(crate) fn make_store(root: &Path) -> Result<(), BackendError> {
    Store::open(root, Isolation::default()).map(drop)
}

impl Local {
    /// Opens the store at `root`, and makes it if there is none.
    pub fn open(root: &Path, isolation: Isolation) -> Result<Self, BackendError> {
        let store = Store::open(root, isolation)?;
        let git = Git::new(
            store.root(),
            std::env::vars_os().collect::<Vec<(OsString, OsString)>>(),
        )
        .map_err(|error| unprepared(&error))?;
        Ok(Self {
            registries: Registries::new(store.root(), BTreeMap::new(), []),
            store,
            git,
            groups: ControlGroups::default(),
            notices: RefCell::default(),
            said: Cell::new(false),
            reaper: RefCell::default(),
            sandboxes: RefCell::default(),
        })
    }

    /// How registries are reached; without it, without a login.
    #[must_use]
    pub fn with_registries(mut self, registries: Registries) -> Self {
        self.registries = registries;
        self
    }

    /// How servers of repositories are reached; without it, as git does by itself.
    #[must_use]
    pub fn with_git(mut self, git: Git) -> Self {
        self.git = git;
        self
    }

    /// What there is to know of sandboxes that were booted, and was not taken yet.
    pub fn notices(&self) -> Vec<String> {
        self.notices.take()
    }

    /// What of a new sandbox's limits is not enforced, the first time that this is asked.
    fn unlimited(&self, session: &Session) -> Option<String> {
        let text = session.group.not_enforced()?;
        (!self.said.replace(true)).then_some(text)
    }

    /// Has the trash emptied, unless somebody does it already.
    fn reap(&self) {
        let mut reaper = self.reaper.borrow_mut();
        let is_busy = |reaper: &mut Child| matches!(reaper.try_wait(), Ok(None));
        if !reaper.as_mut().is_some_and(is_busy) {
            *reaper = self.store.reap();
        }
    }

    /// What a child of `parent` stands on.
    fn below(&self, parent: Option<ContentKey>) -> Result<Below, BackendError> {
        let Some(key) = parent else {
            return Ok(Below::default());
        };
        match self.store.record(key) {
            Ok(Some(record)) => Ok(record.into()),
            Ok(None) => Err(lost(key, "it is gone")),
            Err(cause) => Err(lost(key, &cause)),
        }
    }
}

/// UTC, RFC 3339.
fn now() -> String {
    jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%S%.3fZ")
        .to_string()
}

fn unprepared(error: &GitError) -> BackendError {
    match &error.problem {
        Problem::Io { source, .. } => failed(&error.operation, source),
        _ => BackendError::new(Class::Denied, error.to_string()),
    }
}

fn lost(key: ContentKey, cause: &str) -> BackendError {
    BackendError::new(
        Class::Lost,
        format!("cannot use {}: {cause}", key.snapshot_name()),
    )
}

impl Drop for Local {
    fn drop(&mut self) {
        // Sandboxes that are still there go first, and into the trash.
        self.sandboxes.get_mut().clear();
        self.reap();
    }
}

/// A sandbox that is busy. It goes back to its place also when the wait for it is given up.
struct Lent<'a> {
    local: &'a Local,
    running: Option<boot::Running>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            self.local
                .sandboxes
                .borrow_mut()
                .insert(running.about().id.clone(), running);
        }
    }
}

impl Backend for Local {
    fn name(&self) -> &'static str {
        "local"
    }

    async fn probe(&self, keys: &[ContentKey]) -> Result<Vec<Presence>, BackendError> {
        Ok(keys.iter().map(|&key| self.store.probe(key)).collect())
    }

    async fn bake(
        &self,
        request: &BakeRequest,
        events: &Sink,
        cancel: &Cancel,
    ) -> Result<Baked, BakeError> {
        Box::pin(bake::bake(self, request, events, cancel)).await
    }

    async fn list(&self) -> Result<Vec<Snapshot>, BackendError> {
        let records = self
            .store
            .records()
            .map_err(|error| failed("read the store", &error))?;
        Ok(records.into_iter().map(|record| record.snapshot).collect())
    }

    async fn remove(&self, key: ContentKey) -> Result<bool, BackendError> {
        self.store
            .remove(key)
            .map_err(|error| failed("remove a snapshot", &error))
    }

    async fn boot(&self, request: &SandboxRequest) -> Result<SandboxId, BackendError> {
        if self.store.way().is_direct() {
            direct::allow(request)?;
        }
        if let Some(keep) = &request.keep {
            return Box::pin(kept::boot(self, request, keep)).await;
        }
        let running = Box::pin(boot::boot(self, request)).await?;
        let id = running.about().id.clone();
        self.sandboxes.borrow_mut().insert(id.clone(), running);
        Ok(id)
    }

    async fn exec(&self, sandbox: &SandboxId, command: &Exec) -> Result<Ending, BackendError> {
        let running = self.sandboxes.borrow_mut().remove(sandbox);
        let Some(running) = running else {
            return Box::pin(kept::exec(self, sandbox, command)).await;
        };
        let mut lent = Lent {
            local: self,
            running: Some(running),
        };
        match &mut lent.running {
            Some(running) => {
                let ending = Box::pin(running.exec(command)).await;
                self.notices.borrow_mut().extend(running.limited());
                ending
            }
            None => Err(boot::not_running(sandbox)),
        }
    }

    async fn start(
        &self,
        sandbox: &SandboxId,
        command: &Exec,
    ) -> Result<Option<Ending>, BackendError> {
        Box::pin(kept::start_in(self, sandbox, command)).await
    }

    async fn sandboxes(&self) -> Result<Vec<Sandbox>, BackendError> {
        let mut all = kept::all(self)?;
        let own = self.sandboxes.borrow();
        all.extend(own.values().map(|running| running.about().clone()));
        all.sort_by(|a, b| (&a.created, &a.id).cmp(&(&b.created, &b.id)));
        Ok(all)
    }

    async fn destroy(&self, sandbox: &SandboxId) -> Result<bool, BackendError> {
        let running = self.sandboxes.borrow_mut().remove(sandbox);
        match running {
            Some(running) => {
                running.end().await;
                Ok(true)
            }
            None => Box::pin(kept::destroy(self, sandbox)).await,
        }
    }

    async fn sweep(&self) -> Result<usize, BackendError> {
        let swept = self
            .store
            .sweep()
            .and_then(|swept| Ok(swept + self.registries.sweep()?))
            .map_err(|error| failed("sweep the store", &error))?;
        self.reap();
        self.groups.sweep();
        Ok(swept)
    }
}
