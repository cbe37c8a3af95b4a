//! What crashes have left: leases that nobody renews, with all that they own, and snapshots that were never published.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::api::{DeleteParams, Preconditions, PropagationPolicy};

use super::cluster::{BRIEF, Cluster};
use super::failure::Trouble;
use super::lease::{ABANDONED, DURATION, FAREWELL, is_abandoned};
use super::names::{KEY, OF, OWNER, ROLE, Role};
use super::snapshot;
use super::volume_snapshot::VolumeSnapshot;
use super::watch::Watch;
use crate::backend::BackendError;

/// What is old by any clock. Returns how many objects were removed.
pub(super) async fn sweep(cluster: &Cluster) -> Result<usize, BackendError> {
    let (dead, alive) = leases(cluster).await?.into_iter().partition(is_abandoned);
    let left = unpublished(cluster).await?;
    let left = left.into_iter().filter(is_old).collect();
    remove(cluster, dead, &alive, left).await
}

/// What nobody renews while this waits for as long as a holder may be silent, whatever clocks say.
pub(super) async fn thoroughly(cluster: &Cluster) -> Result<usize, BackendError> {
    let left = unpublished(cluster).await?;
    let before: BTreeMap<String, Option<String>> = leases(cluster)
        .await?
        .into_iter()
        .map(|lease| (name(&lease), lease.metadata.resource_version))
        .collect();
    if left.is_empty() && before.is_empty() {
        return Ok(0);
    }
    tokio::time::sleep(DURATION).await;
    let is_dead =
        |lease: &Lease| before.get(&name(lease)) == Some(&lease.metadata.resource_version);
    let (dead, alive) = leases(cluster).await?.into_iter().partition(is_dead);
    remove(cluster, dead, &alive, left).await
}

async fn leases(cluster: &Cluster) -> Result<Vec<Lease>, BackendError> {
    let ours = format!("{}={}", OWNER.0, OWNER.1);
    cluster.list(&ours, BRIEF).await
}

async fn unpublished(cluster: &Cluster) -> Result<Vec<VolumeSnapshot>, BackendError> {
    let role = Role::Snapshot.label();
    let selector = format!("{}={},{ROLE}={role},!{KEY}", OWNER.0, OWNER.1);
    cluster.list(&selector, BRIEF).await
}

async fn remove(
    cluster: &Cluster,
    dead: Vec<Lease>,
    alive: &[Lease],
    left: Vec<VolumeSnapshot>,
) -> Result<usize, BackendError> {
    let alive: BTreeSet<String> = alive.iter().map(name).collect();
    let mut swept = 0;
    // The snapshots first: one that never becomes ready keeps its claim.
    for left in left {
        let is_wanted = left.label(OF).is_some_and(|of| alive.contains(of));
        // One that has been published meanwhile is another version.
        if !is_wanted && snapshot::delete_as_seen(cluster, &left).await? {
            swept += 1;
        }
    }
    for lease in dead {
        let name = name(&lease);
        let owned = owned(cluster, &name).await?;
        // Whoever renews it now keeps it.
        let parameters = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Foreground),
            preconditions: Some(Preconditions {
                resource_version: lease.metadata.resource_version,
                uid: lease.metadata.uid,
            }),
            ..DeleteParams::default()
        };
        match cluster.delete::<Lease>(&name, &parameters).await {
            Ok(true) => {
                swept += 1 + owned;
                let mut watch = Watch::<Lease>::of(cluster, name);
                let gone = async { while let Ok(Some(_)) = watch.next().await {} };
                tokio::time::timeout(FAREWELL, gone).await.ok();
            }
            Ok(false) | Err(Trouble::Conflict) => {}
            Err(trouble) => return Err(trouble.into_error("sweep the cluster")),
        }
    }
    Ok(swept)
}

/// How many objects go with a lease.
async fn owned(cluster: &Cluster, lease: &str) -> Result<usize, BackendError> {
    let of = format!("{OF}={lease}");
    let claims = cluster.list::<PersistentVolumeClaim>(&of, BRIEF).await?;
    let pods = cluster.list::<Pod>(&of, BRIEF).await?;
    Ok(claims.len() + pods.len())
}

fn name(lease: &Lease) -> String {
    lease.metadata.name.clone().unwrap_or_default()
}

/// A lease may have been listed before, and the snapshot after it was made.
fn is_old(snapshot: &VolumeSnapshot) -> bool {
    let made = snapshot.metadata.creation_timestamp.as_ref();
    made.is_some_and(|made| {
        let now = jiff::Timestamp::now().as_second();
        now - made.0.as_second() > ABANDONED.as_secs().cast_signed()
    })
}
