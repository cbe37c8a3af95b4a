//! One bake per key at a time, across machines: a Lease, which owns all that a bake makes. Whoever comes second follows the
//! first one's log, and takes over when the holder has been silent for too long.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::api::{DeleteParams, PostParams, Preconditions, PropagationPolicy};
use serde_json::json;
use tokio::time::sleep;

use super::bug;
use super::cluster::{self, BRIEF, Cluster, PATIENT};
use super::failure::Trouble;
use super::names::{self, KEY_HEX, NONCE, OF, OWNER, ROLE, Role};
use super::snapshot::{self, Whose};
use super::watch::Watch;
use crate::backend::{BackendError, BakeError, Cancel, Class};
use crate::event::{Kind, Sink};
use crate::node::ContentKey;
use crate::nonce;

mod waiting;

use waiting::Waiting;

/// A holder that has not been heard of for so long is dead.
pub(super) const DURATION: Duration = Duration::from_secs(20);

/// How often a holder is heard.
const BEAT: Duration = Duration::from_secs(5);

/// A lease that nobody waits for is left alone for so long: clocks differ.
pub(super) const ABANDONED: Duration = Duration::from_mins(10);

/// A Lease that is being deleted waits for what it owns; longer than that, something keeps that.
pub(super) const FAREWELL: Duration = Duration::from_secs(15);

/// Held as long as the bake goes on.
pub(super) struct Lock<'a> {
    cluster: &'a Cluster,
    name: String,
    pub(super) nonce: String,
    uid: String,
    /// As it was written last.
    lease: RefCell<Lease>,
    heard: Cell<Instant>,
}

impl<'a> Lock<'a> {
    /// Asks for the key's lease. While somebody else holds it, what they print is passed on; `None` when they are done, and
    /// what they baked may be there.
    pub(super) async fn take(
        cluster: &'a Cluster,
        key: ContentKey,
        events: &Sink,
        cancel: &Cancel,
    ) -> Result<Option<Self>, BakeError> {
        let name = names::lease(key);
        let nonce = nonce::name();
        let asked = Instant::now();
        let wanted = lease(&name, key, &nonce)?;
        let made = tokio::select! {
            made = cluster.create(&wanted) => made,
            () = cancel.cancelled() => {
                // It may have been made all the same.
                if let Ok(Some(there)) = cluster.get::<Lease>(&name, BRIEF).await
                    && holder(&there) == Some(&nonce)
                {
                    let lock = Self::held(cluster, name, nonce, there, asked);
                    lock.end().await.ok();
                }
                return Err(BakeError::Cancelled);
            }
        };
        match made {
            Ok(made) => return Ok(Some(Self::held(cluster, name, nonce, made, asked))),
            Err(Trouble::Conflict) => {}
            Err(trouble) => return Err(trouble.into_error("take the lock").into()),
        }
        let mut waiting = Waiting::new(cluster, key, events);
        loop {
            let dead = tokio::select! {
                dead = waiting.wait(&name) => dead?,
                () = cancel.cancelled() => return Err(BakeError::Cancelled),
            };
            let Some(mut dead) = dead else {
                return Ok(None);
            };
            let asked = Instant::now();
            renew(&mut dead, &nonce);
            match replace(cluster, &name, &dead).await {
                Ok(taken) => {
                    let lock = Self::held(cluster, name, nonce, taken, asked);
                    let text = "whoever baked this has been silent; it is baked anew";
                    events.send(Kind::Notice(text.to_owned()));
                    tokio::select! {
                        cleared = Box::pin(clear(cluster, key)) => cleared?,
                        lost = Box::pin(lock.beat()) => return Err(lost.into()),
                        () = cancel.cancelled() => {
                            lock.end().await.ok();
                            return Err(BakeError::Cancelled);
                        }
                    }
                    return Ok(Some(lock));
                }
                Err(Trouble::Conflict | Trouble::Missing | Trouble::Unknown(_)) => {}
                Err(trouble) => return Err(trouble.into_error("take the lock over").into()),
            }
        }
    }

    /// A lease that nobody else asks for: the owner of what ends with its caller.
    pub(super) async fn fresh(
        cluster: &'a Cluster,
        name: &str,
        key: ContentKey,
    ) -> Result<Self, BackendError> {
        let nonce = nonce::name();
        let asked = Instant::now();
        let mut wanted = lease(name, key, &nonce)?;
        let labels = wanted.metadata.labels.get_or_insert_default();
        labels.insert(ROLE.to_owned(), Role::Sandbox.label().to_owned());
        let made = cluster.create(&wanted).await;
        let made = made.map_err(|trouble| trouble.into_error("make a lease"))?;
        Ok(Self::held(cluster, name.to_owned(), nonce, made, asked))
    }

    fn held(
        cluster: &'a Cluster,
        name: String,
        nonce: String,
        lease: Lease,
        heard: Instant,
    ) -> Self {
        Self {
            cluster,
            name,
            nonce,
            uid: lease.metadata.uid.clone().unwrap_or_default(),
            lease: RefCell::new(lease),
            heard: Cell::new(heard),
        }
    }

    /// What makes an object end with this lease.
    pub(super) fn owner(&self) -> serde_json::Value {
        json!([{
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "name": self.name,
            "uid": self.uid,
            "controller": true,
            "blockOwnerDeletion": true,
        }])
    }

    /// Never returns while the lease is held.
    pub(super) async fn beat(&self) -> BackendError {
        loop {
            sleep(BEAT.saturating_sub(self.heard.get().elapsed())).await;
            if let Err(error) = self.renew().await {
                return error;
            }
        }
    }

    /// To be asked before anything is written that matters: whether this one still holds the lease, or has slept too long.
    pub(super) async fn confirm(&self) -> Result<(), BackendError> {
        match self.heard.get().elapsed() < DURATION / 2 {
            true => Ok(()),
            false => self.renew().await,
        }
    }

    /// Tries until it is heard, or somebody else holds it.
    async fn renew(&self) -> Result<(), BackendError> {
        let began = Instant::now();
        loop {
            let asked = Instant::now();
            let mut next = self.lease.borrow().clone();
            renew(&mut next, &self.nonce);
            match replace(self.cluster, &self.name, &next).await {
                Ok(kept) => {
                    self.lease.replace(kept);
                    self.heard.set(asked);
                    return Ok(());
                }
                Err(Trouble::Missing) => return Err(lost("it is gone")),
                Err(Trouble::Conflict) => {
                    // Perhaps it was this one, and nobody said so; or somebody wrote to it without taking it.
                    let there = self.cluster.get::<Lease>(&self.name, PATIENT).await?;
                    match there.filter(|there| self.is_mine(there)) {
                        Some(there) => drop(self.lease.replace(there)),
                        None => return Err(lost("somebody else has taken it over")),
                    }
                }
                Err(Trouble::Unknown(error)) if began.elapsed() > PATIENT => return Err(error),
                Err(Trouble::Unknown(_)) => {}
                Err(Trouble::Failed(error)) if error.class != Class::Transient => {
                    return Err(error);
                }
                Err(Trouble::Failed(error)) if began.elapsed() > PATIENT => return Err(error),
                Err(Trouble::Failed(_)) => {}
            }
            sleep(Duration::from_millis(500)).await;
        }
    }

    fn is_mine(&self, lease: &Lease) -> bool {
        holder(lease) == Some(&self.nonce)
            && lease.metadata.uid.as_deref() == Some(&self.uid)
            && lease.metadata.deletion_timestamp.is_none()
    }

    /// Deletes the lease, and with it all that it owns; waits until it is gone. A lease that somebody else holds by now is
    /// left to them.
    pub(super) async fn end(self) -> Result<(), BackendError> {
        let what = format!("delete lease {}", self.name);
        loop {
            let version = self.lease.borrow().metadata.resource_version.clone();
            let parameters = DeleteParams {
                propagation_policy: Some(PropagationPolicy::Foreground),
                preconditions: Some(Preconditions {
                    resource_version: version,
                    uid: Some(self.uid.clone()),
                }),
                ..DeleteParams::default()
            };
            match self.cluster.delete::<Lease>(&self.name, &parameters).await {
                Ok(false) => return Ok(()),
                Ok(true) => break,
                Err(Trouble::Conflict) => {
                    let there = self.cluster.get::<Lease>(&self.name, PATIENT).await?;
                    match there {
                        Some(there) if self.is_mine(&there) => drop(self.lease.replace(there)),
                        // Being deleted already, or another's.
                        Some(_) => break,
                        None => return Ok(()),
                    }
                }
                Err(trouble) => return Err(trouble.into_error(&what)),
            }
        }
        let mut watch = Watch::<Lease>::of(self.cluster, self.name.clone());
        let gone = async {
            while let Some(there) = watch.next().await? {
                if there.metadata.uid.as_deref() != Some(&self.uid)
                    || holder(&there) != Some(&self.nonce)
                {
                    break;
                }
            }
            Ok(())
        };
        // What is left after that is swept by whoever comes next.
        tokio::time::timeout(FAREWELL, gone).await.unwrap_or(Ok(()))
    }
}

/// Removes what an earlier holder of a key's lease has left, without waiting for any node.
async fn clear(cluster: &Cluster, key: ContentKey) -> Result<(), BackendError> {
    let labels = format!("{OF}={}", names::lease(key));
    let now = DeleteParams::default().grace_period(0);
    for pod in cluster.list::<Pod>(&labels, PATIENT).await? {
        let name = pod.metadata.name.unwrap_or_default();
        let gone = cluster.delete::<Pod>(&name, &now).await;
        gone.map_err(|trouble| trouble.into_error("remove what a dead client left"))?;
    }
    drop_claims(cluster, key, Whose::All).await?;
    snapshot::discard(cluster, key, Whose::All).await
}

/// Deletes the claims of a bake; they go once nothing uses them. Before its snapshots: one that a claim is to be filled from is not
/// deleted.
pub(super) async fn drop_claims(
    cluster: &Cluster,
    key: ContentKey,
    whose: Whose<'_>,
) -> Result<(), BackendError> {
    let labels = format!("{OF}={}", names::lease(key));
    let claims = cluster.list::<PersistentVolumeClaim>(&labels, PATIENT);
    for claim in claims.await? {
        if !whose.is_of(cluster::nonce(&claim)) {
            continue;
        }
        let name = claim.metadata.name.unwrap_or_default();
        let parameters = DeleteParams::default();
        let gone = cluster.delete::<PersistentVolumeClaim>(&name, &parameters);
        gone.await
            .map_err(|trouble| trouble.into_error("delete a claim"))?;
    }
    Ok(())
}

/// Lets a lease go that waits for what it owns: that is deleted, and may wait for a node or a driver that is gone.
async fn let_go(cluster: &Cluster, name: &str, mut lease: Lease) -> Result<(), BackendError> {
    lease.metadata.finalizers = None;
    match replace(cluster, name, &lease).await {
        Ok(_) | Err(Trouble::Missing | Trouble::Conflict | Trouble::Unknown(_)) => Ok(()),
        Err(trouble) => Err(trouble.into_error("let go of a lease")),
    }
}

/// Keeps a lease of this process alive; never returns. That it cannot be reached for a while does no harm.
pub(super) async fn keep(cluster: &Cluster, name: &str) -> std::convert::Infallible {
    loop {
        sleep(BEAT).await;
        if let Ok(Some(mut lease)) = cluster.get::<Lease>(name, BRIEF).await {
            let nonce = holder(&lease).cloned().unwrap_or_default();
            renew(&mut lease, &nonce);
            replace(cluster, name, &lease).await.ok();
        }
    }
}

/// Deletes a lease of this process and all that it owns.
pub(super) async fn forget(cluster: &Cluster, name: &str) -> Result<(), BackendError> {
    let parameters = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Foreground),
        ..DeleteParams::default()
    };
    let gone = cluster.delete::<Lease>(name, &parameters).await;
    gone.map(drop)
        .map_err(|trouble| trouble.into_error("delete a lease"))
}

/// Whether nobody has renewed a lease for so long that no clock can be that wrong.
pub(super) fn is_abandoned(lease: &Lease) -> bool {
    let renewed = lease
        .spec
        .as_ref()
        .and_then(|spec| spec.renew_time.as_ref());
    renewed.is_none_or(|renewed| {
        let now = jiff::Timestamp::now().as_second();
        now - renewed.0.as_second() > ABANDONED.as_secs().cast_signed()
    })
}

fn lost(why: &str) -> BackendError {
    let message = format!("the lock of this bake is lost: {why}");
    BackendError::new(Class::Transient, message)
        .with_help("try again: what another client bakes is then found")
}

fn lease(name: &str, key: ContentKey, nonce: &str) -> Result<Lease, BackendError> {
    let now = now();
    serde_json::from_value(json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": name,
            "labels": { OWNER.0: OWNER.1, ROLE: Role::Bake.label(), OF: name },
            "annotations": { KEY_HEX: key.to_hex(), NONCE: nonce },
        },
        "spec": {
            "holderIdentity": nonce,
            "leaseDurationSeconds": DURATION.as_secs(),
            "acquireTime": now,
            "renewTime": now,
        },
    }))
    .map_err(|error| bug(&error))
}

/// For people; nobody's clock is compared with another's.
fn now() -> String {
    jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%S%.6fZ")
        .to_string()
}

fn renew(lease: &mut Lease, nonce: &str) {
    let spec = lease.spec.get_or_insert_default();
    if spec.holder_identity.as_deref() != Some(nonce) {
        spec.holder_identity = Some(nonce.to_owned());
        spec.lease_transitions = Some(spec.lease_transitions.unwrap_or(0) + 1);
    }
    spec.renew_time = serde_json::from_value(json!(now())).ok();
    let annotations = lease.metadata.annotations.get_or_insert_default();
    annotations.insert(NONCE.to_owned(), nonce.to_owned());
}

/// Writes it as long as nobody else has: it carries the version that it was read at.
async fn replace(cluster: &Cluster, name: &str, lease: &Lease) -> Result<Lease, Trouble> {
    let all = cluster.all::<Lease>();
    let what = format!("renew lease {name}");
    let parameters = PostParams::default();
    cluster
        .write(&what, all.replace(name, &parameters, lease))
        .await
}

fn holder(lease: &Lease) -> Option<&String> {
    lease.spec.as_ref()?.holder_identity.as_ref()
}
