//! Values of secrets are where they are needed and nowhere else.

use std::process::Command;

use crate::cluster::{Machine, kubectl, litter, published, run_folder, whole};

/// Neither in an object, nor in etcd's files, in a log, in the kubelet's folder or in what is left of the volumes.
#[test]
fn a_canary_is_found_nowhere() {
    let _cluster = whole();
    let machine = Machine::with(
        "prebuild one { from dev-base; secret CANARY; run \"echo KEY; test ${#CANARY} = 40; echo it is $CANARY; sleep 8\"; }",
    );
    let canary = format!("canary{}", &machine.key("one")[..34]);
    let build = machine.start_with(&["--secret", "CANARY=env:VALUE"], &[("VALUE", &canary)]);
    build.until("it is ***");
    // While the pod and its logs are there.
    nowhere(&machine, &canary);
    let (code, told) = build.end();
    assert_eq!(code, Some(0), "{told}");
    assert!(!told.contains(&canary), "{told}");
    let up = machine
        .command(
            "up",
            &[
                "--secret",
                "CANARY=env:VALUE",
                "--",
                "sh",
                "-c",
                "echo ${#CANARY}",
            ],
        )
        .env("VALUE", &canary)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&up.stdout), "40\n");
    nowhere(&machine, &canary);
}

/// behaviours 1.9
#[test]
fn a_secret_in_the_workspace_is_not_published() {
    let _cluster = whole();
    let machine = Machine::with(
        "prebuild one { from dev-base; secret CANARY; run \"echo KEY; mkdir d; echo in $CANARY here > d/f\"; }",
    );
    let canary = format!("canary{}", &machine.key("one")[..34]);
    let build = machine.start_with(&["--secret", "CANARY=env:VALUE"], &[("VALUE", &canary)]);
    let (code, told) = build.end();
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("A0710") && told.contains("d/f"), "{told}");
    assert_eq!(published(&machine.key("one")), [""; 0]);
    assert_eq!(litter(&machine.key("one")), [""; 0]);
}

/// Neither in an object nor in a file of the cluster or of the client.
fn nowhere(machine: &Machine, canary: &str) {
    let kinds = "pods,persistentvolumeclaims,leases,configmaps,secrets,events,volumesnapshots";
    assert!(!kubectl(&["get", kinds, "-o", "yaml"]).contains(canary));
    let places = [
        run_folder().join("etcd"),
        run_folder().join("kubelet"),
        run_folder().join("volumes"),
        run_folder().join("containerd"),
        "/var/log/pods".into(),
        machine.path().to_owned(),
    ];
    for place in places {
        assert!(place.exists(), "{}", place.display());
        let found = Command::new("grep")
            .args(["-rl", "--binary-files=text", canary])
            .arg(&place)
            .output();
        let found = found.unwrap();
        assert!(
            found.stdout.is_empty(),
            "{}",
            String::from_utf8_lossy(&found.stdout)
        );
    }
}
