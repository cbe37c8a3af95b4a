//! A cluster as the backend: throwaway pods, persistent volumes and CSI `VolumeSnapshots`. Its API server is the lock, the
//! queue and the database; nothing of atelier's own runs in it between bakes.
//!
//! Nothing here is touched, and no client made, until the first question to the cluster.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use secrecy::SecretString;
use tokio::sync::OnceCell;

use super::local::{gate, log::Log, make_store};
use super::{
    Backend, BackendError, BakeError, BakeRequest, Baked, Cancel, Class, Ending, Exec, Presence,
    Sandbox, SandboxId, SandboxRequest, Snapshot,
};
use crate::event::Sink;
use crate::git::{Git, Host};
use crate::node::ContentKey;
use crate::oci::Digest;
use crate::registry::Registries;
use crate::resolve::{ImageLocation, PinnedImage};

mod bake;
mod cluster;
pub mod doctor;
mod drive;
pub mod emit;
mod exec;
mod failure;
mod follow;
mod lease;
mod names;
mod objects;
mod pod;
mod record;
mod requests;
mod sandbox;
mod settings;
mod snapshot;
mod sweep;
#[cfg(test)]
mod tests;
mod volume_snapshot;
mod watch;

use cluster::{BRIEF, Cluster};
pub use settings::Settings;
use volume_snapshot::VolumeSnapshot;

pub struct Kubernetes {
    settings: Settings,
    /// Of this client: logs, and what git and registries remember.
    state: PathBuf,
    git: Git,
    /// How servers of repositories are reached, here and in pods.
    hosts: BTreeMap<String, Host>,
    registries: Registries,
    cluster: OnceCell<Cluster>,
    notices: RefCell<Vec<String>>,
    /// What this value has booted, and is not kept.
    sandboxes: RefCell<BTreeMap<SandboxId, sandbox::Booted>>,
}

impl Kubernetes {
    /// `state` is the folder of the local store: what concerns this client alone is kept there.
    pub fn open(
        state: &Path,
        settings: Settings,
        registries: Registries,
        hosts: BTreeMap<String, Host>,
    ) -> Result<Self, BackendError> {
        make_store(state)?;
        let git = Git::new(state, std::env::vars_os())
            .map_err(|error| BackendError::new(Class::Denied, error.to_string()))?;
        Ok(Self {
            settings,
            state: state.to_owned(),
            git: git.with_hosts(hosts.clone()),
            hosts,
            registries,
            cluster: OnceCell::new(),
            notices: RefCell::default(),
            sandboxes: RefCell::default(),
        })
    }

    /// What there is to know that is no failure, and was not taken yet.
    pub fn notices(&self) -> Vec<String> {
        self.notices.take()
    }

    /// Removes what crashes have left, also what they left a moment ago; takes some time to see that nobody cares for it.
    pub async fn sweep_thoroughly(&self) -> Result<usize, BackendError> {
        Box::pin(sweep::thoroughly(self.cluster().await?)).await
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    async fn cluster(&self) -> Result<&Cluster, BackendError> {
        let open = || Box::pin(Cluster::open(&self.settings));
        self.cluster.get_or_try_init(open).await
    }

    fn runner(&self) -> Result<&str, BackendError> {
        self.settings.runner.as_deref().ok_or_else(|| {
            let message = "the configuration does not say where the runner's image is";
            BackendError::new(Class::Denied, message).with_help(
                "push it (scripts/runner-image) and name it by digest: kubernetes { runner \"REGISTRY/atelier-runner@sha256:…\"; }",
            )
        })
    }

    /// The published snapshot of a key, and what it is worth.
    async fn find(
        &self,
        key: ContentKey,
    ) -> Result<(Option<VolumeSnapshot>, Presence), BackendError> {
        let cluster = self.cluster().await?;
        let found = snapshot::find(cluster, &[key], cluster::PATIENT).await?;
        let found = found.into_iter().next().map(|(_, snapshot)| snapshot);
        let presence = snapshot::presence(cluster, key, found.as_ref()).await?;
        Ok((found, presence))
    }

    /// A new log of a bake.
    fn log(&self, request: &BakeRequest, events: &Sink) -> Result<Log, BackendError> {
        let secrets = gate::secrets(request).into_iter();
        let secrets: Vec<SecretString> = secrets.map(|(_, value)| value).collect();
        let path = self.state.join(bake::log_name(request));
        Log::create(path, events, &secrets).map_err(|error| {
            let message = format!("cannot write a log below {}: {error}", self.state.display());
            BackendError::new(Class::Full, message)
        })
    }

    /// What an image sets in the environment.
    async fn variables(
        &self,
        image: &PinnedImage,
    ) -> Result<BTreeMap<String, String>, BackendError> {
        let ImageLocation::Registry(reference) = &image.location else {
            return Err(no_registry());
        };
        let digest = Digest(image.digest.0);
        let read = self.registries.image(reference, &digest).await;
        let read = read.map_err(|error| {
            let message = format!("cannot read the image {}: {error}", reference.name());
            BackendError::new(Class::Transient, message)
        })?;
        let pair = |variable: &String| {
            let (name, value) = variable.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        };
        Ok(read.env.iter().filter_map(pair).collect())
    }
}

/// An image as pods pull it: by digest.
fn image_of(image: &PinnedImage) -> Result<String, BackendError> {
    match &image.location {
        ImageLocation::Registry(reference) => Ok(format!("{}@{}", reference.name(), image.digest)),
        ImageLocation::Host { .. } | ImageLocation::Layout(_) | ImageLocation::Archive(_) => {
            Err(no_registry())
        }
    }
}

fn no_registry() -> BackendError {
    let message = "a cluster takes images from a registry alone, and this one is on this machine";
    BackendError::new(Class::Denied, message).with_help(
        "push it and name it where it is: alias dev-base \"REGISTRY/NAME:TAG\"; or bake with --backend local",
    )
}

fn bug(error: &dyn std::fmt::Display) -> BackendError {
    BackendError::new(Class::Bug, error.to_string())
}

impl Backend for Kubernetes {
    fn name(&self) -> &'static str {
        "kubernetes"
    }

    async fn probe(&self, keys: &[ContentKey]) -> Result<Vec<Presence>, BackendError> {
        let cluster = self.cluster().await?;
        let found = Box::pin(snapshot::find(cluster, keys, BRIEF)).await?;
        let found: BTreeMap<ContentKey, VolumeSnapshot> = found.into_iter().collect();
        let mut all = Vec::new();
        for &key in keys {
            all.push(snapshot::presence(cluster, key, found.get(&key)).await?);
        }
        Ok(all)
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
        let cluster = self.cluster().await?;
        let mut all = Vec::new();
        let mut room = record::LISTED;
        let take = |snapshot: VolumeSnapshot| {
            if snapshot.metadata.deletion_timestamp.is_some() {
                return;
            }
            if let Some(snapshot) = record::read(&snapshot, room) {
                room -= snapshot.preimage.len();
                all.push(snapshot);
            }
        };
        Box::pin(cluster.each(names::KEY, BRIEF, take)).await?;
        all.sort_by(|a, b| (&a.created, a.key).cmp(&(&b.created, b.key)));
        Ok(all)
    }

    async fn remove(&self, key: ContentKey) -> Result<bool, BackendError> {
        let cluster = self.cluster().await?;
        let labels = format!("{}={}", names::KEY, names::label(key));
        let mut removed = false;
        for snapshot in cluster.list::<VolumeSnapshot>(&labels, BRIEF).await? {
            // Removed, and waiting for its driver.
            if snapshot.metadata.deletion_timestamp.is_some() {
                continue;
            }
            removed |= Box::pin(snapshot::delete(cluster, &snapshot)).await?;
        }
        Ok(removed)
    }

    async fn boot(&self, request: &SandboxRequest) -> Result<SandboxId, BackendError> {
        Box::pin(sandbox::boot(self, request)).await
    }

    async fn exec(&self, sandbox: &SandboxId, command: &Exec) -> Result<Ending, BackendError> {
        let pod = Box::pin(sandbox::running(self, sandbox)).await?;
        let cluster = self.cluster().await?;
        let lease = {
            let own = self.sandboxes.borrow();
            own.get(sandbox).map(|booted| booted.lease.clone())
        };
        let run = Box::pin(exec::run(cluster, &pod, command));
        match lease {
            None => run.await,
            Some(lease) => tokio::select! {
                ending = run => ending,
                never = Box::pin(lease::keep(cluster, &lease)) => match never {},
            },
        }
    }

    async fn start(
        &self,
        sandbox: &SandboxId,
        command: &Exec,
    ) -> Result<Option<Ending>, BackendError> {
        if self.sandboxes.borrow().contains_key(sandbox) {
            let message = format!(
                "sandbox {} ends with this call",
                sandbox.0.trim_start_matches('/')
            );
            return Err(BackendError::new(Class::Lost, message));
        }
        let pod = Box::pin(sandbox::running(self, sandbox)).await?;
        Box::pin(exec::start(self.cluster().await?, &pod, command)).await
    }

    async fn sandboxes(&self) -> Result<Vec<Sandbox>, BackendError> {
        Box::pin(sandbox::all(self)).await
    }

    async fn destroy(&self, sandbox: &SandboxId) -> Result<bool, BackendError> {
        Box::pin(sandbox::destroy(self, sandbox)).await
    }

    async fn sweep(&self) -> Result<usize, BackendError> {
        Box::pin(sweep::sweep(self.cluster().await?)).await
    }
}
