//! Statuses as kubelets write them.

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::{Container, Verdict, is_running, judge};
use crate::backend::Class;

fn pod(status: &Value) -> Pod {
    serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p" }, "status": status,
    }))
    .unwrap()
}

fn container(name: &str, state: &Value) -> Value {
    json!({ "name": name, "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": state })
}

fn class(status: &Value) -> Class {
    match judge(&pod(status)) {
        Verdict::Failed(error) => error.class,
        other => panic!("{other:?}"),
    }
}

/// A pipeline whose child was killed for its memory ends well on some kernels.
#[test]
fn what_used_up_its_memory_is_told_although_the_pod_succeeded() {
    let killed = json!({ "terminated": { "exitCode": 0, "reason": "OOMKilled" } });
    let status =
        json!({ "phase": "Succeeded", "containerStatuses": [container("steps", &killed)] });
    assert!(matches!(judge(&pod(&status)), Verdict::OutOfMemory));
    let well = json!({ "terminated": { "exitCode": 0, "reason": "Completed" } });
    let status = json!({ "phase": "Succeeded", "containerStatuses": [container("steps", &well)] });
    assert!(matches!(judge(&pod(&status)), Verdict::Fine));
}

#[test]
fn an_image_that_is_not_there_is_not_waited_for() {
    let waiting = |reason: &str, message: &str| {
        let state = json!({ "waiting": { "reason": reason, "message": message } });
        json!({ "phase": "Pending", "initContainerStatuses": [container("checkout", &state)] })
    };
    assert_eq!(
        class(&waiting("ErrImagePull", "manifest unknown: not found")),
        Class::Denied
    );
    assert_eq!(
        class(&waiting("ErrImagePull", "401 Unauthorized")),
        Class::Denied
    );
    assert_eq!(class(&waiting("InvalidImageName", "bad")), Class::Denied);
    assert_eq!(
        class(&waiting("CreateContainerConfigError", "bad")),
        Class::Denied
    );
    // A registry that cannot be reached may be there in a moment.
    let passing = pod(&waiting("ImagePullBackOff", "dial tcp: i/o timeout"));
    assert!(matches!(judge(&passing), Verdict::Stuck(_)));
}

#[test]
fn what_befalls_a_pod_is_tried_again() {
    let evicted =
        |message: &str| json!({ "phase": "Failed", "reason": "Evicted", "message": message });
    let of_node = "The node was low on resource: ephemeral-storage. Threshold quantity: 100Mi, available: 90Mi.";
    assert_eq!(class(&evicted(of_node)), Class::Transient);
    for own in [
        "Pod ephemeral local storage usage exceeds the total limit of containers 64Mi. ",
        "Container steps exceeded its local ephemeral storage limit \"64Mi\". ",
    ] {
        assert_eq!(class(&evicted(own)), Class::Full);
    }
    let lost = json!({ "phase": "Failed", "reason": "NodeLost" });
    assert_eq!(class(&lost), Class::Transient);
    let disrupted = json!({ "phase": "Running", "conditions": [
        { "type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager", "message": "node gone" },
    ] });
    assert_eq!(class(&disrupted), Class::Transient);
}

#[test]
fn a_deadline_is_told_apart() {
    let status = json!({ "phase": "Failed", "reason": "DeadlineExceeded" });
    assert!(matches!(judge(&pod(&status)), Verdict::TooLong));
}

#[test]
fn a_pod_without_a_node_is_stuck_with_the_schedulers_words() {
    let status = json!({ "phase": "Pending", "conditions": [
        { "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes" },
    ] });
    match judge(&pod(&status)) {
        Verdict::Stuck(why) => assert!(why.contains("0/3 nodes")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn containers_are_found_by_name_among_both_kinds() {
    let running = json!({ "running": {} });
    let status = json!({
        "initContainerStatuses": [container("checkout", &running)],
        "containerStatuses": [container("steps", &json!({ "waiting": {} }))],
    });
    let pod = pod(&status);
    assert!(is_running(&pod, Container::Checkout));
    assert!(!is_running(&pod, Container::Steps));
}
