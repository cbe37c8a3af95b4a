//! Sandboxes: a fresh, empty layer over a snapshot's, and processes in it.

use std::collections::BTreeMap;

use atelier_lang::graph::User;

use super::environment;
use super::limits::{Ended, Limits};
use super::protocol::{Action, Layout, Process, Root, StdioKind};
use super::session::{Line, Session};
use super::store::{self, Layer, Scratch};
use super::{Local, attach, image};
use crate::backend::{
    BackendError, Class, Ending, Environment, Exec, Sandbox, SandboxId, SandboxRequest,
    SandboxState, Stdio, StepEnding,
};
use crate::event::{Kind, Sink};
use crate::node::ContentKey;

/// A sandbox that has been booted, and ends with this value.
pub(super) struct Running {
    session: Session,
    scratch: Scratch,
    world: World,
    about: Sandbox,
}

/// What is in the environment of a sandbox's processes.
pub(super) struct World {
    /// The image's own, or the machine's.
    pub variables: BTreeMap<String, String>,
    pub environment: Environment,
    /// What somebody else adds: the names of a kept sandbox's secrets.
    pub elsewhere: Vec<String>,
}

pub(super) async fn boot(local: &Local, request: &SandboxRequest) -> Result<Running, BackendError> {
    let (layers, scratch) = hold(local, request.key)?;
    let image = image::ready(local, &request.image, &mut |_| {}).await?;
    let layout = Layout {
        way: local.store.way(),
        store: local.store.root().to_owned(),
        scratch: scratch.name().to_owned(),
        writes: None,
        root: image.root,
        workspace: layers
            .iter()
            .map(|layer| store::tree(&layer.name))
            .collect(),
        caches: Vec::new(),
        hostname: "atelier".to_owned(),
        groups: Vec::new(),
        network: request.network,
    };
    let limits = Limits::from(&request.resources);
    let session = Session::start(layout, &local.groups, &limits).await?;
    local.notices.borrow_mut().extend(local.unlimited(&session));
    let node = local.store.record(request.key).ok().flatten();
    let about = Sandbox {
        // No name of a kept one has a slash.
        id: SandboxId(scratch.name().to_owned()),
        name: None,
        key: request.key,
        node: node.map_or(String::new(), |record| record.snapshot.node),
        created: super::now(),
        state: SandboxState::Running,
        processes: None,
        log: None,
    };
    Ok(Running {
        session,
        scratch,
        world: World {
            variables: image.variables,
            environment: request.environment.clone(),
            elsewhere: Vec::new(),
        },
        about,
    })
}

/// A scratch folder that keeps a snapshot's layers from being swept. The snapshot may have been baked again since its
/// record was read; the second reading names the new layers.
pub(super) fn hold(local: &Local, key: ContentKey) -> Result<(Vec<Layer>, Scratch), BackendError> {
    let hold = || {
        let layers = local.below(Some(key))?.layers;
        let scratch = local.store.scratch(&layers)?;
        Ok((layers, scratch))
    };
    hold().or_else(|error: BackendError| match error.class {
        Class::Lost => hold(),
        _ => Err(error),
    })
}

pub(super) fn not_running(sandbox: &SandboxId) -> BackendError {
    BackendError::new(
        Class::Lost,
        format!("no sandbox {} is running, or it is busy", sandbox.0),
    )
}

impl Running {
    pub(super) fn about(&self) -> &Sandbox {
        &self.about
    }

    pub(super) async fn exec(&mut self, command: &Exec) -> Result<Ending, BackendError> {
        let (line, world) = (&mut self.session.line, &self.world);
        let process = |stdio| world.process(command, stdio);
        match &command.stdio {
            stdio if stdio.is_terminal() => {
                attach::run(line, |size| process(StdioKind::Terminal(size))).await
            }
            Stdio::Inherit => line.run(process(StdioKind::Inherit), async |_| {}).await,
            Stdio::Events(events) => tell(line, process(StdioKind::Frames), events).await,
        }
    }

    /// What its limits have done since the last time.
    pub(super) fn limited(&mut self) -> Vec<String> {
        let Ended { killed, refused } = self.session.group.ended();
        let limits = self.session.group.limits();
        let memory = StepEnding::OutOfMemory(limits.memory);
        let memory = format!("the sandbox {memory}, which `resources memory=` raises");
        let processes = format!(
            "the sandbox reached its limit of {} processes",
            limits.processes
        );
        let said = [(killed, memory), (refused, processes)].into_iter();
        said.filter(|(count, _)| *count > 0)
            .map(|(_, text)| text)
            .collect()
    }

    /// Ends the sandbox and forgets its writes.
    pub(super) async fn end(self) {
        self.session.end().await;
        drop(self.scratch);
    }
}

/// Runs a process, and sends what it has printed when it has ended.
pub(super) async fn tell(
    line: &mut Line,
    process: Process,
    events: &Sink,
) -> Result<Ending, BackendError> {
    let mut output = Vec::new();
    let ending = line
        .run(process, async |bytes| output.extend_from_slice(bytes))
        .await;
    for line in String::from_utf8_lossy(&output).lines() {
        events.send(Kind::Output(line.to_owned()));
    }
    ending
}

impl World {
    pub(super) fn process(&self, command: &Exec, stdio: StdioKind) -> Process {
        let program = match command.command.as_slice() {
            [] => vec!["bash".to_owned(), "-l".to_owned()],
            program => program.to_vec(),
        };
        Process {
            root: Root::Image,
            user: User::Dev,
            folder: environment::folder(&command.folder),
            environment: self.variables_for(command),
            action: Action::Run(program),
            stdio,
        }
    }

    fn variables_for(&self, command: &Exec) -> Vec<(String, String)> {
        let own = &command.environment;
        let mut all = self.environment.clone();
        all.variables.extend(own.variables.clone());
        all.secrets.extend(own.secrets.clone());
        all.path.splice(0..0, own.path.iter().cloned());
        let proxies = environment::proxies();
        let mut variables =
            environment::variables(&self.variables, &proxies, &all, &command.variables);
        let given =
            |name: &String| own.variables.contains_key(name) || own.secrets.contains_key(name);
        variables.retain(|(name, _)| !self.elsewhere.contains(name) || given(name));
        variables
    }
}
