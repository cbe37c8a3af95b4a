//! The lock of a bake: taken unless somebody else has baked it meanwhile, and given back with all that was made under it.

use crate::backend::kubernetes::Kubernetes;
use crate::backend::kubernetes::cluster::Cluster;
use crate::backend::kubernetes::lease::{self, Lock};
use crate::backend::kubernetes::snapshot::{self, Whose};
use crate::backend::{BackendError, BakeError, BakeRequest, Cancel, Presence, Snapshot};
use crate::event::Sink;

pub(super) enum Held<'a> {
    Lock(Box<Lock<'a>>),
    Found(Box<Snapshot>),
}

/// The lock, unless somebody else bakes it meanwhile.
pub(super) async fn hold<'a>(
    kubernetes: &Kubernetes,
    cluster: &'a Cluster,
    request: &BakeRequest,
    events: &Sink,
    cancel: &Cancel,
) -> Result<Held<'a>, BakeError> {
    loop {
        let lock = Lock::take(cluster, request.key, events, cancel).await?;
        let look = Box::pin(look(kubernetes, request));
        let found = match &lock {
            None => look.await,
            Some(lock) => tokio::select! {
                found = look => found,
                lost = Box::pin(lock.beat()) => Err(lost),
            },
        };
        match (lock, found) {
            (Some(lock), Ok(None)) => return Ok(Held::Lock(Box::new(lock))),
            (lock, found) => {
                if let Some(lock) = lock {
                    lock.end().await?;
                }
                if let Some(snapshot) = found? {
                    return Ok(Held::Found(snapshot));
                }
            }
        }
    }
}

/// What somebody else has published meanwhile.
async fn look(
    kubernetes: &Kubernetes,
    request: &BakeRequest,
) -> Result<Option<Box<Snapshot>>, BackendError> {
    if request.force {
        return Ok(None);
    }
    match kubernetes.find(request.key).await?.1 {
        Presence::Present(snapshot) => Ok(Some(snapshot)),
        Presence::Absent | Presence::Lost(_) => Ok(None),
    }
}

/// Ends a bake, and what it has left.
pub(super) async fn clean(
    cluster: &Cluster,
    request: &BakeRequest,
    lock: Lock<'_>,
    failed: bool,
) -> Result<(), BackendError> {
    // A snapshot that is not whole keeps its claim from going.
    if failed {
        let discard = async {
            let own = Whose::Only(&lock.nonce);
            lease::drop_claims(cluster, request.key, own).await?;
            snapshot::discard(cluster, request.key, own).await
        };
        tokio::select! {
            _ = Box::pin(discard) => {}
            _ = Box::pin(lock.beat()) => {}
        }
    }
    lock.end().await
}
