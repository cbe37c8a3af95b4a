//! What a workspace has to pass before it is published.

use secrecy::{ExposeSecret, SecretString};

use super::checkout;
use super::log::Log;
use super::session::Session;
use super::store::{LAYER, Scratch, Store};
use super::work::{self, Job};
use crate::backend::{BakeError, BakeRequest};

/// So many names are shown, and the rest is counted.
const SHOWN: usize = 5;

/// While the sandbox is there: no process of a step, nothing outside if that matters, whole repositories. Returns what was
/// checked.
pub(super) async fn pass(
    session: &mut Session,
    request: &BakeRequest,
    log: &mut Log,
) -> Result<Vec<String>, BakeError> {
    let mut verified = vec!["commits".to_owned(), "processes ended".to_owned()];
    verified.extend(outside(session, request, log).await?);
    for (index, checkout) in request.checkouts.iter().enumerate() {
        checkout::verify(session, index, checkout, log).await?;
    }
    verified.extend((!request.checkouts.is_empty()).then(|| "git fsck".to_owned()));
    Ok(verified)
}

/// What was checked of the world outside of the workspace: nothing where it is not known.
async fn outside(
    session: &mut Session,
    request: &BakeRequest,
    log: &mut Log,
) -> Result<Option<String>, BakeError> {
    let Some(outside) = session.outside().await? else {
        return Ok(None);
    };
    match outside.count {
        0 => return Ok(Some("nothing outside".to_owned())),
        count if request.strict_outside => {
            let names = outside.names;
            return Err(BakeError::Outside { count, names });
        }
        count => log.notice(&format!(
            "written outside of the workspace, and not kept: {}",
            shown(&outside.names, count)
        )),
    }
    Ok(None)
}

/// What is published of a workspace, beside its files.
pub(super) struct Passed {
    /// The digest of its manifest.
    pub manifest: String,
    /// What it uses of the disk.
    pub bytes: u64,
    /// Whether it was searched for secrets.
    pub searched: bool,
}

/// When nothing can write to the workspace any more: its manifest is made, and no secret is in it, nor in what the bake,
/// which began at `since`, has left in caches.
pub(super) async fn describe(
    store: &Store,
    scratch: &Scratch,
    request: &BakeRequest,
    since: jiff::Timestamp,
    log: &mut Log,
) -> Result<Passed, BakeError> {
    let (names, values): (Vec<String>, Vec<&SecretString>) = secrets(request).into_iter().unzip();
    // Without a secret there is nothing to look for.
    let caches = request.caches.iter().filter(|_| !names.is_empty());
    let job = Job::Describe {
        layer: scratch.path(LAYER),
        caches: caches
            .map(|cache| store.root().join(store.cache(&cache.name)))
            .collect(),
        // The clock of files may be a little behind.
        since: since.as_second() - 1,
        secrets: values
            .iter()
            .map(|value| value.expose_secret().to_owned())
            .collect(),
    };
    let described: work::Described = work::have_done(store.way(), job).await?;
    for &index in &described.too_short {
        let name = &names[index];
        log.notice(&format!(
            "{name} is too short to be searched for in the workspace"
        ));
    }
    if described.found.is_empty() {
        return Ok(Passed {
            manifest: described.manifest,
            bytes: described.bytes,
            searched: names.len() > described.too_short.len(),
        });
    }
    let mut found: Vec<String> = described
        .found
        .iter()
        .map(|(secret, _)| names[*secret].clone())
        .collect();
    found.sort();
    found.dedup();
    let paths = described.found.into_iter().take(SHOWN);
    Err(BakeError::SecretInside {
        names: found,
        paths: paths.map(|(_, path)| path).collect(),
    })
}

/// The secrets in use, each with what people call it.
fn secrets(request: &BakeRequest) -> Vec<(String, &SecretString)> {
    let of_steps = request.environment.secrets.iter();
    let of_steps = of_steps.map(|(name, value)| (format!("secret {name}"), value));
    let of_repositories = request.checkouts.iter().filter_map(|checkout| {
        let token = checkout.credential.as_ref()?.token();
        Some((format!("the login of {}", checkout.url), token))
    });
    of_steps.chain(of_repositories).collect()
}

fn shown(names: &[String], count: usize) -> String {
    let shown = names
        .iter()
        .take(SHOWN)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    match count.saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown}, and {more} more"),
    }
}
