//! The steps of a node, and what they made of the workspace.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use atelier_lang::graph;
use secrecy::SecretString;

use super::events::Events;
use super::memory::Memory;
use super::process::{self, Process};
use super::protocol::{self, Baked, Class, Failure, Outcome, Secret, StepEnding, StepsRequest};
use super::volume::Volume;
use super::{aside, broken, input, machine, repositories, within};
use crate::backend::{Ending, Step};
use crate::draft;
use crate::tree::{self, Needles};

pub(super) async fn answer(
    volume: &Path,
    workspace: &Path,
    events: &mut Events,
) -> Result<Outcome, Failure> {
    let volume = Volume::open(volume)?;
    let request: StepsRequest = input::read().await?;
    let values = request.secrets.iter();
    let values: Vec<SecretString> = values.map(|secret| secret.value.clone().into()).collect();
    events.keep_secret(&values);
    events.request(&request.nonce);
    let seen = volume.is_seen_at(workspace);
    match seen.map_err(|error| broken(&format!("open {}", workspace.display()), &error))? {
        true => {}
        false => {
            let message = format!("{} is not the volume's workspace", workspace.display());
            return Err(machine(Class::Bug, message));
        }
    }
    let bake = Bake {
        memory: Memory::watch(),
        volume: Arc::new(volume),
        workspace,
        request: &request,
        events,
    };
    within(request.limit, bake.work()).await
}

struct Bake<'a> {
    volume: Arc<Volume>,
    workspace: &'a Path,
    request: &'a StepsRequest,
    events: &'a mut Events,
    memory: Memory,
}

impl Bake<'_> {
    async fn work(mut self) -> Result<Outcome, Failure> {
        let began = Instant::now();
        for (index, step) in self.request.steps.iter().enumerate() {
            self.step(index, step).await?;
        }
        let steps_seconds = began.elapsed().as_secs_f64();
        let began = Instant::now();
        let mut verified = vec!["processes ended".to_owned()];
        verified.extend(self.check_repositories().await?);
        let described = self.describe().await?;
        verified.extend(["flush", "manifest"].map(str::to_owned));
        verified.extend(described.searched.then(|| "no secrets".to_owned()));
        Ok(Outcome::Baked(Baked {
            manifest: described.manifest,
            bytes: described.bytes,
            steps_seconds,
            describe_seconds: began.elapsed().as_secs_f64(),
            verified,
        }))
    }

    /// Runs a step, as often as its retries allow.
    async fn step(&mut self, index: usize, step: &protocol::Step) -> Result<(), Failure> {
        let headline = step.command.lines().next().unwrap_or_default();
        let steps = self.request.steps.len();
        self.events
            .phase(&format!("step {} of {steps}: {headline}", index + 1));
        let mut tries = 0;
        loop {
            let began = Instant::now();
            let ending = self.attempt(step).await?;
            self.events
                .step(index, ending, began.elapsed().as_secs_f64());
            if ending == StepEnding::Ended(Ending::Exited(0)) {
                return Ok(());
            }
            let told = || {
                format!(
                    "step {} {}",
                    index + 1,
                    crate::backend::StepEnding::from(ending)
                )
            };
            if let Some(full) = self.volume.for_lack_of_room(told) {
                return Err(full);
            }
            tries += 1;
            if tries > step.retry {
                return Err(Failure::Step { index, ending });
            }
            let text = format!("{}; try {} of {}", told(), tries + 1, step.retry + 1);
            self.events.notice(&text);
        }
    }

    /// One try. Afterwards nothing of it is running.
    async fn attempt(&mut self, step: &protocol::Step) -> Result<StepEnding, Failure> {
        let process = Process {
            program: Step::from(step).program(),
            environment: self.request.variables.clone(),
            folder: match step.folder.as_str() {
                "" => self.workspace.to_owned(),
                folder => self.workspace.join(folder),
            },
        };
        let events = &mut *self.events;
        let run = process::run(&process, |bytes| events.output(bytes));
        let limit = step.timeout;
        let ended = tokio::time::timeout(limit, Box::pin(run)).await;
        self.events.end_line();
        let ending = match ended {
            Ok(ending) => ending.map_err(|error| broken("run a step", &error))?,
            Err(_) => {
                let cleared = process::end_all();
                cleared.map_err(|error| broken("end a step", &error))?;
                return Ok(StepEnding::TimedOut(step.timeout));
            }
        };
        // Whoever started what was killed may not have looked: a pipeline ends as its last part does.
        Ok(match self.memory.used_up() {
            Some(limit) => StepEnding::OutOfMemory(limit),
            None => StepEnding::Ended(ending),
        })
    }

    /// What was checked: nothing in an image without git.
    async fn check_repositories(&mut self) -> Result<Option<String>, Failure> {
        let checkouts = &self.request.checkouts;
        if checkouts.is_empty() {
            return Ok(None);
        }
        if !repositories::can_verify() {
            let text =
                "there is no git here, so that repositories are not checked before the snapshot is";
            self.events.notice(text);
            return Ok(None);
        }
        let mut whole = true;
        for path in checkouts {
            whole &= repositories::verify(self.workspace, path).await?;
        }
        // Not if a step has removed one.
        Ok(whole.then(|| "git fsck".to_owned()))
    }

    async fn describe(&mut self) -> Result<Described, Failure> {
        let volume = self.volume.clone();
        let values = self.request.secrets.iter();
        let values: Vec<SecretString> = values.map(|secret| secret.value.clone().into()).collect();
        let (described, too_short) = aside(move || describe(&volume, &values)).await?;
        let name = |secret: &Secret| secret.name.clone();
        for &index in &too_short {
            let name = name(&self.request.secrets[index]);
            let text = format!("{name} is too short to be searched for in the workspace");
            self.events.notice(&text);
        }
        if described.found.is_empty() {
            return Ok(Described {
                searched: self.request.secrets.len() > too_short.len(),
                ..described
            });
        }
        let found = described.found.iter();
        let mut names: Vec<String> = found
            .map(|(secret, _)| name(&self.request.secrets[*secret]))
            .collect();
        names.sort();
        names.dedup();
        let paths = described.found.into_iter();
        Err(Failure::SecretInside {
            names,
            paths: paths.map(|(_, path)| path.display().to_string()).collect(),
        })
    }
}

struct Described {
    manifest: String,
    bytes: u64,
    searched: bool,
    found: Vec<(usize, PathBuf)>,
}

/// Brings the volume to the disk, and describes the workspace in it; nothing writes to it any more.
fn describe(volume: &Volume, secrets: &[SecretString]) -> Result<(Described, Vec<usize>), Failure> {
    let (needles, too_short) = Needles::new(secrets);
    let cleared = volume.clear();
    cleared.map_err(|error| broken("remove what does not belong in the volume", &error))?;
    let flush = || volume.flush();
    // Side by side: one waits for the disk, the other for the processor.
    let (flushed, described) = thread::scope(|scope| {
        let flushing = scope.spawn(flush);
        let described = tree::describe(&volume.workspace(), &needles);
        let flushed = flushing.join();
        let flushed = flushed.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (flushed, described)
    });
    let failed = |error: &std::io::Error| broken("flush the workspace to disk", error);
    flushed.map_err(|error| failed(&error))?;
    let described = described.map_err(|error| broken("describe the workspace", &error))?;
    let digest = described.manifest.digest().to_hex().to_string();
    let stored = described.manifest.encode();
    let stored = stored.and_then(|stored| draft::replace(&volume.manifest(), &stored));
    stored.map_err(|error| broken("write the manifest", &error))?;
    flush().map_err(|error| failed(&error))?;
    let found = described.found.into_iter();
    let described = Described {
        manifest: digest,
        bytes: described.bytes,
        searched: false,
        found: found.map(|found| (found.secret, found.path)).collect(),
    };
    Ok((described, too_short))
}

impl From<&protocol::Step> for Step {
    fn from(step: &protocol::Step) -> Self {
        Self {
            user: graph::User::Dev,
            folder: step.folder.clone(),
            shell: match step.shell {
                protocol::Shell::Bash => graph::Shell::Bash,
                protocol::Shell::Sh => graph::Shell::Sh,
            },
            command: step.command.clone(),
            timeout: step.timeout,
            retry: step.retry,
        }
    }
}

impl From<StepEnding> for crate::backend::StepEnding {
    fn from(ending: StepEnding) -> Self {
        match ending {
            StepEnding::Ended(ending) => Self::Failed(ending),
            StepEnding::TimedOut(limit) => Self::TimedOut(limit),
            StepEnding::OutOfMemory(limit) => Self::OutOfMemory(limit),
        }
    }
}
