//! A sandbox is made, or begun again on its writes.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use serde_json::json;

use super::{About, Booted, destroy, end_pod, key_of, object, state};
use crate::backend::kubernetes::bake::{content_of, lost, now};
use crate::backend::kubernetes::cluster::{BRIEF, Cluster};
use crate::backend::kubernetes::drive::Drive;
use crate::backend::kubernetes::failure::Trouble;
use crate::backend::kubernetes::lease::Lock;
use crate::backend::kubernetes::names::{NODE, Role, SANDBOX};
use crate::backend::kubernetes::objects::Attempt;
use crate::backend::kubernetes::pod::Container;
use crate::backend::kubernetes::{Kubernetes, bug, exec, image_of, snapshot};
use crate::backend::local::environment;
use crate::backend::{
    BackendError, Class, Environment, Keep, Network, Presence, SandboxId, SandboxRequest,
    SandboxState, is_sandbox_name,
};
use crate::nonce;

pub(in crate::backend::kubernetes) async fn boot(
    kubernetes: &Kubernetes,
    request: &SandboxRequest,
) -> Result<SandboxId, BackendError> {
    let image = image_of(&request.image)?;
    if request.network == Network::None {
        let message = "a pod's network is the cluster's to shut";
        return Err(BackendError::new(Class::Denied, message)
            .with_help("leave out --network none, and give the namespace a NetworkPolicy"));
    }
    let cluster = kubernetes.cluster().await?;
    let nonce = nonce::name();
    let id = match &request.keep {
        Some(Keep { name: Some(name) }) if is_sandbox_name(name) => SandboxId(name.clone()),
        Some(Keep { name: Some(name) }) => return Err(no_name(name)),
        Some(Keep { name: None }) => SandboxId(nonce[..6].to_owned()),
        None => SandboxId(format!("/{nonce}")),
    };
    let bare = Environment {
        secrets: BTreeMap::new(),
        ..request.environment.clone()
    };
    let set = kubernetes.variables(&request.image).await?;
    let variables = environment::variables(&set, &environment::proxies(), &bare, &BTreeMap::new());
    let started = Start {
        kubernetes,
        cluster,
        request,
        id: &id,
        nonce: &nonce,
        image: &image,
        variables: variables.into_iter().collect(),
    };
    Box::pin(started.go()).await?;
    if !request.environment.secrets.is_empty() {
        exec::give_secrets(cluster, &object(&id), &request.environment.secrets).await?;
    }
    Ok(id)
}

struct Start<'a> {
    kubernetes: &'a Kubernetes,
    cluster: &'a Cluster,
    request: &'a SandboxRequest,
    id: &'a SandboxId,
    nonce: &'a str,
    image: &'a str,
    variables: BTreeMap<String, String>,
}

impl Start<'_> {
    async fn go(&self) -> Result<(), BackendError> {
        let object = object(self.id);
        let there = match self.request.keep {
            Some(_) => {
                self.cluster
                    .get::<PersistentVolumeClaim>(&object, BRIEF)
                    .await?
            }
            None => None,
        };
        let (claim, node) = match there {
            Some(claim) => (self.take_up(&object, claim).await?, None),
            None => self.claim(&object).await?,
        };
        let owner = json!([{
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "name": object,
            "uid": claim.metadata.uid,
            "controller": true,
            "blockOwnerDeletion": true,
        }]);
        let attempt = self.attempt(&object, owner, node);
        let pod = attempt.sandbox(self.image, &self.variables)?;
        let made = self.cluster.create(&pod).await;
        made.map_err(|trouble| match trouble {
            Trouble::Conflict => taken(&self.id.0),
            trouble => trouble.into_error("create the sandbox's pod"),
        })?;
        let mut drive = Drive::of(self.cluster, &object);
        let mut notices = Vec::new();
        let mut say = |text: &str| notices.push(text.to_owned());
        let running = drive.until_running(Container::Workspace, &mut say).await;
        self.kubernetes.notices.borrow_mut().extend(notices);
        let Err(error) = running else { return Ok(()) };
        destroy(self.kubernetes, self.id).await.ok();
        if error.class == Class::Lost
            && let (Some(snapshot), _) = self.kubernetes.find(self.request.key).await?
        {
            snapshot::disown(self.cluster, &snapshot, &error.message).await?;
        }
        Err(error)
    }

    fn attempt(&self, object: &str, owner: serde_json::Value, node: Option<String>) -> Attempt<'_> {
        Attempt {
            settings: self.kubernetes.settings(),
            role: Role::Sandbox,
            key: self.request.key,
            name: object.to_owned(),
            nonce: self.nonce,
            of: object.to_owned(),
            owner,
            resources: &self.request.resources,
            node,
            copied: None,
        }
    }

    /// A new claim, filled from the snapshot.
    async fn claim(
        &self,
        object: &str,
    ) -> Result<(PersistentVolumeClaim, Option<String>), BackendError> {
        let key = self.request.key;
        let (snapshot, presence) = self.kubernetes.find(key).await?;
        let (Some(snapshot), Presence::Present(about)) = (snapshot, presence) else {
            return Err(lost(&key.snapshot_name(), "it is gone"));
        };
        let node = snapshot.annotation(NODE).map(str::to_owned);
        let node = node.filter(|_| self.kubernetes.settings().node_local);
        let owner = match self.request.keep {
            Some(_) => json!([]),
            None => {
                let lease = format!("sandbox-{}", self.nonce);
                let lock = Lock::fresh(self.cluster, &lease, key).await?;
                let booted = Booted {
                    object: object.to_owned(),
                    lease,
                };
                let own = &self.kubernetes.sandboxes;
                own.borrow_mut().insert(self.id.clone(), booted);
                lock.owner()
            }
        };
        let attempt = self.attempt(object, owner, node.clone());
        let mut claim = attempt.claim(&content_of(&snapshot))?;
        let told = About {
            name: self.request.keep.as_ref().map(|_| self.id.0.clone()),
            node: about.node,
            created: now(),
        };
        let told = serde_json::to_string(&told).map_err(|error| bug(&error))?;
        let annotations = claim.metadata.annotations.get_or_insert_default();
        annotations.insert(SANDBOX.to_owned(), told);
        let made = self.cluster.create(&claim).await;
        let made = made.map_err(|trouble| match trouble {
            Trouble::Conflict => taken(&self.id.0),
            trouble => trouble.into_error("create the sandbox's claim"),
        })?;
        Ok((made, node))
    }

    /// The claim of a sandbox of this name and this snapshot that has ended: its writes are there.
    async fn take_up(
        &self,
        object: &str,
        claim: PersistentVolumeClaim,
    ) -> Result<PersistentVolumeClaim, BackendError> {
        let pod = self.cluster.get::<Pod>(object, BRIEF).await?;
        let is_other = key_of(&claim) != Some(self.request.key);
        if is_other
            || claim.metadata.deletion_timestamp.is_some()
            || state(pod.as_ref()) == SandboxState::Running
        {
            return Err(taken(&self.id.0));
        }
        if pod.is_some() {
            end_pod(self.cluster, object).await?;
        }
        Ok(claim)
    }
}

fn taken(name: &str) -> BackendError {
    BackendError::new(Class::InUse, format!("the name {name} is in use")).with_help(format!(
        "choose another name, or remove the sandbox with `atelier rm {name}`"
    ))
}

fn no_name(name: &str) -> BackendError {
    BackendError::new(Class::InUse, format!("`{name}` cannot be a sandbox's name")).with_help(
        "up to 63 letters, digits, `-`, `_` and `.`, of which the first is a letter or a digit",
    )
}
