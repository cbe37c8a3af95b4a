//! Sandboxes: a fresh, empty layer over a snapshot's, and processes in it.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use atelier_lang::graph::User;

use super::environment;
use super::limits::{Ended, Limits};
use super::protocol::{Action, Layout, Process, Root, StdioKind};
use super::session::Session;
use super::store::{self, Layer, Scratch};
use super::{Local, attach, image};
use crate::backend::{
    BackendError, Class, Ending, Environment, Exec, SandboxId, SandboxRequest, Stdio, StepEnding,
};
use crate::event::Kind;
use crate::node::ContentKey;

/// A sandbox that has been booted.
pub(super) struct Running {
    session: Session,
    scratch: Scratch,
    variables: BTreeMap<String, String>,
    environment: Environment,
}

pub(super) async fn boot(local: &Local, request: &SandboxRequest) -> Result<Running, BackendError> {
    let (layers, scratch) = hold(local, request.key)?;
    let image = image::ready(&local.store, &request.image).await?;
    let layout = Layout {
        way: local.store.way(),
        store: local.store.root().to_owned(),
        scratch: scratch.name().to_owned(),
        root: image.root,
        workspace: layers
            .iter()
            .map(|layer| store::tree(&layer.name))
            .collect(),
        caches: Vec::new(),
        hostname: "atelier".to_owned(),
        groups: Vec::new(),
    };
    let limits = Limits::from(&request.resources);
    let session = Session::start(layout, &local.groups, &limits).await?;
    local.notices.borrow_mut().extend(local.unlimited(&session));
    let environment = request.environment.clone();
    Ok(Running {
        session,
        scratch,
        variables: image.variables,
        environment,
    })
}

/// A scratch folder that keeps a snapshot's layers from being swept. The snapshot may have been baked again since its
/// record was read; the second reading names the new layers.
fn hold(local: &Local, key: ContentKey) -> Result<(Vec<Layer>, Scratch), BackendError> {
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
        format!("there is no sandbox {}, or it is busy", sandbox.0),
    )
}

impl Running {
    pub(super) fn id(&self) -> SandboxId {
        SandboxId(self.scratch.name().trim_start_matches("w/").to_owned())
    }

    pub(super) async fn exec(&mut self, command: &Exec) -> Result<Ending, BackendError> {
        match &command.stdio {
            Stdio::Inherit if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() => {
                attach::run(&mut self.session, |size| {
                    Self::process(
                        command,
                        StdioKind::Terminal(size),
                        &self.variables,
                        &self.environment,
                    )
                })
                .await
            }
            Stdio::Inherit => {
                let process = self.of(command, StdioKind::Inherit);
                self.session.run(process, async |_| {}).await
            }
            Stdio::Events(events) => {
                let process = self.of(command, StdioKind::Frames);
                let mut output = Vec::new();
                let ending = self
                    .session
                    .run(process, async |bytes| output.extend_from_slice(bytes))
                    .await;
                for line in String::from_utf8_lossy(&output).lines() {
                    events.send(Kind::Output(line.to_owned()));
                }
                ending
            }
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

    fn of(&self, command: &Exec, stdio: StdioKind) -> Process {
        Self::process(command, stdio, &self.variables, &self.environment)
    }

    fn process(
        command: &Exec,
        stdio: StdioKind,
        variables: &BTreeMap<String, String>,
        environment: &Environment,
    ) -> Process {
        let shell = || vec!["bash".to_owned(), "-l".to_owned()];
        let program = if command.command.is_empty() {
            shell()
        } else {
            command.command.clone()
        };
        Process {
            root: Root::Image,
            user: User::Dev,
            folder: environment::folder(&command.folder),
            environment: environment::variables(
                variables,
                &environment::proxies(),
                environment,
                &command.variables,
            ),
            action: Action::Run(program),
            stdio,
        }
    }
}
