//! A snapshot of nothing, there and back: what no permission and no class tells.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use atelier_lang::graph::Resources;

use crate::backend::kubernetes::{Kubernetes, bug};
use crate::backend::{
    Backend, BackendError, BakeError, BakeRequest, Cancel, Class, Environment, Step,
};
use crate::key;
use crate::node::{ImageDigest, Kind, ResolvedNode, ResolvedStep, Shell, Source, User};
use crate::nonce;
use crate::registry::Reference;
use crate::resolve::{ImageLocation, PinnedImage};

/// What the round trip may take.
const ROUND_TRIP: Duration = Duration::from_mins(5);

/// Bakes a node of the runner's own image, restores it, and removes it.
pub(super) async fn round_trip(kubernetes: &Kubernetes) -> Result<String, BackendError> {
    let request = trial(kubernetes.runner()?)?;
    let (events, _nobody) = crate::event::channel();
    let cancel = Cancel::new();
    let began = Instant::now();
    let mut bake = std::pin::pin!(kubernetes.bake(&request, &events, &cancel));
    let mut is_slow = false;
    let baked = tokio::select! {
        baked = &mut bake => baked,
        () = tokio::time::sleep(ROUND_TRIP) => {
            // It takes with it what it made.
            cancel.cancel();
            is_slow = true;
            bake.await
        }
    };
    let seconds = began.elapsed().as_secs_f64();
    // What failed first is what is to be told.
    let removed = kubernetes.remove(request.key).await;
    match baked {
        _ if is_slow => Err(too_slow()),
        Ok(_) => removed.map(|_| format!("made, restored and removed in {seconds:.1} s")),
        Err(BakeError::Backend(error)) => Err(error),
        Err(error) => Err(bug(&error)),
    }
}

fn too_slow() -> BackendError {
    let minutes = ROUND_TRIP.as_secs() / 60;
    let message = format!("a snapshot of nothing was not made and restored in {minutes} minutes");
    BackendError::new(Class::Transient, message)
        .with_help("look after the CSI driver and the snapshot controller: kubectl get events")
}

/// A node that nobody has baked before.
fn trial(runner: &str) -> Result<BakeRequest, BackendError> {
    let parsed = Reference::parse(runner);
    let digest = runner
        .rsplit_once('@')
        .and_then(|(_, digest)| digest.parse().ok());
    let (Some(reference), Some(digest)) = (parsed, digest) else {
        return Err(bug(&format!("{runner} is no reference by digest")));
    };
    let command = format!("echo {} >trial", nonce::name());
    let preimage = key::preimage(&node(digest, command.clone()));
    Ok(BakeRequest {
        key: key::key_of_preimage(&preimage),
        preimage,
        node: "doctor".to_owned(),
        image: PinnedImage {
            digest,
            location: ImageLocation::Registry(reference),
        },
        parent: None,
        checkouts: Vec::new(),
        files: Vec::new(),
        steps: vec![Step {
            user: User::Dev,
            folder: String::new(),
            shell: Shell::Sh,
            command,
            timeout: Duration::from_mins(1),
            retry: 0,
        }],
        environment: Environment::default(),
        caches: Vec::new(),
        resources: Resources {
            cpu: 1,
            memory: 256 << 20,
            disk: 1 << 30,
            timeout: ROUND_TRIP,
        },
        strict_outside: false,
        force: false,
    })
}

/// One step in an image.
fn node(digest: ImageDigest, command: String) -> ResolvedNode {
    ResolvedNode {
        kind: Kind::Prebuild,
        source: Source::Image {
            digest,
            platform: "linux/amd64".to_owned(),
        },
        repos: BTreeMap::new(),
        files: BTreeMap::new(),
        env: BTreeMap::new(),
        path: Vec::new(),
        steps: vec![ResolvedStep {
            user: User::Dev,
            folder: String::new(),
            shell: Shell::Sh,
            command,
        }],
        needs: BTreeMap::new(),
        provides: String::new(),
    }
}
