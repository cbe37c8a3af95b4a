//! Why a pod does not start, and how long it is waited for.

use std::time::Duration;

use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use tokio::time::Instant;

use super::{Drive, has_ended};
use crate::backend::kubernetes::cluster::BRIEF;
use crate::backend::kubernetes::pod::{UNSCHEDULABLE, is_running};
use crate::backend::{BackendError, Class};

/// How long a pod may be held up by what may pass: a registry or a driver that is back.
const STUCK: Duration = Duration::from_mins(2);

/// The same for a node that takes it: some clusters start one.
const NO_NODE: Duration = Duration::from_mins(10);

/// The same where nothing is wrong: images are pulled and volumes copied, which takes what it takes.
const SLOW: Duration = Duration::from_mins(30);

/// How often it is looked into what a pod waits for.
pub(super) const LOOK: Duration = Duration::from_secs(5);

impl Drive<'_> {
    /// The container that is waited for neither runs nor has ended.
    pub(super) fn is_held_up(&self) -> bool {
        let Some(pod) = &self.pod else { return true };
        !is_running(pod, self.container) && !has_ended(pod, self.container)
    }

    /// Tells what a pod waits for, and gives up when that will not pass, or has not for long.
    pub(super) async fn look_into_it(&mut self) -> Result<(), BackendError> {
        let why = match self.reason.as_str() {
            "" => self.last_warning().await,
            reason => reason.to_owned(),
        };
        if why.is_empty() {
            self.stuck_since = None;
        }
        let since = match why.is_empty() {
            true => self.since,
            false => *self.stuck_since.get_or_insert_with(Instant::now),
        };
        let patience = match why.as_str() {
            "" => SLOW,
            why if why.starts_with(UNSCHEDULABLE) => NO_NODE,
            _ => STUCK,
        };
        if is_lost(&why) || since.elapsed() > patience {
            return Err(stuck(&why, self.is_pinned(), patience));
        }
        if why != self.told && !why.is_empty() {
            self.notices.push(format!("waiting: {why}"));
            self.told = why;
        }
        self.next_look = Instant::now() + LOOK;
        Ok(())
    }

    /// Its volume can be had on one node alone.
    fn is_pinned(&self) -> bool {
        let spec = self.pod.as_ref().and_then(|pod| pod.spec.as_ref());
        spec.is_some_and(|spec| spec.affinity.is_some())
    }

    /// The last event that warns of the pod, or of its claim, which has the same name.
    async fn last_warning(&self) -> String {
        let events = self.cluster.all::<Event>();
        let of_it = ListParams::default().fields(&format!("involvedObject.name={}", self.name));
        let told = self
            .cluster
            .read("list events", BRIEF, async || events.list(&of_it).await);
        let Ok(told) = told.await else {
            return String::new();
        };
        let warnings = told
            .items
            .into_iter()
            .filter(|event| event.type_.as_deref() == Some("Warning"));
        let last = warnings.max_by_key(|event| {
            let last = event.last_timestamp.as_ref().map(|time| time.0);
            last.or(event.event_time.as_ref().map(|time| time.0))
        });
        let text = |event: Event| {
            let reason = event.reason.unwrap_or_default();
            let message = event.message.unwrap_or_default();
            format!("{reason}: {message}")
        };
        last.map(text).unwrap_or_default()
    }
}

/// Whether a claim cannot be filled since its snapshot, or the data of that, is gone: by the provisioner's own words, or by the
/// code with which a driver says so. A class or a login that is not found is another matter, and passes.
fn is_lost(why: &str) -> bool {
    let lower = why.to_lowercase();
    let is_of_snapshot = lower.contains("error getting snapshot") && lower.contains("not found");
    let is_going = lower.contains("snapshot") && lower.contains("is being deleted");
    lower.starts_with("provisioningfailed")
        && (lower.contains("code = notfound") || is_of_snapshot || is_going)
}

/// Whether none of all nodes is the one that a pod has to be on: one that is busy, or closed for a while, is still there.
fn is_node_gone(why: &str) -> bool {
    let count = |before: &str| -> Option<u32> { before.rsplit(['/', ' ']).next()?.parse().ok() };
    let all = why
        .split_once(" nodes are available")
        .and_then(|(before, _)| count(before));
    let others = why
        .split_once(" node(s) didn't match Pod's node affinity")
        .and_then(|(before, _)| count(before));
    all.is_some() && all == others
}

fn stuck(why: &str, is_pinned: bool, patience: Duration) -> BackendError {
    let minutes = patience.as_secs() / 60;
    let message = match why {
        "" => format!("the pod has not started within {minutes} minutes"),
        why => format!("the pod has not started within {minutes} minutes: {why}"),
    };
    let lower = why.to_lowercase();
    let (class, help) = if is_lost(why) {
        (
            Class::Lost,
            "the snapshot's data is gone; its key is baked again",
        )
    } else if is_pinned && is_node_gone(why) {
        (
            Class::Lost,
            "the node that has the snapshot is gone; its key is baked again",
        )
    } else if lower.contains("insufficient") {
        (
            Class::Full,
            "ask for less with `resources`, or give the cluster more nodes",
        )
    } else if lower.contains("node affinity")
        || lower.contains("node selector")
        || lower.contains("taint")
    {
        (
            Class::Denied,
            "see node-selector in the configuration, and the nodes' taints",
        )
    } else if lower.contains("pull") {
        (Class::Transient, "see whether the nodes reach the registry")
    } else {
        (
            Class::Transient,
            "kubectl describe pod and claim say more; `atelier doctor --backend kubernetes` tries what is needed",
        )
    };
    BackendError::new(class, message).with_help(help)
}

#[cfg(test)]
mod tests;
