//! The pods of a bake: made, followed, and what their ends mean.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};

use super::outcome::{failed, odd};
use super::{Bake, Made, Parent, SLACK, content_of};
use crate::backend::kubernetes::drive::{Drive, Ran};
use crate::backend::kubernetes::names::Role;
use crate::backend::kubernetes::objects::{Attempt, Content};
use crate::backend::kubernetes::pod::{Container, out_of_memory};
use crate::backend::kubernetes::snapshot::{self, Cut};
use crate::backend::kubernetes::{image_of, requests};
use crate::backend::local::log::Log;
use crate::backend::{BackendError, BakeError, Class, Durations};
use crate::runner::protocol::{Failure, Outcome};

impl Bake<'_> {
    /// Makes the claim and the pod, and sees the pod to its end.
    pub(super) async fn make(
        &self,
        attempt: &Attempt<'_>,
        parent: Option<&Parent>,
        log: &mut Log,
    ) -> Result<Made, BakeError> {
        let began = Instant::now();
        let nonce = attempt.nonce;
        let image = image_of(&self.request.image)?;
        let kubernetes = self.kubernetes;
        let (variables, checkout) = tokio::join!(
            Box::pin(kubernetes.variables(&self.request.image)),
            Box::pin(requests::check_out(
                &kubernetes.git,
                self.request,
                nonce,
                &kubernetes.hosts,
            )),
        );
        let (variables, checkout) = (variables?, checkout?);
        let content = match parent {
            Some(parent) if !parent.is_copied => content_of(&parent.snapshot),
            _ => Content::Empty,
        };
        let caches: Vec<String> = self.request.caches.iter().map(|c| c.path.clone()).collect();
        let limit = self.request.resources.timeout;
        let seconds = (limit + SLACK).as_secs();
        let pod = attempt.bake(self.runner, &image, &caches, seconds)?;
        if let (Some(claim), Some(parent)) = (&attempt.copied, parent) {
            log.notice("its chain of snapshots is as long as it may be: the parent is copied");
            let claim = attempt.claim_of(claim, &content_of(&parent.snapshot))?;
            self.create_claim(&claim).await?;
        }
        self.create(&attempt.claim(&content)?, &pod).await?;
        let cluster = kubernetes.cluster().await?;
        let mut drive = Drive::of(cluster, &attempt.name);
        let ran = drive.run(Container::Checkout, nonce, &checkout, log).await;
        let outcome = self.outcome(Container::Checkout, ran, parent, log).await?;
        let Outcome::CheckedOut(checked_out) = outcome else {
            return Err(odd(&outcome));
        };
        // Not what the cluster took to begin with it.
        let left = Duration::try_from_secs_f64(checked_out.seconds).unwrap_or_default();
        let left = limit.saturating_sub(left);
        let checked_out = began.elapsed();
        let steps = requests::steps(self.request, nonce, &variables, left)?;
        let ran = drive.run(Container::Steps, nonce, &steps, log).await;
        let outcome = self.outcome(Container::Steps, ran, None, log).await?;
        let Outcome::Baked(baked) = outcome else {
            return Err(odd(&outcome));
        };
        let mut verified = vec!["commits".to_owned()];
        verified.extend(baked.verified);
        Ok(Made {
            manifest: baked.manifest,
            bytes: baked.bytes,
            durations: Durations {
                checkout: checked_out.as_secs_f64(),
                steps: baked.steps_seconds,
                publish: 0.0,
            },
            verified,
            node: drive.node(),
        })
    }

    async fn create_claim(&self, claim: &PersistentVolumeClaim) -> Result<(), BackendError> {
        self.lock.confirm().await?;
        let cluster = self.kubernetes.cluster().await?;
        let made = Box::pin(cluster.create(claim)).await;
        made.map_err(|trouble| trouble.into_error("create the claim"))?;
        Ok(())
    }

    async fn create(&self, claim: &PersistentVolumeClaim, pod: &Pod) -> Result<(), BackendError> {
        // In this order: a scheduler that does not find the claim lets the pod wait.
        self.create_claim(claim).await?;
        let cluster = self.kubernetes.cluster().await?;
        let pod = Box::pin(cluster.create(pod)).await;
        pod.map_err(|trouble| trouble.into_error("create the pod"))?;
        Ok(())
    }

    /// What a run means for the bake.
    async fn outcome(
        &self,
        container: Container,
        ran: Result<Ran, BackendError>,
        parent: Option<&Parent>,
        log: &Log,
    ) -> Result<Outcome, BakeError> {
        let path = log.path().to_owned();
        let ran = match ran {
            Ok(ran) => ran,
            // What was thought to be there is not.
            Err(error) if error.class == Class::Lost => {
                if let Some(parent) = parent {
                    let cluster = self.kubernetes.cluster().await?;
                    snapshot::disown(cluster, &parent.snapshot, &error.message).await?;
                }
                return Err(error.into());
            }
            Err(error) => return Err(error.into()),
        };
        match ran {
            Ran::OutOfMemory { .. } if container != Container::Steps => Err(too_small(container)),
            Ran::TooLong if container == Container::Verify => {
                let message = "the snapshot could not be compared with its manifest in time";
                Err(BackendError::new(Class::Transient, message).into())
            }
            Ran::Outcome(Outcome::Failed(Failure::Timeout { .. })) | Ran::TooLong => {
                Err(BakeError::Timeout {
                    limit: self.request.resources.timeout,
                    log: path,
                })
            }
            Ran::Outcome(Outcome::Failed(failure)) => Err(failed(failure, path)),
            Ran::Outcome(outcome) => Ok(outcome),
            Ran::OutOfMemory { step } => {
                Err(out_of_memory(step, self.request.resources.memory, &path))
            }
        }
    }

    /// Restores what was cut, and compares it with its manifest.
    pub(super) async fn verify(
        &self,
        cut: &Cut,
        manifest: &str,
        node: Option<String>,
        log: &mut Log,
    ) -> Result<(), BakeError> {
        let mut attempt = self.attempt(Role::Verify, None);
        attempt.node = node.filter(|_| attempt.settings.node_local);
        let seconds = (self.request.resources.timeout + SLACK).as_secs();
        let claim = attempt.claim(&content_of(&cut.snapshot))?;
        self.create(&claim, &attempt.verify(self.runner, seconds)?)
            .await?;
        let cluster = self.kubernetes.cluster().await?;
        let mut drive = Drive::of(cluster, &attempt.name);
        let request = requests::verify(self.request, attempt.nonce, manifest)?;
        let ran = drive.run(Container::Verify, attempt.nonce, &request, log);
        let ran = ran.await.map_err(|mut error| {
            // It has just been cut: tried again, it may be whole.
            if error.class == Class::Lost {
                error.class = Class::Transient;
            }
            error
        });
        match self.outcome(Container::Verify, ran, None, log).await? {
            Outcome::Verified(_) => Ok(()),
            outcome => Err(odd(&outcome)),
        }
    }
}

/// No step has used up the memory, but what the runner did for one.
fn too_small(container: Container) -> BakeError {
    let (class, what) = match container {
        Container::Verify => (Class::Transient, "the comparison with the manifest"),
        Container::Checkout | Container::Steps | Container::Workspace => {
            (Class::Full, "the check-out")
        }
    };
    let message = format!("{what} has used up the memory of its pod");
    let error = BackendError::new(class, message);
    error
        .with_help("give it more with `resources memory=`")
        .into()
}
