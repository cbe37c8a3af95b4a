//! Requests for a backend, without a file or a resolver.

use std::collections::BTreeMap;
use std::time::Duration;

use atelier::backend::{BakeRequest, Environment, Step};
use atelier::key;
use atelier::node::{ImageDigest, Kind, ResolvedNode, ResolvedStep, Shell, Source, User};
use atelier::resolve::{ImageLocation, PinnedImage};
use atelier_lang::graph::Resources;

/// A bake of `commands` on the machine's own system, or on `parent`. Its name is in its key.
pub(crate) fn request(name: &str, parent: Option<&BakeRequest>, commands: &[&str]) -> BakeRequest {
    let digest = ImageDigest([7; 32]);
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
        image: PinnedImage {
            digest,
            location: ImageLocation::Host {
                hidden: Vec::new(),
                extra: Vec::new(),
                path: Vec::new(),
            },
        },
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
