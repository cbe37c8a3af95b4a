//! A backend in memory, for tests of everything above backends: it keeps the same laws, is stricter about requests,
//! and runs only the handful of shell commands that `command.rs` knows.

use std::cell::RefCell;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Notify;

use super::{
    Backend, BackendError, BakeError, BakeRequest, Baked, Cancel, Class, Durations, Ending, Exec,
    Presence, Sandbox, SandboxId, SandboxRequest, SandboxState, Snapshot, Stdio, StepEnding,
    is_sandbox_name,
};
use crate::event::{Kind, Sink};
use crate::key;
use crate::node::ContentKey;

mod command;

/// A workspace: content by path.
type Files = BTreeMap<String, Vec<u8>>;

#[derive(Default)]
pub struct Memory {
    state: RefCell<State>,
    /// Tells who waits for a bake that one has ended.
    ended: Notify,
}

#[derive(Default)]
struct State {
    snapshots: BTreeMap<ContentKey, (Snapshot, Files)>,
    /// Records whose data was taken away.
    lost: BTreeSet<ContentKey>,
    baking: BTreeMap<ContentKey, Baking>,
    sandboxes: BTreeMap<SandboxId, Booted>,
    /// How many sandboxes and snapshots there have been, for names and times.
    count: u64,
}

struct Booted {
    about: Sandbox,
    files: Rc<RefCell<Files>>,
    /// Runs a command; only a kept one takes another.
    busy: bool,
}

/// A bake under way.
#[derive(Default)]
struct Baking {
    printed: Vec<String>,
    /// Who waits for it, and sees what it prints.
    followers: Vec<Sink>,
}

impl Memory {
    /// Takes a snapshot's data away and leaves its record, as a failing disk might.
    pub fn lose(&self, key: ContentKey) {
        self.state.borrow_mut().lost.insert(key);
    }

    /// Ends a kept sandbox as a machine that is switched off does.
    pub fn end(&self, sandbox: &SandboxId) {
        if let Some(booted) = self.state.borrow_mut().sandboxes.get_mut(sandbox) {
            booted.about.state = SandboxState::Ended;
        }
    }

    async fn lease(
        &self,
        key: ContentKey,
        events: &Sink,
        cancel: &Cancel,
    ) -> Result<Lease<'_>, BakeError> {
        loop {
            let ended = self.ended.notified();
            match self.state.borrow_mut().baking.entry(key) {
                Entry::Vacant(free) => {
                    free.insert(Baking::default());
                    return Ok(Lease { memory: self, key });
                }
                Entry::Occupied(mut taken) => taken.get_mut().follow(events),
            }
            tokio::select! {
                () = ended => {}
                () = cancel.cancelled() => return Err(BakeError::Cancelled),
            }
        }
    }

    fn files_of(&self, key: ContentKey) -> Result<Files, BackendError> {
        let state = self.state.borrow();
        match state.snapshots.get(&key) {
            Some((_, files)) if !state.lost.contains(&key) => Ok(files.clone()),
            _ => Err(BackendError::new(
                Class::Lost,
                format!("cannot use {}", key.snapshot_name()),
            )),
        }
    }

    /// A sandbox's files, for a command that begins or has ended.
    fn borrow(
        &self,
        sandbox: &SandboxId,
        begins: bool,
    ) -> Result<Rc<RefCell<Files>>, BackendError> {
        match self.state.borrow_mut().sandboxes.get_mut(sandbox) {
            Some(booted)
                if booted.about.state == SandboxState::Running && !(begins && booted.busy) =>
            {
                booted.busy = begins && !sandbox_is_kept(sandbox);
                Ok(Rc::clone(&booted.files))
            }
            _ => Err(BackendError::new(
                Class::Lost,
                "there is no such sandbox, or it is busy",
            )),
        }
    }

    async fn work(
        &self,
        request: &BakeRequest,
        lease: &Lease<'_>,
        events: &Sink,
    ) -> Result<Files, BakeError> {
        let files = RefCell::new(match request.parent {
            Some(parent) => self.files_of(parent)?,
            None => Files::new(),
        });
        for file in &request.files {
            let content = file.content.clone();
            files.borrow_mut().insert(file.path.clone(), content);
        }
        for (index, step) in request.steps.iter().enumerate() {
            let print = |line| lease.print(line, events);
            let run = command::run(&step.command, &files, &print);
            let ending = match tokio::time::timeout(step.timeout, run).await {
                Err(_) => StepEnding::TimedOut(step.timeout),
                Ok(ending) => match ending? {
                    ending if ending.success() => continue,
                    ending => StepEnding::Failed(ending),
                },
            };
            return Err(BakeError::Step {
                index,
                ending,
                log: PathBuf::new(),
            });
        }
        Ok(files.into_inner())
    }

    fn publish(&self, request: &BakeRequest, files: Files) -> Snapshot {
        let mut state = self.state.borrow_mut();
        state.count += 1;
        let snapshot = Snapshot {
            key: request.key,
            preimage: request.preimage.clone(),
            node: request.node.clone(),
            parent: request.parent,
            created: moment(state.count),
            durations: Durations::default(),
            bytes: files.values().map(|content| content.len() as u64).sum(),
            commits: BTreeMap::new(),
            verified: vec!["in memory".to_owned()],
        };
        state.lost.remove(&request.key);
        state
            .snapshots
            .insert(request.key, (snapshot.clone(), files));
        snapshot
    }
}

/// Names have no slash.
fn sandbox_is_kept(sandbox: &SandboxId) -> bool {
    is_sandbox_name(&sandbox.0)
}

/// The time of the count-th thing that happens.
fn moment(count: u64) -> String {
    format!("1970-01-01T00:{:02}:{:02}.000Z", count / 60, count % 60)
}

/// Held while a key is baked.
struct Lease<'a> {
    memory: &'a Memory,
    key: ContentKey,
}

impl Baking {
    fn follow(&mut self, events: &Sink) {
        events.send(Kind::Waiting);
        for line in &self.printed {
            events.send(Kind::Output(line.clone()));
        }
        self.followers.push(events.clone());
    }
}

impl Lease<'_> {
    /// One line of output, for who bakes and for who follows.
    fn print(&self, line: String, events: &Sink) {
        let mut state = self.memory.state.borrow_mut();
        let Some(baking) = state.baking.get_mut(&self.key) else {
            return;
        };
        for listener in baking.followers.iter().chain([events]) {
            listener.send(Kind::Output(line.clone()));
        }
        baking.printed.push(line);
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.memory.state.borrow_mut().baking.remove(&self.key);
        self.memory.ended.notify_waiters();
    }
}

impl Backend for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    async fn probe(&self, keys: &[ContentKey]) -> Result<Vec<Presence>, BackendError> {
        let state = self.state.borrow();
        let look = |key: &ContentKey| match state.snapshots.get(key) {
            Some(_) if state.lost.contains(key) => Presence::Lost("its data is gone".to_owned()),
            Some((snapshot, _)) => Presence::Present(Box::new(snapshot.clone())),
            None => Presence::Absent,
        };
        Ok(keys.iter().map(look).collect())
    }

    async fn bake(
        &self,
        request: &BakeRequest,
        events: &Sink,
        cancel: &Cancel,
    ) -> Result<Baked, BakeError> {
        if key::key_of_preimage(&request.preimage) != request.key || !request.checkouts.is_empty() {
            return Err(BackendError::new(Class::Bug, "a request that no planner makes").into());
        }
        let lease = self.lease(request.key, events, cancel).await?;
        let present = self.probe(&[request.key]).await?.pop();
        if let (false, Some(Presence::Present(snapshot))) = (request.force, present) {
            return Ok(Baked::Found(snapshot));
        }
        events.send(Kind::Started {
            log: PathBuf::new(),
        });
        let limit = request.resources.timeout;
        let files = tokio::select! {
            files = tokio::time::timeout(limit, self.work(request, &lease, events)) => {
                files.map_err(|_| BakeError::Timeout { limit, log: PathBuf::new() })??
            }
            () = cancel.cancelled() => return Err(BakeError::Cancelled),
        };
        Ok(Baked::Published(Box::new(self.publish(request, files))))
    }

    async fn list(&self) -> Result<Vec<Snapshot>, BackendError> {
        let state = self.state.borrow();
        let mut snapshots: Vec<Snapshot> = state
            .snapshots
            .values()
            .map(|(snapshot, _)| snapshot.clone())
            .collect();
        snapshots.sort_by(|a, b| a.created.cmp(&b.created));
        Ok(snapshots)
    }

    async fn remove(&self, key: ContentKey) -> Result<bool, BackendError> {
        let mut state = self.state.borrow_mut();
        state.lost.remove(&key);
        Ok(state.snapshots.remove(&key).is_some())
    }

    async fn boot(&self, request: &SandboxRequest) -> Result<SandboxId, BackendError> {
        let files = self.files_of(request.key);
        let mut state = self.state.borrow_mut();
        state.count += 1;
        let count = state.count;
        let made_up = || format!("s{count}");
        let keep = request.keep.as_ref();
        let name = keep.map(|keep| keep.name.clone().unwrap_or_else(made_up));
        let id = SandboxId(name.clone().unwrap_or_else(|| format!("/{count}")));
        if name.as_ref().is_some_and(|name| !is_sandbox_name(name)) {
            return Err(BackendError::new(Class::InUse, "no name"));
        }
        if let Some(there) = state.sandboxes.get_mut(&id) {
            if there.about.key != request.key || there.about.state == SandboxState::Running {
                return Err(BackendError::new(Class::InUse, "the name is in use"));
            }
            there.about.state = SandboxState::Running;
            return Ok(id);
        }
        let files = files?;
        let node = state.snapshots.get(&request.key);
        let about = Sandbox {
            id: id.clone(),
            name,
            key: request.key,
            node: node.map_or(String::new(), |(snapshot, _)| snapshot.node.clone()),
            created: moment(count),
            state: SandboxState::Running,
            processes: None,
            log: None,
        };
        let booted = Booted {
            about,
            files: Rc::new(RefCell::new(files)),
            busy: false,
        };
        state.sandboxes.insert(id.clone(), booted);
        Ok(id)
    }

    async fn exec(&self, sandbox: &SandboxId, exec: &Exec) -> Result<Ending, BackendError> {
        let files = self.borrow(sandbox, true)?;
        let (nobody, _) = crate::event::channel();
        let events = match &exec.stdio {
            Stdio::Events(events) => events.clone(),
            Stdio::Inherit => nobody,
        };
        let print = |line| events.send(Kind::Output(line));
        // `sh -c COMMAND` is the one form that both backends understand.
        let ending = match exec.command.as_slice() {
            [sh, flag, text] if sh == "sh" && flag == "-c" => {
                command::run(text, &files, &print).await
            }
            _ => Err(BackendError::new(Class::Bug, "only `sh -c` runs in memory")),
        };
        // Somebody may have destroyed it meanwhile.
        self.borrow(sandbox, false)
            .map_or(Ok(Ending::Signalled(9)), |_| ending)
    }

    async fn start(
        &self,
        sandbox: &SandboxId,
        exec: &Exec,
    ) -> Result<Option<Ending>, BackendError> {
        let kept = sandbox_is_kept(sandbox);
        let exec = Exec {
            stdio: Stdio::Inherit,
            ..exec.clone()
        };
        match kept {
            true => self.exec(sandbox, &exec).await.map(|_| None),
            false => Err(BackendError::new(Class::Lost, "it is not kept")),
        }
    }

    async fn sandboxes(&self) -> Result<Vec<Sandbox>, BackendError> {
        let state = self.state.borrow();
        let all = state.sandboxes.values();
        let mut all: Vec<Sandbox> = all.map(|booted| booted.about.clone()).collect();
        all.sort_by(|a, b| a.created.cmp(&b.created));
        Ok(all)
    }

    async fn destroy(&self, sandbox: &SandboxId) -> Result<bool, BackendError> {
        let destroyed = self.state.borrow_mut().sandboxes.remove(sandbox);
        Ok(destroyed.is_some())
    }

    async fn sweep(&self) -> Result<usize, BackendError> {
        // Everything is dropped where it was made, and waiting here lets no bake start meanwhile.
        tokio::time::sleep(Duration::ZERO).await;
        Ok(0)
    }
}
