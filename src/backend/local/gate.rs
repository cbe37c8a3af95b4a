//! What a workspace has to pass before it is published.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use super::log::Log;
use super::session::Session;
use super::store::{LAYER, Scratch, Store};
use super::work::{self, Job};
use super::{checkout, environment};
use crate::backend::{BackendError, BakeError, BakeRequest, Class};

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
    let mut whole = true;
    for checkout in &request.checkouts {
        // Of some files there is no repository.
        if checkout.only.is_none() {
            whole &= checkout::verify(session, checkout, log).await?;
        }
    }
    // Not if a step has removed one.
    let has_any = request.checkouts.iter().any(|one| one.only.is_none());
    verified.extend((has_any && whole).then(|| "git fsck".to_owned()));
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

/// How long the search of caches may take: they hold what many bakes have left, and one of them may still be at work. The
/// second one is for a caller who wants to go.
const SEARCH: Duration = Duration::from_mins(10);
const SHORT_SEARCH: Duration = Duration::from_mins(1);

/// When nothing of the bake, which began at `since`, is running any more, whatever has become of it: what it has left in
/// caches and holds a secret is removed. The secrets that were there, with the names of the caches.
pub(super) async fn cleanse(
    store: &Store,
    request: &BakeRequest,
    since: jiff::Timestamp,
    is_cancelled: bool,
) -> Result<Vec<(String, String)>, BackendError> {
    let (names, values) = exposed(secrets(request));
    // Without a secret there is nothing to look for.
    if names.is_empty() || request.caches.is_empty() {
        return Ok(Vec::new());
    }
    let caches = request.caches.iter();
    let job = Job::Cleanse {
        caches: caches
            .map(|cache| store.root().join(store.cache(&cache.name)))
            .filter(|cache| cache.exists())
            .collect(),
        secrets: values,
        // The clock of files may be a little behind.
        since: since.as_second() - 1,
    };
    let limit = if is_cancelled { SHORT_SEARCH } else { SEARCH };
    let work = work::have_done::<Vec<(usize, String)>>(store.way(), job);
    let found = match tokio::time::timeout(limit, work).await {
        Ok(found) => found,
        Err(_) => Err(BackendError::new(
            Class::Transient,
            "the search of the caches for secrets took too long",
        )),
    };
    let unsearched = |error: BackendError| {
        let names: Vec<&str> = request.caches.iter().map(|cache| &*cache.name).collect();
        let help = format!(
            "a secret may have stayed in what it has left in {}: delete that in {}",
            names.join(", "),
            store.root().join("caches").display()
        );
        error.with_help(help)
    };
    let found = found.map_err(unsearched)?;
    Ok(found
        .into_iter()
        .map(|(secret, cache)| (names[secret].clone(), format!("cache {cache}")))
        .collect())
}

/// The error for secrets that were found, each with where.
pub(super) fn inside(found: Vec<(String, String)>) -> BakeError {
    let (mut names, paths): (Vec<String>, Vec<String>) = found.into_iter().unzip();
    names.sort();
    names.dedup();
    let paths = paths.into_iter().take(SHOWN).collect();
    BakeError::SecretInside { names, paths }
}

/// When nothing can write to the workspace any more: its manifest is made, and no secret is in it.
pub(super) async fn describe(
    store: &Store,
    scratch: &Scratch,
    request: &BakeRequest,
    log: &mut Log,
) -> Result<Passed, BakeError> {
    let (names, values) = exposed(secrets(request));
    let job = Job::Describe {
        layer: scratch.path(LAYER),
        secrets: values,
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
    let found = described.found.into_iter();
    Err(inside(
        found
            .map(|(secret, path)| (names[secret].clone(), path))
            .collect(),
    ))
}

/// The secrets in use, each with what people call it.
pub(crate) fn secrets(request: &BakeRequest) -> Vec<(String, SecretString)> {
    let of_steps = request.environment.secrets.iter();
    let of_steps = of_steps.map(|(name, value)| (format!("secret {name}"), value.clone()));
    let of_repositories = request.checkouts.iter().filter_map(|checkout| {
        let token = checkout.credential.as_ref()?.token();
        Some((format!("the login of {}", checkout.url), token.clone()))
    });
    let of_proxies = environment::passwords(&environment::proxies());
    let of_proxies = of_proxies
        .into_iter()
        .map(|(name, value)| (format!("the password in {name}"), value));
    of_steps.chain(of_repositories).chain(of_proxies).collect()
}

/// Names, and values for a process that works.
fn exposed(secrets: Vec<(String, SecretString)>) -> (Vec<String>, Vec<String>) {
    let secrets = secrets.into_iter();
    secrets
        .map(|(name, value)| (name, value.expose_secret().to_owned()))
        .unzip()
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
