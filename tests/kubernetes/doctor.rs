//! `doctor` on a real cluster: whole, and with one thing less each time.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cluster::{Machine, Said, kubectl, wait, whole};

/// What the doctor says with a configuration that is the cluster's own but for one line.
fn examined(change: impl FnOnce(String) -> String) -> (Option<i32>, Value) {
    let machine = Machine::with("");
    let config = machine.configure(change);
    report(&machine, &config)
}

fn report(machine: &Machine, config: &Path) -> (Option<i32>, Value) {
    let output = machine
        .command("doctor", &["--json"])
        .env("XDG_CONFIG_HOME", config)
        .output();
    let said = Said::from(output.unwrap());
    let report = serde_json::from_str(&said.out);
    (said.code, report.unwrap_or_else(|_| panic!("{}", said.err)))
}

fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == name);
    found.unwrap_or_else(|| panic!("nothing of {name}: {report:#}"))
}

/// One line of the configuration in place of another.
fn instead<'a>(of: &'a str, line: &'a str) -> impl FnOnce(String) -> String + 'a {
    move |text| {
        assert!(text.contains(of), "{text}");
        text.replace(of, line)
    }
}

#[test]
fn a_whole_cluster_is_good_and_nothing_is_left_of_the_trial() {
    let _cluster = whole();
    let (code, report) = examined(|text| text);
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!(report["works"], true);
    for name in ["cluster", "permissions", "runner", "classes", "a bake"] {
        assert_eq!(check(&report, name)["finding"], "good", "{report:#}");
    }
    let detail = check(&report, "a bake")["detail"].as_str().unwrap();
    assert!(detail.contains("restored and removed"), "{detail}");
    wait("nothing to be left", Duration::from_secs(30), || {
        let all = ["get", "volumesnapshots", "-o"];
        let records = r"jsonpath={.items[*].metadata.annotations.atelier\.dev/record}";
        !kubectl(&[&all[..], &[records]].concat()).contains("\"doctor\"")
    });
}

#[test]
fn what_is_missing_is_named_before_anything_is_baked() {
    let _cluster = whole();
    for (of, line, name, told) in [
        (
            "snapshot-class btrfs",
            "snapshot-class none",
            "classes",
            "no snapshot class none",
        ),
        (
            "storage-class btrfs",
            "storage-class none",
            "classes",
            "no such storage class",
        ),
        (
            "runner ",
            "/-runner ",
            "runner",
            "where the runner's image is",
        ),
    ] {
        let (code, report) = examined(instead(of, line));
        assert_eq!(code, Some(6), "{line}: {report:#}");
        assert_eq!(report["works"], false);
        let check = check(&report, name);
        assert_eq!(check["finding"], "missing", "{line}: {report:#}");
        let detail = check["detail"].as_str().unwrap();
        assert!(detail.contains(told), "{line}: {detail}");
        assert!(check["help"].is_string(), "{line}: {report:#}");
        let checks = report["checks"].as_array().unwrap();
        assert!(checks.iter().all(|check| check["name"] != "a bake"));
    }
}

/// Only the trial finds it: lists of a namespace that is not there are empty.
#[test]
fn a_namespace_that_is_not_there_is_told_with_the_way_to_make_it() {
    let _cluster = whole();
    let (code, report) = examined(instead("namespace atelier", "namespace nowhere"));
    assert_eq!(code, Some(6), "{report:#}");
    let bake = check(&report, "a bake");
    assert_eq!(bake["finding"], "missing");
    let detail = bake["detail"].as_str().unwrap();
    assert!(detail.contains("nowhere"), "{detail}");
    let help = bake["help"].as_str().unwrap();
    assert!(help.contains("kubectl apply -k manifests"), "{help}");
}

/// behaviours 1.15: an answer, soon.
#[test]
fn a_cluster_that_is_not_there_is_told_soon() {
    let _cluster = whole();
    let machine = Machine::with("");
    let config = machine.configure(|text| text);
    let kubeconfig = machine.path().join("kubeconfig");
    let text = "apiVersion: v1\nkind: Config\nclusters: [{name: t, cluster: {server: \"http://127.0.0.1:9\"}}]\nusers: [{name: t, user: {}}]\ncontexts: [{name: t, context: {cluster: t, user: t}}]\ncurrent-context: t\n";
    std::fs::write(&kubeconfig, text).unwrap();
    let began = Instant::now();
    let output = machine
        .command("doctor", &["--json"])
        .env("XDG_CONFIG_HOME", &config)
        .env("KUBECONFIG", &kubeconfig)
        .output();
    let said = Said::from(output.unwrap());
    assert_eq!(said.code, Some(6), "{}", said.err);
    let report: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(report["checks"].as_array().unwrap().len(), 1, "{report:#}");
    let cluster = check(&report, "cluster");
    assert_eq!(cluster["finding"], "missing");
    assert!(cluster["help"].is_string(), "{report:#}");
    assert!(began.elapsed() < Duration::from_secs(20));
}
