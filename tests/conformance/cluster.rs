//! A real cluster as the backend under test: `tests/cluster/up`, then
//! `ATELIER_LAWS_CLUSTER=1 tests/cluster/enter cargo test --test conformance`. Every house is a namespace.

use std::path::PathBuf;
use std::process::Command;

use atelier::backend::kubernetes::{Kubernetes, Settings};
use atelier::backend::{Backend, Cancel, SandboxId};
use atelier::node::ContentKey;
use atelier::registry::Registries;
use tempfile::TempDir;

use crate::house::{Caller, House};
use crate::processes::wait_until;
use crate::requests::request;

/// The variable that makes the laws run in a cluster, and there alone.
pub(crate) const CLUSTER: &str = "ATELIER_LAWS_CLUSTER";

pub(crate) struct InCluster {
    namespace: String,
    _folder: TempDir,
    one: Kubernetes,
    other: Kubernetes,
}

/// The folder of the cluster that `tests/cluster/enter` has entered.
fn run() -> PathBuf {
    std::env::var_os("RUN").expect("tests/cluster/enter").into()
}

fn kubectl(arguments: &[&str]) -> String {
    let output = Command::new("kubectl").args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "kubectl {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// The reference, by digest, of an image that the cluster's registry has.
pub(crate) fn image(name: &str) -> String {
    let pushed = std::fs::read_to_string(run().join("log/images")).unwrap();
    let mark = format!("/{name}@");
    let line = pushed.lines().find(|line| line.contains(&mark));
    line.expect("an image of the cluster").to_owned()
}

impl InCluster {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let word = folder.path().file_name().unwrap().to_str().unwrap();
        let word: String = word
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        let namespace = format!("law-{word}");
        kubectl(&["create", "namespace", &namespace]);
        kubectl(&[
            "label",
            "namespace",
            &namespace,
            "pod-security.kubernetes.io/enforce=restricted",
        ]);
        let open = || {
            let settings = Settings {
                namespace: Some(namespace.clone()),
                runner: Some(image("atelier-runner")),
                ..Settings::default()
            };
            let registries = Registries::new(folder.path(), [].into(), []);
            Kubernetes::open(folder.path(), settings, registries, [].into()).unwrap()
        };
        let (one, other) = (open(), open());
        Self {
            namespace,
            _folder: folder,
            one,
            other,
        }
    }

    fn get(&self, arguments: &[&str]) -> String {
        kubectl(&[&["-n", &self.namespace, "get"], arguments].concat())
    }
}

impl Drop for InCluster {
    fn drop(&mut self) {
        let deleted = Command::new("kubectl")
            .args(["delete", "namespace", "--wait=false", &self.namespace])
            .output();
        drop(deleted);
    }
}

impl House for InCluster {
    type Backend = Kubernetes;

    fn pause(&self) -> f64 {
        2.0
    }

    fn backend(&self) -> &Kubernetes {
        &self.one
    }

    fn other(&self) -> &Kubernetes {
        &self.other
    }

    /// In the way that can be seen before anything is restored: what stands for the data is gone.
    fn lose(&self, key: ContentKey) {
        let name = key.snapshot_name();
        let path = "jsonpath={.status.boundVolumeSnapshotContentName}";
        let content = self.get(&["volumesnapshot", &name, "-o", path]);
        let unprotected = r#"{"metadata":{"finalizers":null}}"#;
        kubectl(&["delete", "--wait=false", "volumesnapshotcontent", &content]);
        kubectl(&[
            "patch",
            "volumesnapshotcontent",
            &content,
            "--type=merge",
            "-p",
            unprotected,
        ]);
        let path = "jsonpath={.status.error.message}";
        wait_until("the snapshot to be told as lost", || {
            !self.get(&["volumesnapshot", &name, "-o", path]).is_empty()
        });
    }

    async fn crash(&self) {
        let request = request("crash", None, &["echo started && sleep 60"]);
        let mut caller = Caller::new();
        let cancel = Cancel::new();
        let bake = self.one.bake(&request, &caller.sink, &cancel);
        tokio::select! {
            _ = bake => panic!("it ended"),
            () = caller.events.until("started") => {}
        }
        // As if it had been ten minutes ago.
        let then = "1970-01-01T00:00:00.000000Z";
        let patch = format!("{{\"spec\":{{\"renewTime\":\"{then}\"}}}}");
        let lease = self.get(&["lease", "-o", "name"]);
        let lease = lease.trim();
        kubectl(&[
            "-n",
            &self.namespace,
            "patch",
            lease,
            "--type=merge",
            "-p",
            &patch,
        ]);
    }

    fn end(&self, sandbox: &SandboxId) {
        let name = &blake3::hash(sandbox.0.as_bytes()).to_hex()[..16];
        let pod = format!("pod/sb-{name}");
        kubectl(&["-n", &self.namespace, "delete", "--now", &pod]);
    }

    fn litter(&self) -> Vec<String> {
        let kinds = "pods,persistentvolumeclaims,leases,configmaps,secrets";
        let ours = "app.kubernetes.io/managed-by=atelier,atelier.dev/role!=sandbox";
        let mut found = self.get(&[kinds, "-l", ours, "-o", "name"]);
        let ours = "app.kubernetes.io/managed-by=atelier,!atelier.dev/key";
        found += &self.get(&["volumesnapshots", "-l", ours, "-o", "name"]);
        found.lines().map(str::to_owned).collect()
    }
}
