//! What of a cluster bakes and sandboxes need, tried one by one.

use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use k8s_openapi::apimachinery::pkg::version::Info;
use kube::api::{Api, PostParams};
use serde_json::json;

use super::cluster::{BRIEF, Cluster};
use super::{Kubernetes, bug};
use crate::backend::BackendError;
use crate::backend::local::doctor::{Check, Finding};

mod classes;
mod round_trip;

use classes::classes;
use round_trip::round_trip;

/// What is asked of each kind of objects: as in manifests/role.yaml.
const USED: [(&str, &str, &[&str]); 9] = [
    (
        "coordination.k8s.io",
        "leases",
        &["get", "list", "watch", "create", "update", "delete"],
    ),
    (
        "",
        "persistentvolumeclaims",
        &["get", "list", "watch", "create", "delete"],
    ),
    ("", "pods", &["get", "list", "watch", "create", "delete"]),
    ("", "pods/log", &["get"]),
    ("", "pods/attach", &["get", "create"]),
    ("", "pods/exec", &["get", "create"]),
    ("", "configmaps", &["get", "create"]),
    ("", "events", &["list"]),
    (
        "snapshot.storage.k8s.io",
        "volumesnapshots",
        &["get", "list", "watch", "create", "patch", "delete"],
    ),
];

/// Tries everything, in the order in which it is needed.
pub async fn examine(kubernetes: &Kubernetes) -> Vec<Check> {
    let mut checks = Vec::new();
    let cluster = match kubernetes.cluster().await {
        Ok(cluster) => cluster,
        Err(error) => return vec![Check::missing("cluster", error)],
    };
    match version(cluster).await {
        Ok(version) => checks.push(aged(&version, &cluster.namespace)),
        Err(error) => return vec![Check::missing("cluster", error)],
    }
    checks.push(permissions(cluster).await);
    checks.push(match kubernetes.runner() {
        Ok(runner) => Check::new("runner", Finding::Good, runner),
        Err(error) => Check::missing("runner", error),
    });
    checks.push(classes(kubernetes, cluster).await);
    let is_ready = checks.iter().all(|check| check.finding != Finding::Missing);
    if is_ready {
        checks.push(match Box::pin(round_trip(kubernetes)).await {
            Ok(detail) => Check::new("a bake", Finding::Good, detail),
            Err(error) => Check::missing("a bake", error),
        });
    }
    checks
}

async fn version(cluster: &Cluster) -> Result<Info, BackendError> {
    let client = &cluster.client;
    let ask = async || client.apiserver_version().await;
    cluster.read("ask for the version", BRIEF, ask).await
}

/// Which versions there are whose attachments hand on all that is sent to them.
fn aged(version: &Info, namespace: &str) -> Check {
    let number = |text: &str| -> u32 {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or(0)
    };
    let detail = format!("Kubernetes {}, namespace {namespace}", version.git_version);
    match (number(&version.major), number(&version.minor)) >= (1, 30) {
        true => Check::new("cluster", Finding::Good, detail),
        false => Check::new("cluster", Finding::Limited, detail)
            .with_help("bakes and sandboxes are made for 1.30 and newer"),
    }
}

async fn permissions(cluster: &Cluster) -> Check {
    let mut missing: Vec<String> = Vec::new();
    for (group, resource, verbs) in USED {
        for verb in verbs {
            match may(cluster, group, resource, verb).await {
                Ok(true) => {}
                Ok(false) => missing.push(format!("{verb} {resource}")),
                Err(error) => return Check::missing("permissions", error),
            }
        }
    }
    match missing.as_slice() {
        [] => Check::new("permissions", Finding::Good, "all that are used"),
        missing => Check::new("permissions", Finding::Missing, missing.join(", ")).with_help(
            "manifests/role.yaml has a role with all of them: kubectl apply -k manifests",
        ),
    }
}

async fn may(
    cluster: &Cluster,
    group: &str,
    resource: &str,
    verb: &str,
) -> Result<bool, BackendError> {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let review: SelfSubjectAccessReview = serde_json::from_value(json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": { "resourceAttributes": {
            "namespace": cluster.namespace,
            "group": group,
            "resource": resource,
            "subresource": subresource,
            "verb": verb,
        } },
    }))
    .map_err(|error| bug(&error))?;
    let reviews: Api<SelfSubjectAccessReview> = Api::all(cluster.client.clone());
    let ask = async || reviews.create(&PostParams::default(), &review).await;
    let answer = cluster.read("ask what is allowed", BRIEF, ask).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

#[cfg(test)]
mod tests;
