//! Parts of the cluster that die, hang or fail for a while: a bake waits for them, or is tried again, and leaves nothing.

use std::time::Duration;

use crate::cluster::{
    Machine, alone, apply, fault, hold_down, kill, kubectl, let_up, litter, published, run_folder,
    wait,
};

/// Long enough in each of its phases to be hurt in it.
const FILE: &str = "prebuild one { from dev-base; repo \"./code\"; run \"echo KEY; for i in 1 2 3 4; do echo tick $i; sleep 1; done; echo done > f\"; }";

/// The first few, or all of them if `ATELIER_FAULTS` is set, as by `just soak`: each is a bake that waits for something.
fn some<T>(all: &[T], few: usize) -> &[T] {
    match std::env::var_os("ATELIER_FAULTS") {
        Some(_) => all,
        None => &all[..few],
    }
}

/// Hurts a bake once it has said so much, and sees it to its end.
fn hurt(phase: &str, harm: impl FnOnce()) -> String {
    let machine = Machine::with(FILE);
    machine.repository("code");
    let build = machine.start(&[]);
    build.until_said(phase);
    harm();
    let (code, output) = build.end();
    assert_eq!(code, Some(0), "{phase}: {output}");
    let key = machine.key("one");
    assert_eq!(published(&key).len(), 1, "{phase}: {output}");
    wait("nothing to be left", Duration::from_mins(2), || {
        litter(&key).is_empty()
    });
    assert_eq!(machine.good("up", &["--", "cat", "f"]), "done\n");
    output
}

#[test]
fn an_api_server_that_dies_in_any_phase_is_waited_for() {
    let _cluster = alone();
    let phases = ["cut the snapshot", "tick 2", "check out", "verify it"];
    for phase in some(&phases, 2) {
        hurt(phase, || kill("kube-apiserver"));
    }
}

#[test]
fn a_kubelet_that_dies_costs_time_alone() {
    let _cluster = alone();
    let phases = ["tick 2", "check out", "verify it"];
    for phase in some(&phases, 1) {
        hurt(phase, || kill("kubelet"));
    }
}

/// A pod that is deleted waits for its node, and with it the lease that owns it. The next build does not wait as long.
#[test]
fn a_node_that_is_gone_does_not_keep_a_key_from_the_next_build() {
    let _cluster = alone();
    let machine = Machine::with(&FILE.replace("repo \"./code\"; ", ""));
    let other = machine.other();
    let first = machine.start(&[]);
    first.until_said("tick 2");
    hold_down("kubelet");
    first.signal("INT");
    let (code, output) = first.end();
    let second = other.start(&[]);
    second.until_said("still being deleted");
    let_up("kubelet");
    assert_eq!(code, Some(130), "{output}");
    let (code, output) = second.end();
    assert_eq!(code, Some(0), "{output}");
    let key = machine.key("one");
    wait("nothing to be left", Duration::from_mins(2), || {
        litter(&key).is_empty()
    });
}

#[test]
fn a_snapshot_controller_that_is_away_is_waited_for() {
    let _cluster = alone();
    hold_down("snapshot-controller");
    let back = std::thread::spawn(|| {
        std::thread::sleep(Duration::from_secs(20));
        let_up("snapshot-controller");
    });
    hurt("tick 2", || {});
    back.join().unwrap();
}

/// Each call fails for a while, and then hangs for a while.
#[test]
fn a_driver_that_fails_or_hangs_for_a_while_is_waited_for() {
    let _cluster = alone();
    let calls = [
        ("CreateSnapshot", "hang"),
        ("NodePublishVolume", "not just now"),
        ("CreateVolume", "hang"),
        ("DeleteVolume", "hang"),
        ("NodePublishVolume", "hang"),
        ("CreateVolume", "not just now"),
        ("CreateSnapshot", "not just now"),
        ("DeleteVolume", "not just now"),
    ];
    for (call, text) in some(&calls, 2) {
        let fault = fault(call, text);
        let over = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(12));
            drop(fault);
        });
        hurt("", || {});
        over.join().unwrap();
    }
}

/// What the driver does not delete goes once it can.
#[test]
fn a_snapshot_that_cannot_be_deleted_keeps_nothing_else() {
    let _cluster = alone();
    let machine = Machine::with("prebuild one { from dev-base; run \"echo KEY > f\"; }");
    machine.good("build", &[]);
    let fault = fault("DeleteSnapshot", "not just now");
    machine.good("build", &["--force", "one"]);
    assert_eq!(litter(&machine.key("one")), [""; 0]);
    assert_eq!(machine.good("up", &["--", "cat", "f"]).lines().count(), 1);
    drop(fault);
    wait("one snapshot", Duration::from_mins(2), || {
        published(&machine.key("one")).len() == 1
    });
}

/// A pod that is evicted is no failure of its step.
#[test]
fn an_eviction_is_tried_again() {
    let _cluster = alone();
    let output = hurt("tick 2", || {
        let pods = kubectl(&["get", "pods", "-l", "atelier.dev/role=bake", "-o", "name"]);
        let name = pods.trim().trim_start_matches("pod/");
        let eviction = format!(
            r#"{{"apiVersion":"policy/v1","kind":"Eviction","metadata":{{"name":"{name}","namespace":"atelier"}}}}"#
        );
        let file = run_folder().join("eviction.json");
        std::fs::write(&file, eviction).unwrap();
        let path = format!("/api/v1/namespaces/atelier/pods/{name}/eviction");
        kubectl(&["create", "--raw", &path, "-f", file.to_str().unwrap()]);
    });
    assert!(output.contains("try 2 of 3"), "{output}");
}

#[test]
fn a_quota_is_full_and_not_denied() {
    let _cluster = alone();
    let machine = Machine::with("prebuild one { from dev-base; run \"echo KEY > f\"; }");
    apply(
        "{apiVersion: v1, kind: ResourceQuota, metadata: {name: none}, spec: {hard: {count/volumesnapshots.snapshot.storage.k8s.io: '0'}}}",
    );
    let quota = ["get", "quota", "none", "-o", "jsonpath={.status.hard}"];
    wait("the quota", Duration::from_secs(20), || {
        !kubectl(&quota).is_empty()
    });
    let failed = machine.run("build", &[]);
    kubectl(&["delete", "quota", "none"]);
    assert_eq!(failed.code, Some(6), "{}", failed.err);
    assert!(
        failed.err.contains("A0703") && failed.err.contains("quota"),
        "{}",
        failed.err
    );
    assert_eq!(litter(&machine.key("one")), [""; 0]);
    machine.good("build", &[]);
}

/// The steps go on without the API server, and no line is missing or repeated.
#[test]
fn an_api_server_that_dies_costs_no_line() {
    let _cluster = alone();
    let machine = Machine::with(
        "prebuild one { from dev-base; run \"echo KEY; i=0; while [ $i -lt 80 ]; do i=$((i+1)); echo line $i; sleep 0.1; done; echo end > f\"; }",
    );
    let build = machine.start(&[]);
    build.until("line 10");
    kill("kube-apiserver");
    build.until("line 50");
    kill("kube-apiserver");
    let (code, output) = build.end();
    assert_eq!(code, Some(0), "{output}");
    let number = |line: &str| line.rsplit_once("line ")?.1.parse::<u32>().ok();
    let lines: Vec<u32> = output.lines().filter_map(number).collect();
    assert_eq!(lines, (1..=80).collect::<Vec<u32>>());
    assert_eq!(litter(&machine.key("one")), [""; 0]);
}

/// Fails and hangs of the driver: the bake fails, leaves nothing, and the next one works.
#[test]
fn a_driver_that_fails_leaves_nothing_behind() {
    let _cluster = alone();
    let machine = Machine::with("prebuild one { from dev-base; run \"echo KEY > f\"; }");
    let fault = fault("CreateSnapshot", "no snapshot today");
    let failed = machine.run("build", &[]);
    drop(fault);
    assert_eq!(failed.code, Some(6), "{}", failed.err);
    assert!(failed.err.contains("no snapshot today"), "{}", failed.err);
    wait("nothing to be left", Duration::from_secs(90), || {
        litter(&machine.key("one")).is_empty()
    });
    machine.good("build", &[]);
}
