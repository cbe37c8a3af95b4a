//! What is taken for a hit, and what never is.

use serde_json::{Value, json};

use super::{backend, cluster, key_of, page, preimage, published};
use crate::backend::kubernetes::cluster::BRIEF;
use crate::backend::kubernetes::{Settings, names, record, snapshot};
use crate::backend::{Backend, Presence};
use crate::node::ContentKey;

/// What a probe for key 7 says where these are listed.
async fn probe(listed: Vec<Value>) -> Presence {
    let (cluster, _) = cluster(move |question| match question.line.contains("configmaps") {
        true => super::status(404, "NotFound"),
        false => page(&listed, ""),
    });
    let (backend, _folder) = backend(cluster, Settings::default());
    let mut found = backend.probe(&[key_of(7)]).await.unwrap();
    found.pop().unwrap()
}

fn seven() -> Value {
    published(&preimage(7, 4))
}

fn assert_lost(presence: &Presence) {
    assert!(matches!(presence, Presence::Lost(_)), "{presence:?}");
}

#[tokio::test]
async fn a_published_snapshot_is_a_hit() {
    match probe(vec![seven()]).await {
        Presence::Present(snapshot) => assert_eq!(snapshot.preimage, preimage(7, 4)),
        other => panic!("{other:?}"),
    }
}

/// behaviours 1.18
#[tokio::test]
async fn a_snapshot_whose_content_is_lost_is_a_miss() {
    let mut lost = seven();
    lost["status"] = json!({
        "readyToUse": false,
        "error": { "message": "VolumeSnapshotContent is missing", "time": "2026-01-02T03:04:05Z" },
    });
    assert_lost(&probe(vec![lost.clone()]).await);
    // The controller may tell so before it says that it is not ready.
    lost["status"]["readyToUse"] = json!(true);
    assert_lost(&probe(vec![lost]).await);
}

/// behaviours 1.12
#[tokio::test]
async fn a_snapshot_that_is_not_whole_is_a_miss() {
    let mut half = seven();
    half["status"] = json!({ "creationTime": "2026-01-02T03:04:05Z", "readyToUse": false });
    assert_lost(&probe(vec![half.clone()]).await);
    half.as_object_mut().unwrap().remove("status");
    assert_lost(&probe(vec![half]).await);
    let mut without = seven();
    without["metadata"]["annotations"]
        .as_object_mut()
        .unwrap()
        .remove(names::RECORD);
    assert_lost(&probe(vec![without]).await);
    let mut going = seven();
    going["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
    assert_eq!(probe(vec![going]).await, Presence::Absent);
}

/// The preimage is the proof of the key.
#[tokio::test]
async fn a_snapshot_with_another_preimage_is_a_miss() {
    let mut other = seven();
    other["metadata"]["annotations"][names::PREIMAGE] =
        json!(record::pack(&preimage(8, 4)).unwrap());
    assert_lost(&probe(vec![other.clone()]).await);
    let annotations = other["metadata"]["annotations"].as_object_mut().unwrap();
    annotations.remove(names::PREIMAGE);
    annotations.insert(names::PREIMAGE_PARTS.to_owned(), json!("2"));
    assert_lost(&probe(vec![other]).await);
}

/// A label of 52 characters may be put on anything; the whole key has to agree.
#[tokio::test]
async fn a_snapshot_whose_label_and_key_differ_is_not_found() {
    let mut wrong = seven();
    wrong["metadata"]["annotations"][names::KEY_HEX] = json!("00".repeat(32));
    let (cluster, _) = cluster(move |_| page(std::slice::from_ref(&wrong), ""));
    let keys = [ContentKey([0; 32]), key_of(7)];
    let found = snapshot::find(&cluster, &keys, BRIEF).await.unwrap();
    assert!(found.is_empty());
}

/// Of two, after a forced bake whose old one could not be deleted: the newest that is whole, whatever clocks clients have.
#[tokio::test]
async fn the_newest_that_is_whole_is_taken() {
    let named = |name: &str, made: &str| {
        let mut one = seven();
        one["metadata"]["name"] = json!(name);
        one["metadata"]["creationTimestamp"] = json!(made);
        one
    };
    let taken = async |listed: Vec<Value>| {
        let (cluster, _) = cluster(move |_| page(&listed, ""));
        let found = snapshot::find(&cluster, &[key_of(7)], BRIEF).await.unwrap();
        assert_eq!(found.len(), 1);
        found[0].1.name().to_owned()
    };
    let old = named("old", "2026-01-02T03:04:05Z");
    let mut new = named("new", "2026-01-02T03:04:06Z");
    // Its client's clock is an hour slow.
    let record = new["metadata"]["annotations"][names::RECORD]
        .as_str()
        .unwrap();
    let slow = record.replace("T03:04:05", "T02:04:06");
    new["metadata"]["annotations"][names::RECORD] = json!(slow);
    assert_eq!(taken(vec![old.clone(), new.clone()]).await, "new");
    assert_eq!(taken(vec![new.clone(), old.clone()]).await, "new");
    new["status"] = json!({ "readyToUse": false, "error": { "message": "gone" } });
    assert_eq!(taken(vec![old, new]).await, "old");
}
