//! What one node cannot show: answers that are lost, thousands of snapshots, writes that come too late.

use std::sync::{Arc, Mutex};

use http::{Request, Response, StatusCode};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower_test::mock;

use super::cluster::{BRIEF, Cluster};
use super::failure::Trouble;
use super::names;
use super::snapshot;
use super::volume_snapshot::VolumeSnapshot;
use crate::node::ContentKey;

/// What a server is asked: the method, and the path with its query.
type Asked = Arc<Mutex<Vec<String>>>;

/// A cluster whose API server answers so.
fn cluster(mut answer: impl FnMut(&str) -> (u16, Value) + Send + 'static) -> (Cluster, Asked) {
    let (service, mut handle) = mock::pair::<Request<Body>, Response<Body>>();
    let asked = Asked::default();
    let told = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Some((request, send)) = handle.next_request().await {
            let line = format!("{} {}", request.method(), request.uri());
            let (status, body) = answer(&line);
            told.lock().unwrap().push(line);
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

fn status(code: u16, reason: &str) -> (u16, Value) {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": reason, "reason": reason, "code": code,
    });
    (code, status)
}

fn object(nonce: &str) -> ConfigMap {
    serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "c", "annotations": { names::NONCE: nonce } },
    }))
    .unwrap()
}

/// The object was made, and nobody said so: asked again, it is there, and ours.
#[tokio::test]
async fn what_was_made_without_an_answer_is_found_to_be_ours() {
    let mut posts = 0;
    let (cluster, asked) = cluster(move |line| {
        if line.starts_with("GET") {
            return (200, serde_json::to_value(object("mine")).unwrap());
        }
        posts += 1;
        match posts {
            1 => status(504, "Timeout"),
            _ => status(409, "AlreadyExists"),
        }
    });
    cluster.create(&object("mine")).await.unwrap();
    assert_eq!(asked.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn what_somebody_else_made_is_a_conflict() {
    let (cluster, _) = cluster(|line| match line.starts_with("GET") {
        true => (200, serde_json::to_value(object("theirs")).unwrap()),
        false => status(409, "AlreadyExists"),
    });
    let made = cluster.create(&object("mine")).await;
    assert!(matches!(made, Err(Trouble::Conflict)), "{made:?}");
}

fn snapshot_of(number: u32, uid: &str) -> Value {
    let mut key = [0; 32];
    key[..4].copy_from_slice(&number.to_be_bytes());
    let key = ContentKey(key);
    json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
        "metadata": {
            "name": format!("s{number}"), "uid": uid,
            "labels": { names::KEY: names::label(key) },
            "annotations": { names::KEY_HEX: key.to_hex() },
        },
        "spec": { "source": {} },
    })
}

/// Ten thousand, and never more than a page of them at a time.
#[tokio::test]
async fn snapshots_are_listed_by_pages() {
    let (cluster, asked) = cluster(|line| {
        let from: u32 = match line.split("continue=").nth(1) {
            Some(rest) => rest.split('&').next().unwrap().parse().unwrap(),
            None => 0,
        };
        let items: Vec<Value> = (from..from + 500)
            .map(|number| snapshot_of(number, "u"))
            .collect();
        let next = if from + 500 < 10_000 {
            (from + 500).to_string()
        } else {
            String::new()
        };
        let list = json!({
            "kind": "VolumeSnapshotList", "apiVersion": "snapshot.storage.k8s.io/v1",
            "metadata": { "resourceVersion": "1", "continue": next }, "items": items,
        });
        (200, list)
    });
    let mut count = 0;
    let take = |_: VolumeSnapshot| count += 1;
    cluster.each(names::KEY, BRIEF, take).await.unwrap();
    assert_eq!(count, 10_000);
    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), 20);
    assert!(
        asked.iter().all(|line| line.contains("limit=500")),
        "{asked:?}"
    );
}

/// One question for a hundred keys.
#[tokio::test]
async fn keys_are_looked_up_by_the_hundred() {
    let (cluster, asked) = cluster(|_| {
        let list = json!({
            "kind": "VolumeSnapshotList", "apiVersion": "snapshot.storage.k8s.io/v1",
            "metadata": { "resourceVersion": "1" }, "items": [snapshot_of(7, "u")],
        });
        (200, list)
    });
    let keys: Vec<ContentKey> = (0..250_u32)
        .map(|number| {
            let mut key = [0; 32];
            key[..4].copy_from_slice(&number.to_be_bytes());
            ContentKey(key)
        })
        .collect();
    let found = snapshot::find(&cluster, &keys, BRIEF).await.unwrap();
    assert_eq!(asked.lock().unwrap().len(), 3);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, keys[7]);
}

/// A label of 52 characters may be put on anything; the whole key has to agree.
#[tokio::test]
async fn a_snapshot_whose_label_and_key_differ_is_not_found() {
    let (cluster, _) = cluster(|_| {
        let mut wrong = snapshot_of(7, "u");
        wrong["metadata"]["annotations"][names::KEY_HEX] = json!("00".repeat(32));
        let list = json!({
            "kind": "VolumeSnapshotList", "apiVersion": "snapshot.storage.k8s.io/v1",
            "metadata": { "resourceVersion": "1" }, "items": [wrong],
        });
        (200, list)
    });
    let key = ContentKey([0; 32]);
    let found = snapshot::find(&cluster, &[key], BRIEF).await.unwrap();
    assert!(found.is_empty());
}
