//! Many snapshots.

use serde_json::{Value, json};

use super::{backend, cluster, key_of, page, preimage, published};
use crate::backend::kubernetes::cluster::BRIEF;
use crate::backend::kubernetes::volume_snapshot::VolumeSnapshot;
use crate::backend::kubernetes::{Settings, names, record, snapshot};
use crate::backend::{Backend, Class};
use crate::node::ContentKey;

const ALL: u32 = 10_000;
const PAGE: u32 = 500;

/// Where a page begins, by the question for it.
fn from(line: &str) -> u32 {
    match line.split("continue=").nth(1) {
        Some(rest) => rest.split('&').next().unwrap().parse().unwrap(),
        None => 0,
    }
}

/// Ten thousand snapshots, of which each has so large a preimage.
fn ten_thousand(line: &str, length: usize) -> (u16, Value) {
    let from = from(line);
    let items: Vec<Value> = (from..from + PAGE)
        .map(|number| published(&preimage(number, length)))
        .collect();
    let next = match from + PAGE < ALL {
        true => (from + PAGE).to_string(),
        false => String::new(),
    };
    page(&items, &next)
}

/// By pages, and with no more of what they were made of than there is room for.
#[tokio::test]
async fn ten_thousand_are_listed_in_bounded_memory() {
    let (cluster, asked) = cluster(|question| ten_thousand(&question.line, 16 << 10));
    let (backend, _folder) = backend(cluster, Settings::default());
    let all = backend.list().await.unwrap();
    assert_eq!(all.len(), 10_000);
    let held: usize = all.iter().map(|snapshot| snapshot.preimage.len()).sum();
    assert!(held <= record::LISTED, "{held}");
    assert!(held > record::LISTED / 2, "{held}");
    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), 20);
    for question in asked.iter() {
        assert!(question.line.contains("limit=500"), "{}", question.line);
    }
}

/// A probe has what a list had no room for.
#[tokio::test]
async fn what_a_list_has_no_room_for_a_probe_has() {
    let large = preimage(7, record::LISTED + 1);
    let one = published(&large);
    let (cluster, _) = cluster(move |_| page(std::slice::from_ref(&one), ""));
    let (backend, _folder) = backend(cluster, Settings::default());
    let listed = backend.list().await.unwrap();
    assert!(listed[0].preimage.is_empty());
    match backend.probe(&[listed[0].key]).await.unwrap().as_slice() {
        [crate::backend::Presence::Present(snapshot)] => assert!(snapshot.preimage == large),
        other => panic!("{}", other.len()),
    }
}

/// What a list was begun with is forgotten after some minutes; the server says how it goes on.
#[tokio::test]
async fn a_list_goes_on_after_its_beginning_is_forgotten() {
    let mut forgotten = false;
    let (cluster, asked) = cluster(move |question| {
        if from(&question.line) == 1500 && !std::mem::replace(&mut forgotten, true) {
            let status = json!({
                "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410,
                "message": "The provided continue parameter is too old", "metadata": { "continue": "1500" },
            });
            return (410, status);
        }
        ten_thousand(&question.line, 4)
    });
    let mut found = Vec::new();
    let take = |snapshot: VolumeSnapshot| found.push(snapshot.name().to_owned());
    cluster.each(names::KEY, BRIEF, take).await.unwrap();
    let all: Vec<String> = (0..ALL)
        .map(|number| key_of(number).snapshot_name())
        .collect();
    assert!(found == all, "{} of {}", found.len(), all.len());
    assert_eq!(asked.lock().unwrap().len(), 21);
}

/// A server that cannot go on is no end of the list, and it is not asked for ever.
#[tokio::test(start_paused = true)]
async fn a_list_that_cannot_go_on_is_no_whole_list() {
    let (cluster, _) = cluster(|question| match from(&question.line) {
        500.. => super::status(410, "Expired"),
        _ => ten_thousand(&question.line, 4),
    });
    let (backend, _folder) = backend(cluster, Settings::default());
    let error = backend.list().await.unwrap_err();
    assert_eq!(error.class, Class::Transient, "{error}");
}

/// One question for a hundred keys.
#[tokio::test]
async fn keys_are_looked_up_by_the_hundred() {
    let (cluster, asked) = cluster(|_| page(&[published(&preimage(7, 4))], ""));
    let keys: Vec<ContentKey> = (0..250).map(key_of).collect();
    let found = snapshot::find(&cluster, &keys, BRIEF).await.unwrap();
    assert_eq!(asked.lock().unwrap().len(), 3);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, keys[7]);
}
