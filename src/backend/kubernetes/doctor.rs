//! What of a cluster bakes and sandboxes need, tried one by one.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use atelier_lang::graph::Resources;
use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, ListParams, PostParams};
use serde_json::json;

use super::cluster::{BRIEF, Cluster};
use super::volume_snapshot::VolumeSnapshotClass;
use super::{Kubernetes, Settings, bug};
use crate::backend::local::doctor::{Check, Finding};
use crate::backend::{Backend, BackendError, BakeError, BakeRequest, Cancel, Environment, Step};
use crate::key;
use crate::node::{ImageDigest, Kind, ResolvedNode, ResolvedStep, Shell, Source, User};
use crate::nonce;
use crate::registry::Reference;
use crate::resolve::{ImageLocation, PinnedImage};

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

/// What the round trip may take.
const ROUND_TRIP: Duration = Duration::from_mins(5);

/// Tries everything, in the order in which it is needed.
pub async fn examine(kubernetes: &Kubernetes) -> Vec<Check> {
    let mut checks = Vec::new();
    let cluster = match kubernetes.cluster().await {
        Ok(cluster) => cluster,
        Err(error) => return vec![Check::missing("cluster", error)],
    };
    match version(cluster).await {
        Ok(version) => {
            let detail = format!("{version}, namespace {}", cluster.namespace);
            checks.push(Check::new("cluster", Finding::Good, detail));
        }
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

async fn version(cluster: &Cluster) -> Result<String, BackendError> {
    let client = &cluster.client;
    let ask = async || client.apiserver_version().await;
    let version = cluster.read("ask for the version", BRIEF, ask).await?;
    Ok(format!("Kubernetes {}", version.git_version))
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

/// The class of volumes, and a class of snapshots of the same driver.
async fn classes(kubernetes: &Kubernetes, cluster: &Cluster) -> Check {
    let storage: Api<StorageClass> = Api::all(cluster.client.clone());
    let snapshots: Api<VolumeSnapshotClass> = Api::all(cluster.client.clone());
    let all = ListParams::default();
    let storage = cluster.read("list storage classes", BRIEF, async || {
        storage.list(&all).await
    });
    let snapshots = cluster.read("list snapshot classes", BRIEF, async || {
        snapshots.list(&all).await
    });
    let (storage, snapshots) = match (storage.await, snapshots.await) {
        (Ok(storage), Ok(snapshots)) => (storage.items, snapshots.items),
        (Err(error), _) | (_, Err(error)) => {
            return Check::new("classes", Finding::Limited, error.message)
                .with_help("bind the role atelier-doctor, or see for yourself: kubectl get storageclass,volumesnapshotclass");
        }
    };
    match pair(kubernetes.settings(), &storage, &snapshots) {
        Ok(detail) => Check::new("classes", Finding::Good, detail),
        Err((what, help)) => Check::new("classes", Finding::Missing, what).with_help(help),
    }
}

/// The two classes in words; or what is missing, and what to do.
fn pair(
    settings: &Settings,
    storage: &[StorageClass],
    snapshots: &[VolumeSnapshotClass],
) -> Result<String, (String, &'static str)> {
    const DEFAULT: &str = "storageclass.kubernetes.io/is-default-class";
    let is_default = |class: &StorageClass| {
        let annotations = class.metadata.annotations.as_ref();
        annotations
            .and_then(|all| all.get(DEFAULT))
            .is_some_and(|value| value == "true")
    };
    let class = storage.iter().find(|class| match &settings.storage_class {
        Some(name) => class.metadata.name.as_ref() == Some(name),
        None => is_default(class),
    });
    let class = class.ok_or_else(|| {
        let there = names(storage.iter().map(|class| &class.metadata));
        (
            format!("no such storage class; there are: {there}"),
            "name one whose driver makes snapshots: kubernetes { storage-class NAME; }",
        )
    })?;
    let driver = &class.provisioner;
    let snapshot = snapshots.iter().find(|snapshot| {
        let is_named =
            settings.snapshot_class.is_none() || snapshot.metadata.name == settings.snapshot_class;
        is_named && &snapshot.driver == driver
    });
    let snapshot = snapshot.ok_or_else(|| {
        let there = names(snapshots.iter().map(|class| &class.metadata));
        (
            format!("no snapshot class for the driver {driver}; there are: {there}"),
            "make one, and name it: kubernetes { snapshot-class NAME; }",
        )
    })?;
    let name = |metadata: &ObjectMeta| metadata.name.clone().unwrap_or_default();
    Ok(format!(
        "{} and {} of {driver}",
        name(&class.metadata),
        name(&snapshot.metadata)
    ))
}

fn names<'a>(all: impl Iterator<Item = &'a ObjectMeta>) -> String {
    let names: Vec<&str> = all.filter_map(|one| one.name.as_deref()).collect();
    names.join(", ")
}

/// Bakes a node of the runner's own image, restores it, and removes it.
async fn round_trip(kubernetes: &Kubernetes) -> Result<String, BackendError> {
    let request = trial(kubernetes.runner()?)?;
    let (events, _nobody) = crate::event::channel();
    let cancel = Cancel::new();
    let began = Instant::now();
    let baked = kubernetes.bake(&request, &events, &cancel);
    let baked = tokio::time::timeout(ROUND_TRIP, baked).await;
    let seconds = began.elapsed().as_secs_f64();
    kubernetes.remove(request.key).await?;
    match baked {
        Ok(Ok(_)) => Ok(format!("made, restored and removed in {seconds:.1} s")),
        Ok(Err(BakeError::Backend(error))) => Err(error),
        Ok(Err(error)) => Err(bug(&error)),
        Err(_) => Err(super::failure::silent(
            "bake and restore a snapshot of nothing",
        )),
    }
}

/// A node that nobody has baked before.
fn trial(runner: &str) -> Result<BakeRequest, BackendError> {
    let parsed = Reference::parse(runner);
    let digest = runner
        .rsplit_once('@')
        .and_then(|(_, digest)| digest.parse().ok());
    let (Some(reference), Some(digest)) = (parsed, digest) else {
        return Err(bug(&format!("{runner} is no reference by digest")));
    };
    let command = format!("echo {} >trial", nonce::name());
    let preimage = key::preimage(&node(digest, command.clone()));
    Ok(BakeRequest {
        key: key::key_of_preimage(&preimage),
        preimage,
        node: "doctor".to_owned(),
        image: PinnedImage {
            digest,
            location: ImageLocation::Registry(reference),
        },
        parent: None,
        checkouts: Vec::new(),
        files: Vec::new(),
        steps: vec![Step {
            user: User::Dev,
            folder: String::new(),
            shell: Shell::Sh,
            command,
            timeout: Duration::from_mins(1),
            retry: 0,
        }],
        environment: Environment::default(),
        caches: Vec::new(),
        resources: Resources {
            cpu: 1,
            memory: 256 << 20,
            disk: 1 << 30,
            timeout: ROUND_TRIP,
        },
        strict_outside: false,
        force: false,
    })
}

/// One step in an image.
fn node(digest: ImageDigest, command: String) -> ResolvedNode {
    ResolvedNode {
        kind: Kind::Prebuild,
        source: Source::Image {
            digest,
            platform: "linux/amd64".to_owned(),
        },
        repos: BTreeMap::new(),
        files: BTreeMap::new(),
        env: BTreeMap::new(),
        path: Vec::new(),
        steps: vec![ResolvedStep {
            user: User::Dev,
            folder: String::new(),
            shell: Shell::Sh,
            command,
        }],
        needs: BTreeMap::new(),
        provides: String::new(),
    }
}
