//! What only real files and processes can show.

use atelier::backend::{Backend, Ending};

use crate::house::{House, OnDisk, boot, content, publish, sh};
use crate::processes::{is_running, marker};
use crate::requests::request;

/// Everything that a file can be, but for what only root could make.
const MAKE: &str = r"
umask 000
mkdir folder; chmod 3750 folder
echo text > file; chmod 640 file; touch -d '2001-02-03 04:05:06.123456789' file
printf '#!/bin/sh\n' > script; chmod 755 script
ln file hard; ln -s file soft; ln -s nowhere broken; ln -s /etc/passwd absolute
truncate -s 8M sparse; printf end >> sparse
mkfifo pipe; touch 'odd
name' ' ' ./-n
mkdir -p deep/er; touch -d '1999-12-31 23:59:59' deep
if command -v setfattr; then setfattr -n user.note -v kept file; fi
";

/// Names, kinds, modes, owners, links, sizes, times and disk use of all that [`MAKE`] makes.
const LIST: &str = r"find . -mindepth 1 ! -name list -printf '%p %y %m %U:%G %n %s %T@ %l\n' | sort; stat -c '%b blocks' sparse; if command -v getfattr; then getfattr -d file; fi";

/// behaviours 1.20
pub(crate) async fn a_snapshot_restores_exactly(house: &OnDisk) {
    let backend = house.backend();
    let parent = request("a", None, &[MAKE, &format!("({LIST}) > list")]);
    let child = request("b", Some(&parent), &["touch more && rm more"]);
    publish(backend, &parent).await;
    publish(backend, &child).await;
    let expected = content(backend, &parent, "list").await;
    assert!(
        expected
            .iter()
            .any(|line| line.starts_with("./folder d 3750 1000:1000")),
        "{expected:#?}"
    );
    for request in [&parent, &child] {
        let sandbox = boot(backend, request).await;
        let (ending, found) = sh(backend, &sandbox, LIST).await;
        assert_eq!((ending, &found), (Ending::Exited(0), &expected));
        backend.destroy(&sandbox).await.unwrap();
    }
}

/// behaviours 1.1
pub(crate) async fn what_a_step_leaves_running_is_ended(house: &OnDisk) {
    let backend = house.backend();
    let marker = marker();
    let writer = format!(
        "setsid sh -c 'while :; do echo line >> log; sleep 0.01; done' writer-{marker} & until [ -s log ]; do sleep 0.01; done"
    );
    let forks = format!("(trap '' TERM HUP; sleep {marker}) & disown");
    let request = request("a", None, &[&writer, &forks, "true"]);
    publish(backend, &request).await;
    assert!(!is_running(&marker));
    let before = content(backend, &request, "log").await;
    assert!(before.iter().all(|line| line == "line"));
    assert_eq!(content(backend, &request, "log").await, before);
}

/// behaviours 1.25
pub(crate) async fn clones_are_distinct_machines(house: &OnDisk) {
    let backend = house.backend();
    let request = request("a", None, &["cat /etc/machine-id > baked"]);
    publish(backend, &request).await;
    let (one, two) = (boot(backend, &request).await, boot(backend, &request).await);
    let look = "cat /etc/machine-id; id -un; pwd";
    let (a, b) = (
        sh(backend, &one, look).await.1,
        sh(backend, &two, look).await.1,
    );
    assert_eq!(a[1..], ["dev", "/home/dev"]);
    assert_ne!(a[0], b[0]);
    assert_ne!(content(backend, &request, "baked").await[0], a[0]);
    for sandbox in [one, two] {
        backend.destroy(&sandbox).await.unwrap();
    }
}
