//! What the configuration says of a cluster.

use std::collections::BTreeMap;

/// Everything that is not said is as the cluster has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Of the kubeconfig; `None` is its current one, or the cluster that this runs in.
    pub context: Option<String>,
    /// `None` is the context's.
    pub namespace: Option<String>,
    pub storage_class: Option<String>,
    pub snapshot_class: Option<String>,
    /// Such as `kata`.
    pub runtime_class: Option<String>,
    pub node_selector: BTreeMap<String, String>,
    /// The runner's image, by digest.
    pub runner: Option<String>,
    /// Names of secrets in the namespace.
    pub pull_secrets: Vec<String>,
    /// Whether a snapshot is compared with its manifest, on a clone, before it is published.
    pub verify: bool,
    /// Snapshots of this driver can be restored on the node alone where they were made.
    pub node_local: bool,
    /// So many snapshots of a driver may stand on one another; what comes next begins with a copy. `None` is no limit.
    pub max_depth: Option<u32>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            context: None,
            namespace: None,
            storage_class: None,
            snapshot_class: None,
            runtime_class: None,
            node_selector: BTreeMap::new(),
            runner: None,
            pull_secrets: Vec::new(),
            verify: true,
            node_local: false,
            max_depth: None,
        }
    }
}
