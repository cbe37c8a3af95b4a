//! One bake, from the lock to the published snapshot. Whatever fails takes its lease with it, and that all that it made.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use atelier_lang::graph::User;

use super::cluster::Cluster;
use super::lease::Lock;
use super::names::{self, Role};
use super::objects::{self, Attempt, Content};
use super::record::{self, Record};
use super::snapshot::{self, Cut, Uncut};
use super::volume_snapshot::VolumeSnapshot;
use super::{Kubernetes, cluster, image_of};
use crate::backend::local::log::Log;
use crate::backend::{
    BackendError, BakeError, BakeRequest, Baked, Cancel, Class, Durations, Presence, Snapshot,
};
use crate::event::Sink;
use crate::nonce;

mod lock;
mod outcome;
mod pods;

use lock::{Held, clean, hold};

/// So often a bake is tried that something between it and its end has broken.
const TRIES: u32 = 3;

/// Before the second try; four times as long before the third.
const PAUSE: Duration = Duration::from_secs(1);

/// How long somebody who has cancelled waits for what is left to go.
const CANCELLED: Duration = Duration::from_secs(20);

/// What a pod may live longer than its bake: to be scheduled, and to get its images.
const SLACK: Duration = Duration::from_mins(15);

/// What a pod made: checked, described, and flushed.
struct Made {
    manifest: String,
    bytes: u64,
    durations: Durations,
    verified: Vec<String>,
    node: Option<String>,
}

/// The parent's snapshot, as a child's claim is filled from it.
struct Parent {
    snapshot: VolumeSnapshot,
    depth: u32,
    /// Its chain is as long as it may be.
    is_copied: bool,
}

pub(super) async fn bake(
    kubernetes: &Kubernetes,
    request: &BakeRequest,
    events: &Sink,
    cancel: &Cancel,
) -> Result<Baked, BakeError> {
    allow(request)?;
    let runner = kubernetes.runner()?;
    let cluster = kubernetes.cluster().await?;
    let mut tries = 0;
    loop {
        let lock = match Box::pin(hold(kubernetes, cluster, request, events, cancel)).await? {
            Held::Lock(lock) => lock,
            Held::Found(snapshot) => return Ok(Baked::Found(snapshot)),
        };
        tries += 1;
        let mut log = match kubernetes.log(request, events) {
            Ok(log) => log,
            Err(error) => {
                lock.end().await?;
                return Err(error.into());
            }
        };
        let bake = Bake {
            kubernetes,
            request,
            runner,
            lock: &lock,
            is_final: Cell::new(false),
        };
        let worked = bake.until_cancelled(&mut log, cancel).await;
        let is_final = bake.is_final.get();
        let left = clean(cluster, request, *lock, worked.is_err());
        let patience = match cancel.is_cancelled() {
            true => CANCELLED,
            false => Duration::MAX,
        };
        let ended = tokio::time::timeout(patience, Box::pin(left)).await;
        let error = match worked {
            Ok(snapshot) => {
                if let Ok(Err(error)) = ended {
                    log.notice(&format!("it is published, but {error}"));
                }
                return Ok(Baked::Published(Box::new(snapshot)));
            }
            Err(error) => error,
        };
        log.notice(&error.to_string());
        let passing =
            matches!(&error, BakeError::Backend(error) if error.class == Class::Transient);
        if !passing || is_final || tries == TRIES || cancel.is_cancelled() {
            return Err(error);
        }
        log.notice(&format!("try {} of {TRIES}", tries + 1));
        tokio::select! {
            () = tokio::time::sleep(PAUSE * tries * tries) => {}
            () = cancel.cancelled() => return Err(BakeError::Cancelled),
        }
    }
}

/// Refuses what a cluster cannot do, before anything is made in it.
pub(super) fn allow(request: &BakeRequest) -> Result<(), BackendError> {
    image_of(&request.image)?;
    let as_root = request
        .steps
        .iter()
        .position(|step| step.user == User::Root);
    if let Some(index) = as_root {
        let message = format!(
            "step {} runs as root, which a cluster does not allow",
            index + 1
        );
        let help = "have the image hold what it installs, or bake with --backend local";
        return Err(BackendError::new(Class::Denied, message).with_help(help));
    }
    if request.strict_outside {
        let message = "what a step writes outside of the workspace is not seen in a cluster";
        let help = "leave out --strict-outside, or bake with --backend local";
        return Err(BackendError::new(Class::Denied, message).with_help(help));
    }
    Ok(())
}

struct Bake<'a> {
    kubernetes: &'a Kubernetes,
    request: &'a BakeRequest,
    runner: &'a str,
    lock: &'a Lock<'a>,
    /// What has failed would fail again: another bake is too dear for it.
    is_final: Cell<bool>,
}

impl Bake<'_> {
    /// Works as long as the lock is held and nobody cancels. The time is limited by the pods' own deadlines, and by what waits.
    async fn until_cancelled(&self, log: &mut Log, cancel: &Cancel) -> Result<Snapshot, BakeError> {
        tokio::select! {
            worked = Box::pin(self.work(log)) => worked,
            lost = Box::pin(self.lock.beat()) => Err(lost.into()),
            () = cancel.cancelled() => Err(BakeError::Cancelled),
        }
    }

    async fn work(&self, log: &mut Log) -> Result<Snapshot, BakeError> {
        let cluster = self.kubernetes.cluster().await?;
        let parent = self.parent().await?;
        let attempt = self.attempt(Role::Bake, parent.as_ref());
        let limit = self.request.resources.timeout;
        let path = log.path().to_owned();
        let make = Box::pin(self.make(&attempt, parent.as_ref(), log));
        let made = match tokio::time::timeout(limit + 2 * SLACK, make).await {
            Ok(made) => made?,
            Err(_) => return Err(BakeError::Timeout { limit, log: path }),
        };
        let began = Instant::now();
        let cut = self.cut(&attempt, log).await?;
        let mut verified = made.verified;
        if self.kubernetes.settings().verify {
            log.phase("verify it on a clone");
            let restored = self.verify(&cut, &made.manifest, made.node.clone(), log);
            Box::pin(restored).await?;
            verified.push("restored".to_owned());
        }
        let commits = self.request.checkouts.iter();
        let commits = commits.map(|one| (one.path.clone(), one.commit.to_string()));
        let record = Record {
            node: self.request.node.clone(),
            parent: self.request.parent.map(crate::node::ContentKey::to_hex),
            created: now(),
            durations: Durations {
                publish: began.elapsed().as_secs_f64(),
                ..made.durations
            },
            bytes: made.bytes,
            commits: commits.collect::<BTreeMap<_, _>>(),
            verified,
            manifest: made.manifest,
            depth: match parent {
                Some(parent) if !parent.is_copied => parent.depth + 1,
                _ => 1,
            },
        };
        // Known before it is published: what others publish after that is not among them.
        let old = self.published(cluster).await;
        let published = snapshot::publish(
            cluster,
            self.lock,
            &cut,
            self.request.key,
            &self.request.preimage,
            &record,
            made.node.as_deref(),
        );
        let published = published.await?;
        for old in old.iter().filter(|old| old.uid() != cut.snapshot.uid()) {
            // It does no harm: the newest one is taken.
            snapshot::delete(cluster, old).await.ok();
        }
        Ok(published)
    }

    async fn cut(&self, attempt: &Attempt<'_>, log: &mut Log) -> Result<Cut, BackendError> {
        log.phase("cut the snapshot");
        let cluster = self.kubernetes.cluster().await?;
        let force = self.request.force;
        let mut say = |text: &str| log.notice(text);
        let cut = snapshot::cut(cluster, self.lock, attempt, force, &mut say).await;
        cut.map_err(|why| match why {
            Uncut::Driver(error) => {
                self.is_final.set(true);
                error
            }
            Uncut::Other(error) => error,
        })
    }

    fn attempt(&self, role: Role, parent: Option<&Parent>) -> Attempt<'_> {
        let settings = self.kubernetes.settings();
        let (key, nonce) = (self.request.key, self.lock.nonce.as_str());
        let node = parent.and_then(|parent| parent.snapshot.annotation(names::NODE));
        Attempt {
            settings,
            role,
            key,
            name: match role {
                Role::Verify => names::verify(key, nonce),
                Role::Bake | Role::Snapshot | Role::Sandbox => names::bake(key, nonce),
            },
            nonce,
            of: names::lease(key),
            owner: self.lock.owner(),
            resources: &self.request.resources,
            node: node.filter(|_| settings.node_local).map(str::to_owned),
            copied: parent
                .filter(|parent| parent.is_copied)
                .map(|_| names::parent(key, nonce)),
        }
    }

    async fn parent(&self) -> Result<Option<Parent>, BakeError> {
        let Some(key) = self.request.parent else {
            return Ok(None);
        };
        match self.kubernetes.find(key).await? {
            (Some(snapshot), Presence::Present(_)) => {
                let record = record::record_of(&snapshot);
                let depth = record.map_or(1, |record| record.depth);
                let most = self.kubernetes.settings().max_depth;
                Ok(Some(Parent {
                    snapshot,
                    depth,
                    is_copied: most.is_some_and(|most| depth >= most),
                }))
            }
            (Some(snapshot), Presence::Lost(why)) => {
                let cluster = self.kubernetes.cluster().await?;
                snapshot::disown(cluster, &snapshot, &why).await?;
                Err(lost(&key.snapshot_name(), &why).into())
            }
            _ => Err(lost(&key.snapshot_name(), "it is gone").into()),
        }
    }

    /// The snapshots of the same key that a bake which was forced, or one of a key that was lost, takes the place of.
    async fn published(&self, cluster: &Cluster) -> Vec<VolumeSnapshot> {
        let labels = format!("{}={}", names::KEY, names::label(self.request.key));
        let all = cluster.list::<VolumeSnapshot>(&labels, cluster::PATIENT);
        all.await.unwrap_or_default()
    }
}

/// How large a claim has to be at least.
pub(super) fn content_of(snapshot: &VolumeSnapshot) -> Content {
    let status = snapshot.status.as_ref();
    let size = status.and_then(|status| status.restore_size.as_deref());
    Content::Snapshot {
        name: snapshot.name().to_owned(),
        size: size.and_then(objects::bytes).unwrap_or(0),
    }
}

pub(super) fn lost(name: &str, why: &str) -> BackendError {
    BackendError::new(Class::Lost, format!("cannot use {name}: {why}"))
}

/// UTC, RFC 3339.
pub(super) fn now() -> String {
    jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%S%.3fZ")
        .to_string()
}

/// The name of a log of this bake, below the folder of the client's state.
pub(super) fn log_name(request: &BakeRequest) -> String {
    format!("logs/{}-{}.log", request.key.to_hex(), nonce::name())
}
