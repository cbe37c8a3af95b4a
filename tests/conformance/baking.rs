//! A key is absent or published as a whole; whatever fails leaves nothing that satisfies it.

use std::time::Duration;

use atelier::backend::{
    Backend, BackendError, BakeError, Baked, Cancel, Class, Ending, Presence, StepEnding,
};
use atelier::key;

use crate::house::{
    Caller, House, assert_absent_and_bakeable, bake, boot, content, is_present, presence, publish,
    sandbox_request, sh,
};
use crate::processes::{is_running, marker, wait_until};
use crate::requests::request;

pub(crate) async fn a_key_is_absent_until_it_is_published(house: &impl House) {
    let backend = house.backend();
    let request = request("a", None, &["echo x > f && echo started && sleep 0.2"]);
    assert_eq!(presence(backend, request.key).await, Presence::Absent);
    let mut caller = Caller::new();
    let cancel = Cancel::new();
    let look = async {
        caller.events.until("started").await;
        presence(house.other(), request.key).await
    };
    let (baked, during) = tokio::join!(backend.bake(&request, &caller.sink, &cancel), look);
    assert_eq!(during, Presence::Absent);
    let Baked::Published(snapshot) = baked.unwrap() else {
        panic!("it was not there")
    };
    assert_eq!(
        presence(house.other(), request.key).await,
        Presence::Present(snapshot.clone())
    );
    assert_eq!(snapshot.key, request.key);
    assert_eq!(key::key_of_preimage(&snapshot.preimage), request.key);
    assert_eq!((snapshot.node.as_str(), snapshot.parent), ("a", None));
    assert!(snapshot.bytes > 0 && !snapshot.verified.is_empty());
}

/// behaviours 1.12, 1.13
pub(crate) async fn a_failing_step_leaves_nothing(house: &impl House) {
    let steps = ["echo wrong > f", "exit 3", "echo never"];
    let request = request("a", None, &steps);
    let error = bake(house.backend(), &request).await.unwrap_err();
    let BakeError::Step { index, ending, .. } = error else {
        panic!("{error}")
    };
    assert_eq!((index, ending), (1, StepEnding::Failed(Ending::Exited(3))));
    assert_absent_and_bakeable(house.backend(), request).await;
}

pub(crate) async fn a_step_out_of_time_leaves_nothing(house: &impl House) {
    let marker = marker();
    let mut request = request("a", None, &[&format!("sleep {marker}")]);
    request.steps[0].timeout = Duration::from_millis(300);
    let error = bake(house.backend(), &request).await.unwrap_err();
    let BakeError::Step {
        ending: StepEnding::TimedOut(limit),
        ..
    } = error
    else {
        panic!("{error}")
    };
    assert_eq!(limit, Duration::from_millis(300));
    assert!(!is_running(&marker));
    request.steps[0].timeout = Duration::from_secs(30);
    assert_absent_and_bakeable(house.backend(), request).await;
}

pub(crate) async fn a_bake_out_of_time_leaves_nothing(house: &impl House) {
    let marker = marker();
    let mut request = request("a", None, &[&format!("sleep {marker}")]);
    request.resources.timeout = Duration::from_millis(500);
    let error = bake(house.backend(), &request).await.unwrap_err();
    assert!(matches!(error, BakeError::Timeout { .. }), "{error}");
    assert!(!is_running(&marker));
    request.resources.timeout = Duration::from_mins(1);
    assert_absent_and_bakeable(house.backend(), request).await;
}

/// behaviours 1.11
pub(crate) async fn a_cancelled_bake_leaves_nothing(house: &impl House) {
    let marker = marker();
    let request = request("a", None, &[&format!("echo started && sleep {marker}")]);
    let mut caller = Caller::new();
    let cancel = Cancel::new();
    let stop = async {
        caller.events.until("started").await;
        cancel.cancel();
    };
    let (baked, ()) = tokio::join!(house.backend().bake(&request, &caller.sink, &cancel), stop);
    assert!(matches!(baked, Err(BakeError::Cancelled)));
    assert!(!is_running(&marker));
    assert_absent_and_bakeable(house.backend(), request).await;
}

pub(crate) async fn a_bake_that_is_dropped_leaves_nothing(house: &impl House) {
    let marker = marker();
    let request = request("a", None, &[&format!("echo started && sleep {marker}")]);
    let mut caller = Caller::new();
    let cancel = Cancel::new();
    tokio::select! {
        _ = house.backend().bake(&request, &caller.sink, &cancel) => panic!("it ended"),
        () = caller.events.until("started") => {}
    }
    wait_until("the step to end", || !is_running(&marker));
    assert_absent_and_bakeable(house.backend(), request).await;
}

pub(crate) async fn what_is_there_is_found(house: &impl House) {
    let request = request("a", None, &["echo x > f"]);
    let snapshot = publish(house.backend(), &request).await;
    let again = bake(house.other(), &request).await.unwrap();
    assert_eq!(again, Baked::Found(Box::new(snapshot.clone())));
    assert_eq!(house.backend().list().await.unwrap(), [snapshot]);
}

pub(crate) async fn force_replaces_and_leaves_children_whole(house: &impl House) {
    let backend = house.backend();
    let mut parent = request("parent", None, &["echo old > f"]);
    let child = request("child", Some(&parent), &["cat f"]);
    publish(backend, &parent).await;
    publish(backend, &child).await;
    let sandbox = boot(backend, &parent).await;
    "echo new > f".clone_into(&mut parent.steps[0].command);
    parent.force = true;
    publish(backend, &parent).await;
    backend.sweep().await.unwrap();
    assert_eq!(content(backend, &parent, "f").await, ["new"]);
    assert_eq!(content(backend, &child, "f").await, ["old"]);
    assert_eq!(sh(backend, &sandbox, "cat f").await.1, ["old"]);
    assert_eq!(backend.list().await.unwrap().len(), 2);
    backend.destroy(&sandbox).await.unwrap();
}

pub(crate) async fn a_forced_bake_that_fails_leaves_the_old_snapshot(house: &impl House) {
    let backend = house.backend();
    let mut request = request("a", None, &["echo old > f"]);
    let old = publish(backend, &request).await;
    "echo new > f && exit 1".clone_into(&mut request.steps[0].command);
    request.force = true;
    bake(backend, &request).await.unwrap_err();
    assert_eq!(
        presence(backend, request.key).await,
        Presence::Present(Box::new(old))
    );
    assert_eq!(content(backend, &request, "f").await, ["old"]);
}

/// behaviours 2.14
pub(crate) async fn lost_data_is_a_miss_and_heals(house: &impl House) {
    let backend = house.backend();
    let parent = request("parent", None, &["echo x > f"]);
    let child = request("child", Some(&parent), &["cat f"]);
    publish(backend, &parent).await;
    house.lose(parent.key);
    assert!(matches!(
        presence(backend, parent.key).await,
        Presence::Lost(_)
    ));
    let lost = |error: &BackendError| assert_eq!(error.class, Class::Lost, "{error}");
    lost(&backend.boot(&sandbox_request(&parent)).await.unwrap_err());
    match bake(backend, &child).await.unwrap_err() {
        BakeError::Backend(error) => lost(&error),
        error => panic!("{error}"),
    }
    publish(backend, &parent).await;
    publish(backend, &child).await;
    assert!(is_present(backend, parent.key).await);
    assert_eq!(content(backend, &child, "f").await, ["x"]);
    assert_eq!(backend.list().await.unwrap().len(), 2);
}
