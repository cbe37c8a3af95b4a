//! Snapshots are kept, listed, removed and swept.

use atelier::backend::{Backend, Cancel, Presence, Snapshot};
use atelier::node::ContentKey;

use crate::house::{Caller, House, boot, content, presence, publish, sh};
use crate::requests::request;

pub(crate) async fn snapshots_are_listed_oldest_first(house: &impl House) {
    let backend = house.backend();
    let mut published = Vec::new();
    for name in ["c", "a", "b"] {
        published.push(publish(backend, &request(name, None, &["true"])).await);
    }
    assert_eq!(house.other().list().await.unwrap(), published);
    let created = |snapshot: &Snapshot| snapshot.created.clone();
    assert!(published.is_sorted_by_key(created));
}

pub(crate) async fn keys_are_looked_up_in_the_order_asked(house: &impl House) {
    let backend = house.backend();
    let (a, b) = (request("a", None, &["true"]), request("b", None, &["true"]));
    let (one, two) = (publish(backend, &a).await, publish(backend, &b).await);
    let present = |snapshot: &Snapshot| Presence::Present(Box::new(snapshot.clone()));
    let found = backend
        .probe(&[b.key, ContentKey([9; 32]), a.key, b.key])
        .await
        .unwrap();
    assert_eq!(
        found,
        [
            present(&two),
            Presence::Absent,
            present(&one),
            present(&two)
        ]
    );
    assert_eq!(backend.probe(&[]).await.unwrap(), []);
}

pub(crate) async fn a_removed_snapshot_is_gone_and_its_children_are_whole(house: &impl House) {
    let backend = house.backend();
    let parent = request("parent", None, &["echo x > f"]);
    let child = request("child", Some(&parent), &["true"]);
    publish(backend, &parent).await;
    let kept = publish(backend, &child).await;
    assert!(backend.remove(parent.key).await.unwrap());
    assert!(!backend.remove(parent.key).await.unwrap());
    assert_eq!(presence(backend, parent.key).await, Presence::Absent);
    backend.sweep().await.unwrap();
    assert_eq!(backend.list().await.unwrap(), [kept]);
    assert_eq!(content(backend, &child, "f").await, ["x"]);
    publish(backend, &parent).await;
}

/// behaviours 2.19
pub(crate) async fn a_sweep_keeps_what_is_used(house: &impl House) {
    let backend = house.backend();
    let parent = request("parent", None, &["echo x > f"]);
    let child = request(
        "child",
        Some(&parent),
        &["echo started && sleep 0.5 && cat f"],
    );
    publish(backend, &parent).await;
    let sandbox = boot(backend, &parent).await;
    let mut caller = Caller::new();
    let cancel = Cancel::new();
    let sweep = async {
        caller.events.until("started").await;
        backend.remove(parent.key).await.unwrap();
        house.other().sweep().await.unwrap();
    };
    let (baked, ()) = tokio::join!(backend.bake(&child, &caller.sink, &cancel), sweep);
    baked.unwrap();
    assert_eq!(sh(backend, &sandbox, "cat f").await.1, ["x"]);
    backend.destroy(&sandbox).await.unwrap();
    house.other().sweep().await.unwrap();
    assert_eq!(content(backend, &child, "f").await, ["x"]);
    assert_eq!(house.litter(), Vec::<String>::new());
}

pub(crate) async fn a_sweep_removes_what_a_crash_left(house: &impl House) {
    let backend = house.backend();
    let kept = request("kept", None, &["echo x > f"]);
    publish(backend, &kept).await;
    house.crash().await;
    assert_eq!(backend.list().await.unwrap().len(), 1);
    let litter = house.litter();
    assert_eq!(backend.sweep().await.unwrap(), litter.len());
    assert_eq!(house.litter(), Vec::<String>::new());
    assert_eq!(backend.sweep().await.unwrap(), 0);
    assert_eq!(content(backend, &kept, "f").await, ["x"]);
}
