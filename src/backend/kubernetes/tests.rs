//! What one node cannot show: answers that are lost, thousands of snapshots, writes that come too late. The API server is a
//! function.

use std::sync::{Arc, Mutex};

use http::{Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower_test::mock;

use super::cluster::Cluster;
use super::record::{self, Record};
use super::{Kubernetes, Settings, names};
use crate::backend::Durations;
use crate::key;
use crate::node::ContentKey;
use crate::registry::Registries;

mod answers;
mod listing;
mod presence;
mod writes;

/// What a server is asked.
pub(super) struct Question {
    /// The method, and the path with its query.
    pub(super) line: String,
    pub(super) body: Value,
}

impl Question {
    fn is(&self, method: &str) -> bool {
        self.line.starts_with(method)
    }
}

pub(super) type Asked = Arc<Mutex<Vec<Question>>>;

/// A cluster whose API server answers so: a status and a body.
pub(super) fn cluster(
    mut answer: impl FnMut(&Question) -> (u16, Value) + Send + 'static,
) -> (Cluster, Asked) {
    let (service, mut handle) = mock::pair::<Request<Body>, Response<Body>>();
    let asked = Asked::default();
    let told = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Some((request, send)) = handle.next_request().await {
            let line = format!("{} {}", request.method(), request.uri());
            let body = request.into_body().collect_bytes().await.unwrap();
            let body = serde_json::from_slice(&body).unwrap_or_default();
            let question = Question { line, body };
            let (status, body) = answer(&question);
            told.lock().unwrap().push(question);
            let response = Response::builder()
                .status(StatusCode::from_u16(status).unwrap())
                .body(Body::from(serde_json::to_vec(&body).unwrap()))
                .unwrap();
            send.send_response(response);
        }
    });
    let cluster = Cluster {
        client: Client::new(service, "agents"),
        namespace: "agents".to_owned(),
    };
    (cluster, asked)
}

/// A backend on it, and the folder of its state.
pub(super) fn backend(cluster: Cluster, settings: Settings) -> (Kubernetes, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let registries = Registries::new(folder.path(), [].into(), []);
    let backend = Kubernetes::open(folder.path(), settings, registries, [].into()).unwrap();
    assert!(backend.cluster.set(cluster).is_ok());
    (backend, folder)
}

/// A failure as API servers tell it.
pub(super) fn status(code: u16, message: &str) -> (u16, Value) {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": message, "code": code,
    });
    (code, status)
}

/// A page of a list, and from where it goes on.
fn page(items: &[Value], next: &str) -> (u16, Value) {
    let list = json!({
        "kind": "VolumeSnapshotList", "apiVersion": "snapshot.storage.k8s.io/v1",
        "metadata": { "resourceVersion": "1", "continue": next }, "items": items,
    });
    (200, list)
}

/// The preimage of a snapshot is its number, and much that is nothing.
fn preimage(number: u32, length: usize) -> Vec<u8> {
    let mut preimage = vec![0; length.max(4)];
    preimage[..4].copy_from_slice(&number.to_be_bytes());
    preimage
}

fn key_of(number: u32) -> ContentKey {
    key::key_of_preimage(&preimage(number, 4))
}

/// A published snapshot with a record and this preimage.
fn published(preimage: &[u8]) -> Value {
    let key = key::key_of_preimage(preimage);
    let record = Record {
        node: "one".to_owned(),
        parent: None,
        created: "2026-01-02T03:04:05.000Z".to_owned(),
        durations: Durations::default(),
        bytes: 1,
        commits: [].into(),
        verified: vec!["restored".to_owned()],
        manifest: "00".to_owned(),
        depth: 1,
    };
    json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
        "metadata": {
            "name": key.snapshot_name(), "uid": "u", "resourceVersion": "7",
            "creationTimestamp": "2026-01-02T03:04:05Z",
            "labels": { names::KEY: names::label(key) },
            "annotations": {
                names::KEY_HEX: key.to_hex(),
                names::NONCE: "mine",
                names::RECORD: serde_json::to_string(&record).unwrap(),
                names::PREIMAGE: record::pack(preimage).unwrap(),
            },
        },
        "spec": { "source": {} },
        "status": { "readyToUse": true, "restoreSize": "1Gi" },
    })
}
