//! What provisioners and schedulers say, word for word.

use super::{STUCK, stuck};
use crate::backend::Class;

fn class(why: &str, is_pinned: bool) -> Class {
    stuck(why, is_pinned, STUCK).class
}

/// behaviours 1.18
#[test]
fn data_that_is_gone_is_lost() {
    for why in [
        "ProvisioningFailed: failed to provision volume with StorageClass \"fast\": rpc error: code = NotFound desc = no snapshot 7",
        "ProvisioningFailed: failed to provision volume with StorageClass \"fast\": error getting handle for DataSource Type VolumeSnapshot by Name snap-1: error getting snapshot snap-1 from api server: volumesnapshots.snapshot.storage.k8s.io \"snap-1\" not found",
        "ProvisioningFailed: failed to provision volume with StorageClass \"fast\": error getting handle for DataSource Type VolumeSnapshot by Name snap-1: snapshot snap-1 is being deleted",
    ] {
        assert_eq!(class(why, false), Class::Lost, "{why}");
    }
}

/// A whole cache would be given up for something that is put right in a minute.
#[test]
fn what_else_is_not_found_is_no_loss() {
    for why in [
        "ProvisioningFailed: storageclass.storage.k8s.io \"fast\" not found",
        "ProvisioningFailed: failed to provision volume with StorageClass \"snapshots\": error getting secret csi in namespace storage: secrets \"csi\" not found",
        "ProvisioningFailed: failed to provision volume with StorageClass \"fast\": snapshot snap-1 is not Ready",
        "FailedMount: object \"agents\"/\"kube-root-ca.crt\" not found",
    ] {
        assert_ne!(class(why, false), Class::Lost, "{why}");
    }
}

/// behaviours 1.17: it is baked again, on another node.
#[test]
fn a_snapshot_on_a_node_that_is_gone_is_lost() {
    let why = "no node takes the pod: 0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector. preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.";
    assert_eq!(class(why, true), Class::Lost);
    // Not a pod that may be anywhere: the selector is the caller's.
    assert_eq!(class(why, false), Class::Denied);
    let one = "no node takes the pod: 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.";
    assert_eq!(class(one, true), Class::Lost);
}

/// behaviours 1.17
#[test]
fn a_snapshot_on_a_node_that_is_busy_or_closed_is_not_lost() {
    let busy = "no node takes the pod: 0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't match Pod's node affinity/selector.";
    assert_eq!(class(busy, true), Class::Full);
    let closed = "no node takes the pod: 0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't match Pod's node affinity/selector.";
    assert_ne!(class(closed, true), Class::Lost);
    let twelve = "no node takes the pod: 0/12 nodes are available: 1 Insufficient memory, 2 node(s) didn't match Pod's node affinity/selector, 9 node(s) had untolerated taint(s).";
    assert_ne!(class(twelve, true), Class::Lost);
}
