//! What failures of a cluster mean: their class, and what to do. Pure.

use crate::backend::{BackendError, Class};

/// Why a change was not made, or may not have been.
#[derive(Debug)]
pub(super) enum Trouble {
    /// There is no such object.
    Missing,
    /// Somebody else made it or changed it.
    Conflict,
    /// Nobody said whether it was done.
    Unknown(BackendError),
    Failed(BackendError),
}

impl Trouble {
    pub(super) fn into_error(self, what: &str) -> BackendError {
        match self {
            Self::Missing => BackendError::new(Class::Lost, format!("cannot {what}: it is gone")),
            Self::Conflict => {
                let message = format!("cannot {what}: somebody else has changed it");
                BackendError::new(Class::Transient, message)
            }
            Self::Unknown(error) | Self::Failed(error) => error,
        }
    }
}

impl From<BackendError> for Trouble {
    fn from(error: BackendError) -> Self {
        Self::Failed(error)
    }
}

const ROLE: &str = "manifests/ has a role with all that is used: kubectl apply -k manifests; `atelier doctor --backend kubernetes` says what is missing";

pub(super) fn of_configuration(cause: &str) -> BackendError {
    let message = format!("there is no cluster to talk to: {cause}");
    BackendError::new(Class::Denied, message).with_help(
        "name a context of your kubeconfig in config.kdl: kubernetes { context NAME; }, or set KUBECONFIG",
    )
}

pub(super) fn silent(what: &str) -> BackendError {
    let message = format!("cannot {what}: the cluster's API server does not answer");
    BackendError::new(Class::Transient, message)
        .with_help("try again; kubectl version tells whether it is there")
}

/// What an answer of the API server means.
pub(super) fn of_api(what: &str, error: &kube::Error) -> Trouble {
    let kube::Error::Api(status) = error else {
        return of_transport(what, error);
    };
    let message = match status.message.trim() {
        "" => status.reason.clone(),
        message => message.to_owned(),
    };
    let failed = |class, help: &str| {
        let error = BackendError::new(class, format!("cannot {what}: {message}"));
        Trouble::Failed(match help {
            "" => error,
            help => error.with_help(help),
        })
    };
    match status.code {
        404 if message.contains("page not found")
            || message.contains("could not find the requested resource") =>
        {
            failed(
                Class::Denied,
                "the cluster has no VolumeSnapshots: install the snapshot controller and its CRDs (kubernetes-csi/external-snapshotter)",
            )
        }
        404 if message.starts_with("namespaces ") => failed(
            Class::Denied,
            "kubectl apply -k manifests makes one; or name another: kubernetes { namespace NAME; }",
        ),
        404 => Trouble::Missing,
        409 => Trouble::Conflict,
        // A test of a patch: that the object is what it was. (What is wrong in itself is said to be invalid.)
        422 if !message.contains(" is invalid") => Trouble::Conflict,
        403 if message.contains("exceeded quota") => failed(
            Class::Full,
            "remove snapshots or sandboxes that nobody needs, or have the quota raised",
        ),
        401 => failed(Class::Denied, "log in to the cluster again"),
        403 if message.contains("being terminated") => failed(
            Class::Denied,
            "the namespace is being deleted: wait until it is gone, and make it again",
        ),
        403 if message.contains("violates PodSecurity") => failed(
            Class::Denied,
            "the namespace allows less than `restricted`, which is what atelier needs",
        ),
        403 => failed(Class::Denied, ROLE),
        // What a list was begun with is forgotten.
        410 => failed(Class::Transient, "try again"),
        // It may have been done all the same.
        429 | 500..=599 => match failed(Class::Transient, "") {
            Trouble::Failed(error) => Trouble::Unknown(error),
            trouble => trouble,
        },
        _ => failed(Class::Denied, ""),
    }
}

fn of_transport(what: &str, error: &kube::Error) -> Trouble {
    let cause = innermost(error);
    let message = format!("cannot {what}: the cluster cannot be reached: {cause}");
    let denied = matches!(
        error,
        kube::Error::Auth(_) | kube::Error::RustlsTls(_) | kube::Error::BuildRequest(_)
    );
    if denied || cause.contains("certificate") {
        let help = "the kubeconfig's login or certificate is not taken: try kubectl get pods";
        return Trouble::Failed(BackendError::new(Class::Denied, message).with_help(help));
    }
    Trouble::Unknown(
        BackendError::new(Class::Transient, message)
            .with_help("see whether kubectl version gets an answer"),
    )
}

/// What is below all that only says where.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
