//! Writes that come too late change nothing, and are not taken for done.

use serde_json::{Value, json};

use super::{Asked, Question, cluster, key_of, page, preimage, published, status};
use crate::backend::kubernetes::lease::Lock;
use crate::backend::kubernetes::record::{Record, record_of};
use crate::backend::kubernetes::snapshot::{self, Cut, Whose};
use crate::backend::kubernetes::volume_snapshot::VolumeSnapshot;
use crate::backend::kubernetes::{Cluster, names};
use crate::backend::{BackendError, Class, Snapshot};

fn parsed(snapshot: Value) -> VolumeSnapshot {
    serde_json::from_value(snapshot).unwrap()
}

/// As it was cut: without a label of its key.
fn cut() -> Value {
    let mut cut = published(&preimage(7, 4));
    cut["metadata"]["labels"] = json!({});
    cut
}

/// Publishes where a change of a snapshot is answered so; returns the changes as well.
async fn publish(
    mut answer: impl FnMut(usize) -> (u16, Value) + Send + 'static,
) -> (Result<Snapshot, BackendError>, Vec<Value>) {
    let mut changes = 0;
    let (cluster, asked) = cluster(move |question| {
        if question.is("POST") {
            let mut lease = question.body.clone();
            lease["metadata"]["uid"] = json!("l");
            lease["metadata"]["resourceVersion"] = json!("1");
            return (201, lease);
        }
        changes += 1;
        answer(changes)
    });
    let lock = Lock::fresh(&cluster, "bake-7", key_of(7)).await.unwrap();
    let record: Record = record_of(&parsed(published(&preimage(7, 4)))).unwrap();
    let cut = Cut {
        snapshot: parsed(cut()),
    };
    let bytes = preimage(7, 4);
    let done = snapshot::publish(
        &cluster,
        &lock,
        &cut,
        key_of(7),
        &bytes,
        &record,
        Some("n1"),
    );
    let done = done.await;
    let asked = asked.lock().unwrap();
    let changes = asked.iter().filter(|question| question.is("PATCH"));
    (
        done,
        changes.map(|question| question.body.clone()).collect(),
    )
}

/// One change, which is refused unless it is this very snapshot of this very attempt; the label comes with the record.
#[tokio::test]
async fn publishing_is_one_guarded_change() {
    let (done, changes) = publish(|_| (200, published(&preimage(7, 4)))).await;
    assert_eq!(done.unwrap().key, key_of(7));
    assert_eq!(changes.len(), 1);
    let operations = changes[0].as_array().unwrap();
    let path = |operation: &Value| operation["path"].as_str().unwrap().to_owned();
    assert_eq!(operations[0]["op"], "test");
    assert_eq!(path(&operations[0]), "/metadata/uid");
    assert_eq!(operations[0]["value"], "u");
    assert_eq!(operations[1]["op"], "test");
    assert_eq!(
        path(&operations[1]),
        "/metadata/annotations/atelier.dev~1nonce"
    );
    let added: Vec<String> = operations[2..].iter().map(path).collect();
    for wanted in [
        "/metadata/labels/atelier.dev~1key",
        "/metadata/annotations/atelier.dev~1record",
        "/metadata/annotations/atelier.dev~1preimage",
        "/metadata/annotations/atelier.dev~1node",
    ] {
        assert!(added.iter().any(|path| path == wanted), "{added:?}");
    }
    assert!(operations[2..].iter().all(|one| one["op"] == "add"));
}

/// Nobody said whether it was done: the very same is said again.
#[tokio::test(start_paused = true)]
async fn a_change_without_an_answer_is_made_again() {
    let (done, changes) = publish(|number| match number {
        1 => status(500, "etcdserver: request timed out"),
        2 => status(429, "TooManyRequests"),
        _ => (200, published(&preimage(7, 4))),
    })
    .await;
    done.unwrap();
    assert_eq!(changes.len(), 3);
    assert!(changes.iter().all(|change| *change == changes[0]));
}

/// Whoever was asleep is told to try again, by which it finds what the others have baked; never that it has published.
#[tokio::test(start_paused = true)]
async fn a_snapshot_that_somebody_else_has_taken_over_is_not_published() {
    let refusal = "the server rejected our request due to an error in our request";
    let (done, _) = publish(move |_| status(422, refusal)).await;
    assert_eq!(done.unwrap_err().class, Class::Transient);
    let (done, _) = publish(|_| status(404, "volumesnapshots \"s\" not found")).await;
    assert_eq!(done.unwrap_err().class, Class::Transient);
}

/// What is being deleted can still be changed, as long as something keeps it.
#[tokio::test]
async fn a_snapshot_that_is_being_deleted_is_not_published() {
    let (done, _) = publish(|_| {
        let mut going = published(&preimage(7, 4));
        going["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
        (200, going)
    })
    .await;
    assert_eq!(done.unwrap_err().class, Class::Transient);
}

/// A snapshot that is in the way, as often as it is asked for, and the answers to deletions of it.
fn in_the_way(
    mut listed: impl FnMut(usize) -> Vec<Value> + Send + 'static,
    mut deleted: impl FnMut(usize) -> (u16, Value) + Send + 'static,
) -> (Cluster, Asked) {
    let (mut lists, mut deletions) = (0, 0);
    cluster(move |question: &Question| {
        if question.is("DELETE") {
            deletions += 1;
            return deleted(deletions);
        }
        // No claims.
        if question.line.contains("persistentvolumeclaims") {
            return page(&[], "");
        }
        lists += 1;
        page(&listed(lists), "")
    })
}

fn deletions(asked: &Asked) -> Vec<Value> {
    let asked = asked.lock().unwrap();
    let deletions = asked.iter().filter(|question| question.is("DELETE"));
    deletions.map(|question| question.body.clone()).collect()
}

/// Between the list and the deletion, a sleeper has published it: it stays.
#[tokio::test]
async fn what_is_published_meanwhile_is_not_discarded() {
    let listed = |number| match number {
        1 => vec![cut()],
        // It has its label by now.
        _ => Vec::new(),
    };
    let (cluster, asked) = in_the_way(listed, |_| status(409, "Conflict"));
    let discarded = snapshot::discard(&cluster, key_of(7), Whose::All).await;
    discarded.unwrap();
    let deletions = deletions(&asked);
    assert_eq!(deletions.len(), 1);
    let conditions = &deletions[0]["preconditions"];
    assert_eq!(conditions, &json!({ "uid": "u", "resourceVersion": "7" }));
}

/// The controller has written to it: it is another version, and goes all the same.
#[tokio::test]
async fn what_has_changed_meanwhile_is_discarded_as_it_is_now() {
    let listed = |number| match number {
        1 => vec![cut()],
        _ => {
            let mut changed = cut();
            changed["metadata"]["resourceVersion"] = json!("8");
            vec![changed]
        }
    };
    let (cluster, asked) = in_the_way(listed, |number| match number {
        1 => status(409, "Conflict"),
        _ => (200, cut()),
    });
    let discarded = snapshot::discard(&cluster, key_of(7), Whose::All).await;
    discarded.unwrap();
    let deletions = deletions(&asked);
    assert_eq!(deletions.len(), 2);
    assert_eq!(deletions[1]["preconditions"]["resourceVersion"], "8");
}

/// Of another key that begins like this one, of another attempt, or on its way already.
#[tokio::test]
async fn what_is_not_meant_is_not_discarded() {
    let listed = |_| {
        let mut of_other_key = cut();
        of_other_key["metadata"]["annotations"][names::KEY_HEX] = json!(key_of(8).to_hex());
        let mut going = cut();
        going["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
        let mut of_other = cut();
        of_other["metadata"]["annotations"][names::NONCE] = json!("theirs");
        vec![of_other_key, going, of_other]
    };
    let (cluster, asked) = in_the_way(listed, |_| (200, cut()));
    let own = Whose::Only("mine");
    snapshot::discard(&cluster, key_of(7), own).await.unwrap();
    assert_eq!(deletions(&asked).len(), 0);
}

/// Two find the same loss: the second one is told that there is nothing to change, which is as good.
#[tokio::test]
async fn a_loss_that_two_have_found_is_one_loss() {
    let lost = parsed(published(&preimage(7, 4)));
    let refusal = "the server rejected our request due to an error in our request";
    for (code, message) in [(422, refusal), (404, "volumesnapshots \"s\" not found")] {
        let (cluster, asked) = cluster(move |_| status(code, message));
        snapshot::disown(&cluster, &lost, "gone").await.unwrap();
        let asked = asked.lock().unwrap();
        let operations = asked[0].body.as_array().unwrap();
        let uid = json!({ "op": "test", "path": "/metadata/uid", "value": "u" });
        assert_eq!(operations[0], uid);
    }
}
