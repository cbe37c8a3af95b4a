//! A snapshot that is being made.

use std::time::Duration;

use tokio::time::Instant;

use super::{Whose, discard};
use crate::backend::kubernetes::cluster::Cluster;
use crate::backend::kubernetes::failure::Trouble;
use crate::backend::kubernetes::lease::Lock;
use crate::backend::kubernetes::names::NONCE;
use crate::backend::kubernetes::objects::Attempt;
use crate::backend::kubernetes::volume_snapshot::VolumeSnapshot;
use crate::backend::kubernetes::watch::Watch;
use crate::backend::{BackendError, Class};

/// How long a driver may take: some copy a volume over a network. One that hangs says nothing, for ever.
const CUT: Duration = Duration::from_mins(30);

/// An error is tried again by the controller, and may be gone the next time.
const ERROR: Duration = Duration::from_mins(1);

pub(in crate::backend::kubernetes) struct Cut {
    pub(in crate::backend::kubernetes) snapshot: VolumeSnapshot,
}

/// Why there is no snapshot.
pub(in crate::backend::kubernetes) enum Uncut {
    /// The driver does not make it, and has been waited for.
    Driver(BackendError),
    Other(BackendError),
}

impl From<BackendError> for Uncut {
    fn from(error: BackendError) -> Self {
        Self::Other(error)
    }
}

/// Cuts a snapshot of the attempt's claim and waits until it can be restored.
pub(in crate::backend::kubernetes) async fn cut(
    cluster: &Cluster,
    lock: &Lock<'_>,
    attempt: &Attempt<'_>,
    force: bool,
    say: &mut dyn FnMut(&str),
) -> Result<Cut, Uncut> {
    lock.confirm().await?;
    let plain = attempt.key.snapshot_name();
    let other = format!("{plain}-{}", attempt.nonce);
    let mut name = if force { other.clone() } else { plain };
    loop {
        match cluster.create(&attempt.snapshot(&name)?).await {
            Ok(_) => break,
            Err(Trouble::Conflict) if name != other => {
                // Another key that begins like this one, one that was lost, or what a dead client did not finish.
                lock.confirm().await?;
                discard(cluster, attempt.key, Whose::AllBut(attempt.nonce)).await?;
                name.clone_from(&other);
            }
            Err(trouble) => return Err(trouble.into_error("cut a snapshot").into()),
        }
    }
    let mut watch = Watch::<VolumeSnapshot>::of(cluster, name.clone());
    let began = Instant::now();
    let mut error: Option<(Instant, String)> = None;
    loop {
        let patience = error
            .as_ref()
            .map_or(began + CUT, |(since, _)| *since + ERROR);
        let news = match tokio::time::timeout_at(patience, watch.next()).await {
            Ok(news) => news?,
            Err(_) => {
                return Err(Uncut::Driver(never_ready(
                    error.map(|(_, message)| message),
                )));
            }
        };
        let Some(snapshot) = news else {
            let message = "the snapshot was deleted before it was ready";
            return Err(BackendError::new(Class::Transient, message).into());
        };
        if snapshot.annotation(NONCE) != Some(attempt.nonce) {
            let message = "somebody else has taken the snapshot over";
            return Err(BackendError::new(Class::Transient, message).into());
        }
        if snapshot.is_ready() {
            return Ok(Cut { snapshot });
        }
        if let Some(message) = snapshot.error() {
            if error.as_ref().is_none_or(|(_, told)| told != message) {
                say(&format!("the snapshot is not ready yet: {message}"));
            }
            let since = error.map_or(Instant::now(), |(since, _)| since);
            error = Some((since, message.to_owned()));
        } else {
            error = None;
        }
    }
}

fn never_ready(error: Option<String>) -> BackendError {
    let Some(message) = error else {
        let minutes = CUT.as_secs() / 60;
        let message = format!(
            "the snapshot was not ready after {minutes} minutes, and its driver says nothing"
        );
        return BackendError::new(Class::Transient, message)
            .with_help("look after the CSI driver and the snapshot controller, then try again");
    };
    let of_class = message.to_lowercase().contains("snapshot class")
        || message.contains("VolumeSnapshotClass");
    let (class, help) = match of_class {
        true => (
            Class::Denied,
            "name a VolumeSnapshotClass of the volume's driver: kubernetes { snapshot-class NAME; }; `atelier doctor --backend kubernetes` lists them",
        ),
        false => (
            Class::Transient,
            "kubectl describe volumesnapshot says more; try again when the driver works",
        ),
    };
    BackendError::new(
        class,
        format!("the snapshot does not become ready: {message}"),
    )
    .with_help(help)
}
