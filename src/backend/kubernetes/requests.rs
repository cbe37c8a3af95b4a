//! What is sent to runners.

use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;

use secrecy::ExposeSecret;
use serde::Serialize;

use super::bug;
use crate::backend::local::{environment, gate};
use crate::backend::{BackendError, BakeError, BakeRequest, Class};
use crate::checkout;
use crate::git::{self, Git, GitError};
use crate::resolve::{PinError, RepoLocation};
use crate::runner::attachment;
use crate::runner::protocol::{
    Checkout, CheckoutRequest, Entry, Host, LARGEST_ATTACHMENTS, Login, Network, Secret, Shell,
    Step, StepsRequest, VerifyRequest,
};

/// The bytes of a check-out: what the pods cannot reach goes with it.
pub(super) async fn check_out(
    git: &Git,
    request: &BakeRequest,
    nonce: &str,
    hosts: &BTreeMap<String, git::Host>,
) -> Result<Vec<u8>, BakeError> {
    let mut attachments: Vec<Vec<u8>> = Vec::new();
    let mut checkouts = Vec::new();
    for one in &request.checkouts {
        let attachment = match &one.location {
            RepoLocation::Url(_) => None,
            RepoLocation::Disk(_) => {
                attachments.push(packed(git, one, request.resources.timeout).await?);
                Some(attachments.len() - 1)
            }
        };
        let total: usize = attachments.iter().map(Vec::len).sum();
        if total as u64 > LARGEST_ATTACHMENTS {
            return Err(too_large(one, total).into());
        }
        checkouts.push(described(one, attachment));
    }
    let text = encoded(&CheckoutRequest {
        nonce: nonce.to_owned(),
        checkouts,
        files: request.files.clone(),
        folders: request
            .caches
            .iter()
            .filter(|cache| !cache.path.starts_with('/'))
            .map(|cache| cache.path.clone())
            .collect(),
        network: network(hosts)?,
        limit: request.resources.timeout,
        attachments: attachments.len(),
    })?;
    Ok(attachments.into_iter().fold(text, |mut all, attachment| {
        all.extend((attachment.len() as u64).to_le_bytes());
        all.extend(attachment);
        all
    }))
}

fn described(one: &crate::backend::Checkout, attachment: Option<usize>) -> Checkout {
    let entry = |entry: &crate::node::TreeEntry| Entry {
        path: entry.path.clone(),
        mode: entry.mode.clone(),
        object: entry.object.as_ref().map(ToString::to_string),
    };
    let login = one.credential.as_ref().filter(|_| attachment.is_none());
    Checkout {
        path: one.path.clone(),
        url: one.url.clone(),
        reference: one.reference.clone(),
        commit: one.commit.to_string(),
        depth: one.depth,
        submodules: one.submodules,
        lfs: one.lfs,
        only: one
            .only
            .as_ref()
            .map(|entries| entries.iter().map(entry).collect()),
        taken: one.taken.iter().cloned().collect(),
        credential: login.map(|login| Login {
            user: login.user().map(str::to_owned),
            token: login.token().expose_secret().to_owned(),
        }),
        attachment,
    }
}

/// A repository on disk, fetched here as a pod would fetch it.
async fn packed(
    git: &Git,
    one: &crate::backend::Checkout,
    limit: Duration,
) -> Result<Vec<u8>, BakeError> {
    let failed = |error: std::io::Error| {
        let message = format!("cannot make {} ready to be sent: {error}", one.path);
        BackendError::new(Class::Transient, message)
    };
    let folder = Scratch::new().map_err(failed)?;
    let into = folder.0.join("fetched");
    let fetched = Box::pin(checkout::fetch(git, one, &into, limit)).await;
    fetched.map_err(|error| unfetched(one, &error))?;
    let packing = move || {
        let mut packed = Vec::new();
        attachment::pack(&folder.0.join("fetched"), &mut packed)?;
        Ok(packed)
    };
    let packed = tokio::task::spawn_blocking(packing).await;
    let packed = packed.map_err(|error| bug(&error))?;
    Ok(packed.map_err(failed)?)
}

fn unfetched(one: &crate::backend::Checkout, error: &GitError) -> BakeError {
    let (cause, help) = (error.problem.to_string(), error.help());
    let input = checkout::input(one);
    BakeError::Checkout(PinError { input, cause, help })
}

fn too_large(one: &crate::backend::Checkout, bytes: usize) -> BackendError {
    let message = format!(
        "{} is on this machine alone, and {} MiB are too much to send along",
        one.path,
        bytes >> 20
    );
    BackendError::new(Class::Denied, message)
        .with_help("push it, and name it by its address: repo \"https://…\"; or take less history with depth=1")
}

/// A folder of this process.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new() -> std::io::Result<Self> {
        let name = format!("atelier-{}", crate::nonce::name());
        let path = std::env::temp_dir().join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

pub(super) fn steps(
    request: &BakeRequest,
    nonce: &str,
    image: &BTreeMap<String, String>,
    left: Duration,
) -> Result<Vec<u8>, BackendError> {
    let variables = environment::variables(
        image,
        &environment::proxies(),
        &request.environment,
        &environment::of_steps(),
    );
    let step = |step: &crate::backend::Step| Step {
        folder: step.folder.clone(),
        shell: match step.shell {
            atelier_lang::graph::Shell::Bash => Shell::Bash,
            atelier_lang::graph::Shell::Sh => Shell::Sh,
        },
        command: step.command.clone(),
        timeout: step.timeout,
        retry: step.retry,
    };
    let secrets = gate::secrets(request).into_iter();
    let secrets = secrets.map(|(name, value)| Secret {
        name,
        value: value.expose_secret().to_owned(),
    });
    encoded(&StepsRequest {
        nonce: nonce.to_owned(),
        steps: request.steps.iter().map(step).collect(),
        variables,
        secrets: secrets.collect(),
        checkouts: paths(request),
        limit: left,
    })
}

pub(super) fn verify(
    request: &BakeRequest,
    nonce: &str,
    manifest: &str,
) -> Result<Vec<u8>, BackendError> {
    encoded(&VerifyRequest {
        nonce: nonce.to_owned(),
        manifest: manifest.to_owned(),
        checkouts: paths(request),
        limit: request.resources.timeout,
    })
}

fn paths(request: &BakeRequest) -> Vec<String> {
    let checkouts = request.checkouts.iter();
    let whole = checkouts.filter(|checkout| checkout.only.is_none());
    whole.map(|checkout| checkout.path.clone()).collect()
}

fn encoded(request: &impl Serialize) -> Result<Vec<u8>, BackendError> {
    let text = serde_json::to_vec(request).map_err(|error| bug(&error))?;
    let length = u32::try_from(text.len()).map_err(|error| bug(&error))?;
    Ok([&length.to_le_bytes()[..], &text].concat())
}

/// How pods reach servers of repositories: as this client does.
fn network(hosts: &BTreeMap<String, git::Host>) -> Result<Network, BackendError> {
    let host = |(name, host): (&String, &git::Host)| {
        let host = Host {
            user: host.user.clone(),
            certificates: host.ca.as_deref().map(certificates).transpose()?,
        };
        Ok((name.clone(), host))
    };
    // What git here trusts for every other one.
    let everywhere = ["GIT_SSL_CAINFO", "SSL_CERT_FILE"]
        .iter()
        .find_map(std::env::var_os);
    Ok(Network {
        variables: environment::proxies(),
        hosts: hosts
            .iter()
            .map(host)
            .collect::<Result<_, BackendError>>()?,
        certificates: everywhere
            .map(|path| certificates(Path::new(&path)))
            .transpose()?,
    })
}

fn certificates(path: &Path) -> Result<String, BackendError> {
    std::fs::read_to_string(path).map_err(|error| {
        let path = path.display();
        let message = format!("cannot read the certificates in {path}: {error}");
        BackendError::new(Class::Denied, message)
            .with_help("see `git … ca=` in the configuration, and GIT_SSL_CAINFO")
    })
}
