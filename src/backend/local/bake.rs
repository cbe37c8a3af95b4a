//! One bake: check out, write files, run steps, flush, verify, publish. What fails leaves nothing but its log.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use atelier_lang::graph::{Shell, User};
use walkdir::WalkDir;

use super::environment::{self, ImageVariables};
use super::image::{self, Image};
use super::lease::Lease;
use super::log::Log;
use super::protocol::{Action, CacheMount, Layout, Process, Root, RootLayers, StdioKind};
use super::session::Session;
use super::store::{self, LAYER, Scratch, TREE, failed};
use super::way::Way;
use super::{Local, checkout, nonce};
use crate::backend::{
    BackendError, BakeError, BakeRequest, Baked, Cancel, Class, Durations, Ending, Presence,
    Snapshot, Step, StepEnding,
};
use crate::event::Sink;

/// The kernel stops at 500, and one page of mount options a little earlier.
const DEEPEST: usize = 300;

/// A bake under way.
struct Bake<'a> {
    local: &'a Local,
    request: &'a BakeRequest,
    layers: Vec<String>,
    scratch: Scratch,
    log: Log,
    /// Outlives the work on it, so that it is ended before its folder is.
    session: Option<Session>,
    durations: Durations,
    limit: Duration,
}

pub(super) async fn bake(
    local: &Local,
    request: &BakeRequest,
    events: &Sink,
    cancel: &Cancel,
) -> Result<Baked, BakeError> {
    if let (Way::Alone { .. }, Some(index)) = (local.store.way(), first_root_step(request)) {
        return Err(needs_range(index).into());
    }
    let mut lease = Lease::take(&local.store, request.key, events, cancel).await?;
    if let (false, Presence::Present(snapshot)) = (request.force, local.store.probe(request.key)) {
        return Ok(Baked::Found(snapshot));
    }
    let name = format!("logs/{}-{}.log", request.key.to_hex(), nonce::name());
    let secrets = request.environment.secrets.values().cloned().collect();
    let log = Log::create(local.store.root().join(&name), events, secrets)
        .and_then(|log| lease.announce(&name).map(|()| log))
        .map_err(|error| failed("write a log in the store", &error))?;
    let layers = local.parent_layers(request.parent)?;
    let scratch = local.store.scratch(&layers)?;
    let mut bake = Bake {
        local,
        request,
        layers,
        scratch,
        log,
        session: None,
        durations: Durations::default(),
        limit: request.resources.timeout,
    };
    let worked = tokio::select! {
        worked = bake.work() => worked,
        () = tokio::time::sleep(request.resources.timeout) => {
            Err(BakeError::Timeout { limit: request.resources.timeout, log: bake.log.path().to_owned() })
        }
        () = cancel.cancelled() => Err(BakeError::Cancelled),
    };
    if let Some(session) = bake.session.take() {
        session.end().await;
    }
    let published = match worked {
        Ok(verified) => bake.publish(verified).await,
        Err(error) => Err(error),
    };
    if let Err(error) = &published {
        bake.log.notice(&error.to_string());
    }
    published.map(|snapshot| Baked::Published(Box::new(snapshot)))
}

fn first_root_step(request: &BakeRequest) -> Option<usize> {
    request
        .steps
        .iter()
        .position(|step| step.user == User::Root)
}

fn needs_range(step: usize) -> BackendError {
    let step = step + 1;
    let message = format!("step {step} runs as root, for which you have no range of user ids");
    BackendError::new(Class::Denied, message).with_help(
        "have root install `uidmap` and run `usermod --add-subuids 100000-165535 --add-subgids 100000-165535 YOU`; `atelier doctor` says more",
    )
}

impl Bake<'_> {
    /// Everything up to the flush; returns the checks that passed.
    async fn work(&mut self) -> Result<Vec<String>, BakeError> {
        let began = Instant::now();
        let image = image::ready(&self.local.store, &self.request.image).await?;
        self.check_out(&image.root).await?;
        self.durations.checkout = began.elapsed().as_secs_f64();
        let began = Instant::now();
        for (index, step) in self.request.steps.iter().enumerate() {
            self.step(index, step, &image).await?;
        }
        self.durations.steps = began.elapsed().as_secs_f64();
        self.verify().await
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
        let session = self.session.insert(Session::start(&layout).await?);
        for (index, checkout) in checkouts.iter().enumerate() {
            checkout::check_out(session, index, checkout, &mut self.log).await?;
        }
        self.write_files().await
    }

    fn layout(&self, root: RootLayers) -> Result<Layout, BakeError> {
        if self.layers.len() >= DEEPEST {
            let message = format!("a chain of {} snapshots is too deep", self.layers.len());
            let help = "merge some of its prebuilds";
            return Err(BackendError::new(Class::Denied, message)
                .with_help(help)
                .into());
        }
        let mut caches = Vec::new();
        for cache in &self.request.caches {
            let source = format!("caches/{}", cache.name);
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
            root,
            workspace: self.layers.iter().map(|layer| store::tree(layer)).collect(),
            caches,
            hostname: "atelier".to_owned(),
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
                None => StepEnding::TimedOut(step.timeout),
                Some(ending) if ending.success() => return Ok(()),
                Some(ending) => StepEnding::Failed(ending),
            };
            if self.local.store.is_full() {
                let message = format!(
                    "step {} {ending}, and the disk of the store is full",
                    index + 1
                );
                let help = "free some room, or place the store elsewhere with --store DIR";
                return Err(BackendError::new(Class::Full, message)
                    .with_help(help)
                    .into());
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

    /// One try; `None` if the step ran into its time limit. Afterwards nothing of it is running.
    async fn attempt(&mut self, step: &Step, image: &Image) -> Result<Option<Ending>, BakeError> {
        let process = self.process(step, image);
        let log = &mut self.log;
        let session = self.session.as_mut().ok_or_else(no_session)?;
        let run = session.run(process, async |bytes| log.output(bytes).await);
        let ending = tokio::time::timeout(step.timeout, run).await;
        log.flush();
        match ending {
            Ok(ending) => Ok(Some(ending?)),
            Err(_) => {
                session.kill().await?;
                Ok(None)
            }
        }
    }

    fn process(&self, step: &Step, image: &Image) -> Process {
        let program: &[&str] = match step.shell {
            Shell::Bash => &["bash", "-euo", "pipefail", "-c"],
            Shell::Sh => &["sh", "-eu", "-c"],
        };
        let program = program
            .iter()
            .map(|&word| word.to_owned())
            .chain([step.command.clone()]);
        let variables = match &image.variables {
            Some(variables) => ImageVariables::Image(variables),
            None => ImageVariables::Host,
        };
        Process {
            root: Root::Image,
            user: step.user,
            folder: environment::folder(&step.folder),
            environment: environment::variables(
                variables,
                &environment::proxies(),
                &self.request.environment,
                &environment::of_steps(),
            ),
            action: Action::Run(program.collect()),
            stdio: StdioKind::Frames,
        }
    }

    async fn verify(&mut self) -> Result<Vec<String>, BakeError> {
        let outside = self.session()?.outside().await?;
        let session = self.session.as_mut().ok_or_else(no_session)?;
        let mut verified = vec!["commits".to_owned(), "processes ended".to_owned()];
        match outside.count {
            0 => verified.push("nothing outside".to_owned()),
            count if self.request.strict_outside => {
                let names = outside.names;
                return Err(BakeError::Outside { count, names });
            }
            count => self.log.notice(&not_kept(count, &outside.names)),
        }
        for checkout in &self.request.checkouts {
            checkout::verify(session, checkout, &mut self.log).await?;
        }
        verified.extend((!self.request.checkouts.is_empty()).then(|| "git fsck".to_owned()));
        Ok(verified)
    }

    /// Flushes the workspace to disk and publishes it. The sandbox has ended: nothing can write to it any more.
    async fn publish(&mut self, mut verified: Vec<String>) -> Result<Snapshot, BakeError> {
        let began = Instant::now();
        let tree = self.scratch.path(LAYER).join(TREE);
        // Side by side: one waits for the disk, the other for the processor.
        let (flushed, bytes) = tokio::join!(self.scratch.flush(), measure(tree));
        let bytes = flushed
            .and(bytes)
            .map_err(|error| failed("flush the workspace to disk", &error))?;
        verified.push("flush".to_owned());
        self.durations.publish = began.elapsed().as_secs_f64();
        let commits = self.request.checkouts.iter();
        let snapshot = Snapshot {
            key: self.request.key,
            preimage: self.request.preimage.clone(),
            node: self.request.node.clone(),
            parent: self.request.parent,
            created: jiff::Timestamp::now()
                .strftime("%Y-%m-%dT%H:%M:%S%.3fZ")
                .to_string(),
            durations: self.durations,
            bytes,
            commits: commits
                .map(|checkout| (checkout.path.clone(), checkout.commit.to_string()))
                .collect::<BTreeMap<_, _>>(),
            verified,
        };
        let published = self
            .local
            .store
            .publish(&self.scratch, self.layers.clone(), snapshot);
        Ok(published.map_err(|error| failed("publish the snapshot", &error))?)
    }

    fn session(&mut self) -> Result<&mut Session, BakeError> {
        self.session.as_mut().ok_or_else(no_session)
    }
}

/// The line for people about what a bake throws away.
fn not_kept(count: usize, names: &[String]) -> String {
    let shown = names.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
    let more = match count.saturating_sub(5) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!("written outside of the workspace, and not kept: {shown}{more}")
}

fn no_session() -> BakeError {
    BackendError::new(Class::Bug, "a step ran before its sandbox was made").into()
}

/// What lies below a folder, in bytes of disk.
async fn measure(folder: PathBuf) -> io::Result<u64> {
    let measured = tokio::task::spawn_blocking(move || {
        let entries = WalkDir::new(folder).into_iter().flatten();
        entries
            .filter_map(|entry| entry.metadata().ok())
            .map(|meta| meta.blocks() * 512)
            .sum()
    });
    Ok(measured.await?)
}
