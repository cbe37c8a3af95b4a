//! The backend of this run: the one that the configuration or the command line names.

use super::failure::Failure;
use super::{config, project};
use crate::backend::kubernetes::Kubernetes;
use crate::backend::local::{Isolation, Local};
use crate::backend::{
    Backend, BackendError, BakeError, BakeRequest, Baked, Cancel, Ending, Exec, Presence, Sandbox,
    SandboxId, SandboxRequest, Snapshot,
};
use crate::config::{self as settings, Config};
use crate::event::Sink;
use crate::node::ContentKey;
use crate::registry::Registries;

pub(super) enum Chosen {
    Local(Box<Local>),
    Kubernetes(Box<Kubernetes>),
}

impl Chosen {
    /// Opens what the configuration names; a cluster is not asked anything yet.
    pub(super) fn open(
        config: &Config,
        isolation: Isolation,
        registries: Registries,
    ) -> Result<Self, Failure> {
        let store = config::store(config)?;
        match config.backend.value {
            settings::Backend::Local => {
                let local = Local::open(&store, isolation)?;
                let local = local.with_registries(registries);
                let git = project::git(&store)?.with_hosts(config.git_hosts());
                Ok(Self::Local(Box::new(local.with_git(git))))
            }
            settings::Backend::Kubernetes => {
                let cluster = config.cluster_settings();
                let hosts = config.git_hosts();
                let opened = Kubernetes::open(&store, cluster, registries, hosts)?;
                Ok(Self::Kubernetes(Box::new(opened)))
            }
        }
    }

    /// What there is to know of sandboxes that were booted, and was not taken yet.
    pub(super) fn notices(&self) -> Vec<String> {
        match self {
            Self::Local(local) => local.notices(),
            Self::Kubernetes(kubernetes) => kubernetes.notices(),
        }
    }

    /// For commands that are about this machine's store alone.
    pub(super) fn local(self, command: &str) -> Result<Box<Local>, Failure> {
        match self {
            Self::Local(local) => Ok(local),
            Self::Kubernetes(_) => Err(Failure::usage(
                format!("`{command}` is about the store of this machine"),
                "add --backend local",
            )),
        }
    }
}

/// Both are used in the same way.
macro_rules! delegate {
    ($self:ident, $backend:ident => $call:expr) => {
        match $self {
            Chosen::Local($backend) => $call,
            Chosen::Kubernetes($backend) => $call,
        }
    };
}

impl Backend for Chosen {
    fn name(&self) -> &'static str {
        delegate!(self, backend => backend.name())
    }

    async fn probe(&self, keys: &[ContentKey]) -> Result<Vec<Presence>, BackendError> {
        delegate!(self, backend => Box::pin(backend.probe(keys)).await)
    }

    async fn bake(
        &self,
        request: &BakeRequest,
        events: &Sink,
        cancel: &Cancel,
    ) -> Result<Baked, BakeError> {
        delegate!(self, backend => Box::pin(backend.bake(request, events, cancel)).await)
    }

    async fn list(&self) -> Result<Vec<Snapshot>, BackendError> {
        delegate!(self, backend => Box::pin(backend.list()).await)
    }

    async fn remove(&self, key: ContentKey) -> Result<bool, BackendError> {
        delegate!(self, backend => Box::pin(backend.remove(key)).await)
    }

    async fn boot(&self, request: &SandboxRequest) -> Result<SandboxId, BackendError> {
        delegate!(self, backend => Box::pin(backend.boot(request)).await)
    }

    async fn exec(&self, sandbox: &SandboxId, command: &Exec) -> Result<Ending, BackendError> {
        delegate!(self, backend => Box::pin(backend.exec(sandbox, command)).await)
    }

    async fn start(
        &self,
        sandbox: &SandboxId,
        command: &Exec,
    ) -> Result<Option<Ending>, BackendError> {
        delegate!(self, backend => Box::pin(backend.start(sandbox, command)).await)
    }

    async fn sandboxes(&self) -> Result<Vec<Sandbox>, BackendError> {
        delegate!(self, backend => Box::pin(backend.sandboxes()).await)
    }

    async fn destroy(&self, sandbox: &SandboxId) -> Result<bool, BackendError> {
        delegate!(self, backend => Box::pin(backend.destroy(sandbox)).await)
    }

    async fn sweep(&self) -> Result<usize, BackendError> {
        delegate!(self, backend => Box::pin(backend.sweep()).await)
    }
}
