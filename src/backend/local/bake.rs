//! One bake: check out, write files, run steps, flush, verify, publish. What fails leaves nothing but its log.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use atelier_lang::graph::User;
use secrecy::SecretString;

use super::environment;
use super::image::{self, Image};
use super::lease::Lease;
use super::limits::{Ended, Limits};
use super::log::Log;
use super::protocol::{
    Action, CacheMount, Layout, Process, Root, RootLayers, StdioKind, Workspace,
};
use super::session::Session;
use super::store::{self, Below, Scratch, failed};
use super::way::Way;
use super::{Local, checkout, flatten, gate};
use crate::backend::{
    BackendError, BakeError, BakeRequest, Baked, Cancel, Class, Durations, Network, Presence,
    Snapshot, Step, StepEnding,
};
use crate::event::Sink;
use crate::nonce;
use crate::resolve::PinError;

/// A bake under way.
struct Bake<'a> {
    local: &'a Local,
    request: &'a BakeRequest,
    /// The layers below the workspace's own.
    below: Below,
    scratch: Scratch,
    log: Log,
    /// Outlives the work on it, so that it is ended before its folder is.
    session: Option<Session>,
    durations: Durations,
    limit: Duration,
    began: jiff::Timestamp,
}

pub(super) async fn bake(
    local: &Local,
    request: &BakeRequest,
    events: &Sink,
    cancel: &Cancel,
) -> Result<Baked, BakeError> {
    allow(local.store.way(), request)?;
    let mut lease = Lease::take(&local.store, request.key, events, cancel).await?;
    if let (false, Presence::Present(snapshot)) = (request.force, local.store.probe(request.key)) {
        return Ok(Baked::Found(snapshot));
    }
    let name = format!("logs/{}-{}.log", request.key.to_hex(), nonce::name());
    let secrets: Vec<SecretString> = gate::secrets(request)
        .into_iter()
        .map(|(_, value)| value)
        .collect();
    let log = Log::create(local.store.root().join(&name), events, &secrets)
        .and_then(|log| lease.announce(&name).map(|()| log))
        .map_err(|error| failed("write a log in the store", &error))?;
    let below = flatten::shallow(local, request.parent).await?;
    let scratch = local.store.scratch(&below.layers)?;
    let mut bake = Bake {
        local,
        request,
        below,
        scratch,
        log,
        session: None,
        durations: Durations::default(),
        limit: request.resources.timeout,
        began: jiff::Timestamp::now(),
    };
    let bounds = Bounds {
        began: tokio::time::Instant::now(),
        limit: request.resources.timeout,
        log: bake.log.path().to_owned(),
        cancel,
    };
    let worked = bounds.within(bake.work()).await;
    if let Some(session) = bake.session.take() {
        session.end().await;
    }
    let cleansed = bake.cleanse(cancel.is_cancelled()).await;
    let published = match (worked, cleansed) {
        (Err(error), cleansed) => {
            bake.tell_cleansed(cleansed);
            Err(error)
        }
        (Ok(_), Err(error)) => Err(error.into()),
        (Ok(_), Ok(found)) if !found.is_empty() => Err(gate::inside(found)),
        (Ok(verified), Ok(_)) => bounds.within(bake.publish(verified)).await,
    };
    let published = published.map_err(|error| bake.hide(bake.for_lack_of_room(error)));
    if let Err(error) = &published {
        bake.log.notice(&error.to_string());
    }
    published.map(|snapshot| Baked::Published(Box::new(snapshot)))
}

/// When a bake is given up. What it has under way dies with what is waited for.
struct Bounds<'a> {
    began: tokio::time::Instant,
    limit: Duration,
    log: PathBuf,
    cancel: &'a Cancel,
}

impl Bounds<'_> {
    async fn within<T>(
        &self,
        work: impl Future<Output = Result<T, BakeError>>,
    ) -> Result<T, BakeError> {
        tokio::select! {
            worked = work => worked,
            () = tokio::time::sleep_until(self.began + self.limit) => {
                Err(BakeError::Timeout { limit: self.limit, log: self.log.clone() })
            }
            () = self.cancel.cancelled() => Err(BakeError::Cancelled),
        }
    }
}

/// Refuses what cannot be done this way, before anything is.
fn allow(way: Way, request: &BakeRequest) -> Result<(), BackendError> {
    match first_root_step(request) {
        Some(index) if !way.has_root() => return Err(needs_root(way, index)),
        _ => {}
    }
    if way.is_direct() && request.strict_outside {
        let message = "what a step writes outside of the workspace is not seen without a sandbox";
        let help = "leave out --strict-outside, or --sandbox direct";
        return Err(BackendError::new(Class::Denied, message).with_help(help));
    }
    Ok(())
}

fn first_root_step(request: &BakeRequest) -> Option<usize> {
    request
        .steps
        .iter()
        .position(|step| step.user == User::Root)
}

fn needs_root(way: Way, step: usize) -> BackendError {
    let step = step + 1;
    if way.is_direct() {
        let message =
            format!("step {step} runs as root, which you are not, and there is no sandbox");
        return BackendError::new(Class::Denied, message).with_help("run atelier as root");
    }
    let message = format!("step {step} runs as root, for which you have no range of user ids");
    BackendError::new(Class::Denied, message).with_help(
        "have root install `uidmap` and run `usermod --add-subuids 100000-165535 --add-subgids 100000-165535 YOU`; `atelier doctor` says more",
    )
}

impl Bake<'_> {
    /// Everything up to the flush; returns the checks that passed.
    async fn work(&mut self) -> Result<Vec<String>, BakeError> {
        let began = Instant::now();
        let image = {
            let log = &mut self.log;
            let mut say = |text: &str| log.phase(text);
            Box::pin(image::ready(self.local, &self.request.image, &mut say)).await?
        };
        for notice in self.local.registries.notices() {
            self.log.notice(&notice);
        }
        self.check_out(&image.root).await?;
        self.durations.checkout = began.elapsed().as_secs_f64();
        let began = Instant::now();
        for (index, step) in self.request.steps.iter().enumerate() {
            self.step(index, step, &image).await?;
        }
        self.durations.steps = began.elapsed().as_secs_f64();
        let session = self.session.as_mut().ok_or_else(no_session)?;
        let verified = gate::pass(session, self.request, &mut self.log).await?;
        session.capture().await?;
        Ok(verified)
    }

    async fn check_out(&mut self, root: &RootLayers) -> Result<(), BakeError> {
        let checkouts = &self.request.checkouts;
        for checkout in checkouts {
            self.log.phase(&format!(
                "check out {} at {}",
                checkout.path, checkout.commit
            ));
        }
        checkout::fetch(&self.local.git, checkouts, &self.scratch, self.limit).await?;
        let layout = self.layout(root.clone())?;
        let limits = Limits::from(&self.request.resources);
        let session = Session::start(layout, &self.local.groups, &limits).await?;
        if let Some(text) = self.local.unlimited(&session) {
            self.log.notice(&text);
        }
        let session = self.session.insert(session);
        let notice = match session.workspace() {
            Workspace::Overlaid => None,
            Workspace::Copied { copied, cloned } => Some(of_copy(copied, cloned)),
            Workspace::Direct => Some(DIRECT.to_owned()),
        };
        if let Some(notice) = notice {
            // A copy needs nothing below it.
            self.below.layers.clear();
            self.log.notice(&notice);
        }
        for (index, checkout) in checkouts.iter().enumerate() {
            checkout::check_out(session, index, checkout, &self.scratch, &mut self.log).await?;
        }
        self.write_files().await
    }

    fn layout(&self, root: RootLayers) -> Result<Layout, BakeError> {
        let mut caches = Vec::new();
        for cache in &self.request.caches {
            let source = self.local.store.cache(&cache.name);
            self.local
                .store
                .make_cache(&source)
                .map_err(|error| failed("make a cache in the store", &error))?;
            caches.push(CacheMount {
                source,
                target: cache.path.clone(),
            });
        }
        Ok(Layout {
            way: self.local.store.way(),
            store: self.local.store.root().to_owned(),
            scratch: self.scratch.name().to_owned(),
            writes: None,
            root,
            workspace: self
                .below
                .layers
                .iter()
                .map(|layer| store::tree(&layer.name))
                .collect(),
            caches,
            hostname: "atelier".to_owned(),
            groups: Vec::new(),
            network: Network::Host,
        })
    }

    /// One at a time: each may be large.
    async fn write_files(&mut self) -> Result<(), BakeError> {
        for file in &self.request.files {
            self.log.phase(&format!("write {}", file.path));
            let process = Process {
                root: Root::Image,
                user: User::Dev,
                folder: "/home/dev".to_owned(),
                environment: Vec::new(),
                action: Action::Write(file.clone()),
                stdio: StdioKind::Frames,
            };
            self.session()?.run(process, async |_| {}).await?;
        }
        Ok(())
    }

    /// Runs a step, as often as its retries allow.
    async fn step(&mut self, index: usize, step: &Step, image: &Image) -> Result<(), BakeError> {
        let headline = step.command.lines().next().unwrap_or_default();
        let steps = self.request.steps.len();
        self.log
            .phase(&format!("step {} of {steps}: {headline}", index + 1));
        let mut tries = 0;
        loop {
            let ending = match self.attempt(step, image).await? {
                StepEnding::Failed(ending) if ending.success() => return Ok(()),
                ending => ending,
            };
            if self.local.store.is_full() {
                let message = format!("step {} {ending}", index + 1);
                return Err(full(&message).into());
            }
            tries += 1;
            if tries > step.retry {
                return Err(BakeError::Step {
                    index,
                    ending,
                    log: self.log.path().to_owned(),
                });
            }
            self.log.notice(&format!(
                "step {} {ending}; try {} of {}",
                index + 1,
                tries + 1,
                step.retry + 1
            ));
        }
    }

    /// One try. Afterwards nothing of it is running.
    async fn attempt(&mut self, step: &Step, image: &Image) -> Result<StepEnding, BakeError> {
        let process = self.process(step, image);
        let log = &mut self.log;
        let session = self.session.as_mut().ok_or_else(no_session)?;
        let run = session.run(process, async |bytes| log.output(bytes).await);
        let ending = tokio::time::timeout(step.timeout, run).await;
        log.flush();
        let ending = match ending {
            Ok(ending) => StepEnding::Failed(ending?),
            Err(_) => {
                session.kill().await?;
                StepEnding::TimedOut(step.timeout)
            }
        };
        let limits = *session.group.limits();
        let Ended { killed, refused } = session.group.ended();
        if refused > 0 {
            let text = format!("its limit of {} processes was reached", limits.processes);
            log.notice(&text);
        }
        Ok(match ending {
            // Whoever started what was killed makes a failure of its own of it.
            StepEnding::Failed(ending) if killed > 0 && !ending.success() => {
                StepEnding::OutOfMemory(limits.memory)
            }
            ending => ending,
        })
    }

    fn process(&self, step: &Step, image: &Image) -> Process {
        Process {
            root: Root::Image,
            user: step.user,
            folder: environment::folder(&step.folder),
            environment: environment::variables(
                &image.variables,
                &environment::proxies(),
                &self.request.environment,
                &environment::of_steps(),
            ),
            action: Action::Run(step.program()),
            stdio: StdioKind::Frames,
        }
    }

    /// Removes what its steps have left of secrets in caches; see [`gate::cleanse`].
    async fn cleanse(&self, is_cancelled: bool) -> Result<Vec<(String, String)>, BackendError> {
        gate::cleanse(&self.local.store, self.request, self.began, is_cancelled).await
    }

    /// Says what has become of the caches of a bake that has failed for another reason.
    fn tell_cleansed(&mut self, cleansed: Result<Vec<(String, String)>, BackendError>) {
        match cleansed {
            Ok(found) => {
                for (secret, place) in found {
                    let text = format!("removed from {place}: it held the value of {secret}");
                    self.log.notice(&text);
                }
            }
            Err(error) => {
                let help = error.help.map(|help| format!("; {help}"));
                let text = format!("{}{}", error.message, help.unwrap_or_default());
                self.log.notice(&text);
            }
        }
    }

    /// Brings the workspace to the disk, describes it and publishes it. The sandbox has ended: nothing can write to it any
    /// more.
    async fn publish(&mut self, mut verified: Vec<String>) -> Result<Snapshot, BakeError> {
        let began = Instant::now();
        // Side by side: one waits for the disk, the other for the processor.
        let described = gate::describe(
            &self.local.store,
            &self.scratch,
            self.request,
            &mut self.log,
        );
        let (flushed, described) = tokio::join!(self.scratch.flush(), described);
        flushed.map_err(|error| failed("flush the workspace to disk", &error))?;
        let described = described?;
        verified.extend(["flush", "manifest"].map(str::to_owned));
        verified.extend(described.searched.then(|| "no secrets".to_owned()));
        self.durations.publish = began.elapsed().as_secs_f64();
        let commits = self.request.checkouts.iter();
        let snapshot = Snapshot {
            key: self.request.key,
            preimage: self.request.preimage.clone(),
            node: self.request.node.clone(),
            parent: self.request.parent,
            created: super::now(),
            durations: self.durations,
            bytes: described.bytes,
            commits: commits
                .map(|checkout| (checkout.path.clone(), checkout.commit.to_string()))
                .collect::<BTreeMap<_, _>>(),
            verified,
        };
        let below = std::mem::take(&mut self.below);
        let published =
            self.local
                .store
                .publish(&self.scratch, below, described.manifest, snapshot);
        let record = published.map_err(|error| failed("publish the snapshot", &error))?;
        Ok(record.snapshot)
    }

    /// Git and others say of a full disk only that they could not write. What they wrote is still there.
    fn for_lack_of_room(&self, error: BakeError) -> BakeError {
        let told = match &error {
            BakeError::Backend(error) => error.class == Class::Full,
            BakeError::Checkout(_) => false,
            BakeError::Step { .. }
            | BakeError::Timeout { .. }
            | BakeError::Outside { .. }
            | BakeError::SecretInside { .. }
            | BakeError::Cancelled => true,
        };
        if told || !self.local.store.is_full() {
            return error;
        }
        full(&error.to_string()).into()
    }

    /// An error goes to people: what programs and steps say in it may hold a secret.
    fn hide(&self, error: BakeError) -> BakeError {
        let hide = |text: String| self.log.mask(&text);
        let hide_all = |texts: Vec<String>| texts.into_iter().map(hide).collect();
        match error {
            BakeError::Outside { count, names } => BakeError::Outside {
                count,
                names: hide_all(names),
            },
            BakeError::SecretInside { names, paths } => BakeError::SecretInside {
                names,
                paths: hide_all(paths),
            },
            BakeError::Checkout(error) => BakeError::Checkout(PinError {
                cause: hide(error.cause),
                ..error
            }),
            BakeError::Backend(error) => BakeError::Backend(BackendError {
                message: hide(error.message),
                ..error
            }),
            BakeError::Step { .. } | BakeError::Timeout { .. } | BakeError::Cancelled => error,
        }
    }

    fn session(&mut self) -> Result<&mut Session, BakeError> {
        self.session.as_mut().ok_or_else(no_session)
    }
}

const DIRECT: &str =
    "steps run on this machine itself, in its own /home/dev, and nothing is isolated";

/// What it costs to have no overlays.
fn of_copy(copied: u64, cloned: u64) -> String {
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    format!(
        "overlays cannot be mounted on the store's file system, so workspaces are copied: {} MiB copied, {} MiB shared",
        mib(copied),
        mib(cloned)
    )
}

fn full(what: &str) -> BackendError {
    let message = format!("{what}, and the disk of the store is full");
    BackendError::new(Class::Full, message)
        .with_help("free some room, or place the store elsewhere with --store DIR")
}

fn no_session() -> BakeError {
    BackendError::new(Class::Bug, "a step ran before its sandbox was made").into()
}
