//! One bake per key at a time, whoever asks for it.

use std::cell::Cell;
use std::time::{Duration, Instant};

use atelier::backend::{Backend, BakeError, BakeRequest, Baked, Cancel};

use crate::house::{Caller, House, content, is_present};
use crate::requests::request;

/// Long enough for the slowest machine, far too short for a second bake.
const SOON: Duration = Duration::from_millis(900);

/// What came of a bake, when, and what it printed.
struct Came {
    result: Result<Baked, BakeError>,
    at: Instant,
    printed: Vec<String>,
}

/// Two callers of one bake: the second one comes when the first one's step runs.
async fn both(house: &impl House, request: &BakeRequest, cancels: [&Cancel; 2]) -> [Came; 2] {
    let (mut one, mut two) = (Caller::new(), Caller::new());
    let began = tokio::sync::Notify::new();
    let leader = async {
        let result = house.backend().bake(request, &one.sink, cancels[0]).await;
        (result, Instant::now())
    };
    let follower = async {
        began.notified().await;
        let result = house.other().bake(request, &two.sink, cancels[1]).await;
        (result, Instant::now())
    };
    let watch = async {
        one.events.until("started").await;
        began.notify_one();
    };
    let (leader, follower, ()) = tokio::join!(leader, follower, watch);
    let came = |(result, at), printed| Came {
        result,
        at,
        printed,
    };
    [
        came(leader, one.events.output()),
        came(follower, two.events.output()),
    ]
}

/// behaviours 1.23, 2.15
pub(crate) async fn two_bakes_of_a_key_are_one(house: &impl House) {
    let request = request("a", None, &["echo started && sleep 1 && echo x > f"]);
    let [leader, follower] = both(house, &request, [&Cancel::new(), &Cancel::new()]).await;
    let Ok(Baked::Published(published)) = leader.result else {
        panic!("{:?}", leader.result)
    };
    assert_eq!(follower.result.unwrap(), Baked::Found(published));
    assert!(follower.at.saturating_duration_since(leader.at) < SOON);
    assert_eq!(house.backend().list().await.unwrap().len(), 1);
}

pub(crate) async fn a_follower_sees_all_that_its_leader_printed(house: &impl House) {
    let steps = [
        "echo first",
        "echo started && sleep 0.3",
        "echo grün",
        "echo last",
    ];
    let request = request("a", None, &steps);
    let [_, follower] = both(house, &request, [&Cancel::new(), &Cancel::new()]).await;
    assert_eq!(follower.printed, ["first", "started", "grün", "last"]);
}

pub(crate) async fn a_cancelled_leader_is_taken_over_from(house: &impl House) {
    let request = request("a", None, &["echo started && sleep 0.5 && echo x > f"]);
    let (mut one, mut two) = (Caller::new(), Caller::new());
    let (cancel, never) = (Cancel::new(), Cancel::new());
    let leader = house.backend().bake(&request, &one.sink, &cancel);
    let follower = async {
        one.events.until("started").await;
        let follow = house.other().bake(&request, &two.sink, &never);
        let stop = async {
            two.events.until("started").await;
            cancel.cancel();
        };
        tokio::join!(follow, stop).0
    };
    let (leader, follower) = tokio::join!(leader, follower);
    assert!(matches!(leader, Err(BakeError::Cancelled)));
    assert!(matches!(follower, Ok(Baked::Published(_))), "{follower:?}");
    assert_eq!(content(house.backend(), &request, "f").await, ["x"]);
}

pub(crate) async fn a_cancelled_follower_leaves_its_leader_alone(house: &impl House) {
    let request = request("a", None, &["echo started && sleep 0.5 && echo x > f"]);
    let cancelled = Cancel::new();
    cancelled.cancel();
    let [leader, follower] = both(house, &request, [&Cancel::new(), &cancelled]).await;
    assert!(matches!(follower.result, Err(BakeError::Cancelled)));
    assert!(follower.at < leader.at);
    assert!(
        matches!(leader.result, Ok(Baked::Published(_))),
        "{:?}",
        leader.result
    );
    assert!(is_present(house.backend(), request.key).await);
}

pub(crate) async fn two_keys_bake_side_by_side(house: &impl House) {
    let requests = ["a", "b"].map(|name| request(name, None, &["echo started && sleep 1"]));
    let (mut one, mut two) = (Caller::new(), Caller::new());
    let ended = Cell::new(false);
    let first = async {
        let cancel = Cancel::new();
        let result = house.backend().bake(&requests[0], &one.sink, &cancel).await;
        ended.set(true);
        result
    };
    let second = async {
        let cancel = Cancel::new();
        let result = house.other().bake(&requests[1], &two.sink, &cancel).await;
        ended.set(true);
        result
    };
    let watch = async {
        tokio::join!(one.events.until("started"), two.events.until("started"));
        assert!(!ended.get(), "one after the other");
    };
    let (a, b, ()) = tokio::join!(first, second, watch);
    assert!(matches!(
        (a, b),
        (Ok(Baked::Published(_)), Ok(Baked::Published(_)))
    ));
}
