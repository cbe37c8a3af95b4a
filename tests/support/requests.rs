//! Requests for a backend, without a file or a resolver.

use std::collections::BTreeMap;
use std::time::Duration;

use atelier::backend::{BakeRequest, Environment, Step};
use atelier::key;
use atelier::node::{ImageDigest, Kind, ResolvedNode, ResolvedStep, Shell, Source, User};
use atelier::registry::Reference;
use atelier::resolve::{ImageLocation, PinnedImage};
use atelier_lang::graph::Resources;

/// A bake of `commands` on the machine's own system, or on `parent`. Its name is in its key.
pub(crate) fn request(name: &str, parent: Option<&BakeRequest>, commands: &[&str]) -> BakeRequest {
    let image = image();
    let digest = image.digest;
    let source = match parent {
        Some(parent) => Source::Parent(parent.key),
        None => Source::Image {
            digest,
            platform: "linux/amd64".to_owned(),
        },
    };
    let env = BTreeMap::from([("NODE".to_owned(), name.to_owned())]);
    let resolved = ResolvedNode {
        kind: Kind::Prebuild,
        source,
        repos: BTreeMap::new(),
        files: BTreeMap::new(),
        env: env.clone(),
        path: Vec::new(),
        steps: commands
            .iter()
            .map(|command| resolved_step(command))
            .collect(),
        needs: BTreeMap::new(),
        provides: String::new(),
    };
    let preimage = key::preimage(&resolved);
    BakeRequest {
        key: key::key_of_preimage(&preimage),
        preimage,
        node: name.to_owned(),
        image,
        parent: parent.map(|parent| parent.key),
        checkouts: Vec::new(),
        files: Vec::new(),
        steps: commands.iter().map(|command| step(command)).collect(),
        environment: Environment {
            variables: env,
            ..Environment::default()
        },
        caches: Vec::new(),
        resources: Resources {
            cpu: 2,
            memory: 1 << 30,
            disk: 1 << 30,
            timeout: Duration::from_mins(1),
        },
        strict_outside: false,
        force: false,
    }
}

/// The machine's own system; in a cluster, the base image that its registry has.
fn image() -> PinnedImage {
    if std::env::var_os("ATELIER_LAWS_CLUSTER").is_none() {
        return PinnedImage {
            digest: ImageDigest([7; 32]),
            location: ImageLocation::Host {
                hidden: Vec::new(),
                extra: Vec::new(),
                path: Vec::new(),
            },
        };
    }
    let run = std::path::PathBuf::from(std::env::var_os("RUN").expect("tests/cluster/enter"));
    let pushed = std::fs::read_to_string(run.join("log/images")).unwrap();
    let mut lines = pushed.lines();
    let line = lines.find(|line| line.contains("/dev-base@")).unwrap();
    let (_, digest) = line.split_once('@').unwrap();
    PinnedImage {
        digest: digest.parse().unwrap(),
        location: ImageLocation::Registry(Reference::parse(line).unwrap()),
    }
}

fn resolved_step(command: &str) -> ResolvedStep {
    let folder = String::new();
    ResolvedStep {
        user: User::Dev,
        folder,
        shell: Shell::Bash,
        command: command.to_owned(),
    }
}

fn step(command: &str) -> Step {
    Step {
        user: User::Dev,
        folder: String::new(),
        shell: Shell::Bash,
        command: command.to_owned(),
        timeout: Duration::from_secs(30),
        retry: 0,
    }
}
