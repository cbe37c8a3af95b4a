//! What a pod's status says: of its containers, and of why it does not come to its end. Pure.

use k8s_openapi::api::core::v1::{ContainerState, ContainerStatus, Pod};

use crate::backend::{BackendError, BakeError, Class, StepEnding};

/// The containers of a bake's pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    Checkout,
    Steps,
    Verify,
    /// Of a sandbox.
    Workspace,
}

impl Container {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Checkout => "checkout",
            Self::Steps => "steps",
            Self::Verify => "verify",
            Self::Workspace => "workspace",
        }
    }
}

pub(super) fn state(pod: &Pod, container: Container) -> Option<&ContainerState> {
    let status = pod.status.as_ref()?;
    let all = status.init_container_statuses.iter().flatten();
    let mut all = all.chain(status.container_statuses.iter().flatten());
    all.find(|status| status.name == container.name())?
        .state
        .as_ref()
}

pub(super) fn is_running(pod: &Pod, container: Container) -> bool {
    state(pod, container).is_some_and(|state| state.running.is_some())
}

/// How the reason begins for which a pod is on no node.
pub(super) const UNSCHEDULABLE: &str = "no node takes the pod";

/// What can be told from the status alone.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It goes on, or has ended as it should.
    Fine,
    /// It does not go on, for now: why. Whoever waits decides how long.
    Stuck(String),
    /// It will not go on.
    Failed(BackendError),
    /// A container used up its memory, whatever else is said of it. The limit, in bytes.
    OutOfMemory,
    /// The pod's own deadline.
    TooLong,
}

/// Looks for what ends a pod early, and for what holds it up.
pub(super) fn judge(pod: &Pod) -> Verdict {
    let Some(status) = &pod.status else {
        return Verdict::Fine;
    };
    let reason = status.reason.as_deref().unwrap_or_default();
    let message = status.message.as_deref().unwrap_or_default();
    let containers = status.init_container_statuses.iter().flatten();
    let mut containers = containers.chain(status.container_statuses.iter().flatten());
    if let Some(verdict) = containers.find_map(of_container) {
        return verdict;
    }
    match (status.phase.as_deref(), reason) {
        (_, "DeadlineExceeded") => return Verdict::TooLong,
        (_, "Evicted") => return Verdict::Failed(evicted(message)),
        (
            Some("Failed"),
            "NodeLost"
            | "NodeShutdown"
            | "Shutdown"
            | "Terminated"
            | "NodeAffinity"
            | "UnexpectedAdmissionError"
            | "Preempting"
            | "OutOfcpu"
            | "OutOfmemory"
            | "OutOfpods",
        ) => {
            return Verdict::Failed(of_node(reason, message));
        }
        _ => {}
    }
    if let Some(disrupted) = condition(pod, "DisruptionTarget", "True") {
        let reason = disrupted.0;
        return Verdict::Failed(of_node(&reason, &disrupted.1));
    }
    if pod.metadata.deletion_timestamp.is_some() {
        return Verdict::Failed(BackendError::new(
            Class::Transient,
            "somebody or something deletes the pod",
        ));
    }
    match condition(pod, "PodScheduled", "False") {
        Some((_, message)) => Verdict::Stuck(format!("{UNSCHEDULABLE}: {message}")),
        None => Verdict::Fine,
    }
}

fn of_container(container: &ContainerStatus) -> Option<Verdict> {
    let state = container.state.as_ref()?;
    if let Some(ended) = &state.terminated {
        let reason = ended.reason.as_deref();
        if reason == Some("OOMKilled") {
            return Some(Verdict::OutOfMemory);
        }
        if is_not_startable(reason) {
            let message = ended.message.as_deref().unwrap_or("no reason is given");
            let name = &container.name;
            let message = format!("the container {name} cannot be started: {message}");
            return Some(Verdict::Failed(BackendError::new(Class::Denied, message)));
        }
    }
    let waiting = state.waiting.as_ref()?;
    let reason = waiting.reason.as_deref().unwrap_or_default();
    let message = waiting.message.as_deref().unwrap_or(reason);
    of_waiting(reason, message, &container.image)
}

fn condition(pod: &Pod, name: &str, value: &str) -> Option<(String, String)> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let found = conditions
        .iter()
        .find(|condition| condition.type_ == name && condition.status == value)?;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    Some((text(&found.reason), text(&found.message)))
}

fn is_not_startable(reason: Option<&str>) -> bool {
    matches!(
        reason,
        Some("StartError" | "ContainerCannotRun" | "CreateContainerError")
    )
}

fn of_waiting(reason: &str, message: &str, image: &str) -> Option<Verdict> {
    let denied = |message: String, help: &str| {
        let error = BackendError::new(Class::Denied, message).with_help(help);
        Some(Verdict::Failed(error))
    };
    match reason {
        "ErrImagePull" | "ImagePullBackOff" | "ImageInspectError" | "RegistryUnavailable" => {
            let message = format!("cannot pull {image}: {message}");
            let is_final = [
                "not found",
                "unauthorized",
                "denied",
                "no match for platform",
                "forbidden",
            ];
            let lower = message.to_lowercase();
            match is_final.iter().any(|word| lower.contains(word)) {
                true => denied(
                    message,
                    "push it where the cluster's nodes pull from, or give them the login: kubernetes { pull-secret NAME; }",
                ),
                false => Some(Verdict::Stuck(message)),
            }
        }
        "InvalidImageName" | "ErrImageNeverPull" => denied(
            format!("cannot pull {image}: {message}"),
            "see the configuration's runner and aliases",
        ),
        // Tried again by the kubelet, and usual where it has just been started anew.
        "CreateContainerError" | "RunContainerError" => Some(Verdict::Stuck(format!(
            "cannot start a container of {image}: {message}"
        ))),
        "CreateContainerConfigError" => denied(
            format!("cannot start a container of {image}: {message}"),
            "the image, or what the cluster allows, does not fit",
        ),
        _ => None,
    }
}

fn evicted(message: &str) -> BackendError {
    let text = format!("the pod was evicted: {message}");
    // Its own limit, and not what others have left of the node: it would be reached again.
    let is_own = message.contains("ephemeral") && message.contains("exceed");
    match is_own {
        true => BackendError::new(Class::Full, text).with_help(
            "write less outside of the workspace, such as to /tmp and caches, or raise `resources disk=`",
        ),
        false => BackendError::new(Class::Transient, text)
            .with_help("the node was short of room: try again, or give it more"),
    }
}

fn of_node(reason: &str, message: &str) -> BackendError {
    let message = match message {
        "" => format!("the pod's node is gone ({reason})"),
        message => format!("the pod's node has let go of it: {message}"),
    };
    BackendError::new(Class::Transient, message).with_help("try again: another node may take it")
}

/// A step that used up its memory, as far as the pod's status tells.
pub(super) fn out_of_memory(index: usize, limit: u64, log: &std::path::Path) -> BakeError {
    BakeError::Step {
        index,
        ending: StepEnding::OutOfMemory(limit),
        log: log.to_owned(),
    }
}

#[cfg(test)]
mod tests;
