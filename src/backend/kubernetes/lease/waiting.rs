//! Somebody else's bake of the same key, as long as it goes on.

use std::pin::Pin;
use std::time::Duration;

use futures_util::stream::{Stream, StreamExt};
use k8s_openapi::api::coordination::v1::Lease;
use tokio::time::sleep_until;

use super::{DURATION, FAREWELL, holder};
use crate::backend::BackendError;
use crate::backend::kubernetes::cluster::{BRIEF, Cluster};
use crate::backend::kubernetes::follow::Follower;
use crate::backend::kubernetes::names;
use crate::backend::kubernetes::watch::Watch;
use crate::event::{Kind, Sink};
use crate::node::ContentKey;

/// So often a lease that is being deleted is waited for; then it goes without what it owns.
const ROUNDS: u32 = 2;

type Lines<'a> = Pin<Box<dyn Stream<Item = String> + 'a>>;

pub(super) struct Waiting<'a> {
    cluster: &'a Cluster,
    key: ContentKey,
    events: &'a Sink,
    is_told: bool,
    /// Whose log was begun; it is told once.
    followed: Option<String>,
    follower: Option<Lines<'a>>,
}

impl<'a> Waiting<'a> {
    pub(super) fn new(cluster: &'a Cluster, key: ContentKey, events: &'a Sink) -> Self {
        Self {
            cluster,
            key,
            events,
            is_told: false,
            followed: None,
            follower: None,
        }
    }

    /// Until the lease is gone, or its holder dead: then as it was left.
    pub(super) async fn wait(&mut self, name: &str) -> Result<Option<Lease>, BackendError> {
        if !std::mem::replace(&mut self.is_told, true) {
            self.events.send(Kind::Waiting);
        }
        let mut watch = Watch::<Lease>::of(self.cluster, name);
        let mut last: Option<Lease> = None;
        let mut changed = tokio::time::Instant::now();
        let mut rounds = 0;
        loop {
            let ending = last
                .as_ref()
                .is_some_and(|lease| lease.metadata.deletion_timestamp.is_some());
            let patience = if ending { FAREWELL } else { DURATION };
            tokio::select! {
                news = watch.next() => {
                    let Some(lease) = news? else {
                        self.drain().await;
                        return Ok(None);
                    };
                    changed = tokio::time::Instant::now();
                    self.follow(&lease);
                    last = Some(lease);
                }
                line = next_line(&mut self.follower) => match line {
                    Some(line) => self.events.send(Kind::Output(line)),
                    None => self.follower = None,
                },
                () = sleep_until(changed + patience) => {
                    // Whoever could not be heard is not dead, nor is whoever could not be listened to.
                    changed = tokio::time::Instant::now();
                    let Ok(there) = self.cluster.get::<Lease>(name, BRIEF).await else { continue };
                    let Some(there) = there else { return Ok(None) };
                    let version = |lease: &Lease| lease.metadata.resource_version.clone();
                    if last.as_ref().map(version) != Some(version(&there)) {
                        last = Some(there);
                        continue;
                    }
                    if !ending {
                        return Ok(Some(there));
                    }
                    // A snapshot that never becomes ready keeps the claim that it is of, and a node that is gone its pods.
                    super::clear(self.cluster, self.key).await?;
                    rounds += 1;
                    if rounds > ROUNDS {
                        super::let_go(self.cluster, name, there).await?;
                    } else {
                        let text = "what the last bake of this key has left is still being deleted";
                        self.events.send(Kind::Notice(text.to_owned()));
                    }
                }
            }
        }
    }

    fn follow(&mut self, lease: &Lease) {
        let Some(nonce) = holder(lease) else { return };
        if self.followed.as_ref() != Some(nonce) {
            let pod = names::bake(self.key, nonce);
            self.follower = Some(Follower::of(self.cluster, &pod).stream().boxed_local());
            self.followed = Some(nonce.clone());
        }
    }

    /// What was printed and not read yet.
    async fn drain(&mut self) {
        let rest = async {
            while let Some(line) = next_line(&mut self.follower).await {
                self.events.send(Kind::Output(line));
            }
        };
        tokio::time::timeout(Duration::from_millis(100), rest)
            .await
            .ok();
        self.follower = None;
    }
}

async fn next_line(follower: &mut Option<Lines<'_>>) -> Option<String> {
    match follower {
        Some(follower) => follower.next().await,
        None => std::future::pending().await,
    }
}
