//! Manifests, indexes and configurations: small, got as a whole, and kept in the store for ever.

use reqwest::header::{CONTENT_TYPE, HeaderName};
use reqwest::{Method, Response};

use super::endpoint::{Ask, Endpoint, Patience};
use super::fault::Fault;
use super::login::Logins;
use super::reference::Version;
use super::transport::of_transport;
use crate::oci::{DOCUMENT_LIMIT, DOCUMENT_TYPES, Digest};

/// What a registry says the digest is of what it sends.
const DIGEST: HeaderName = HeaderName::from_static("docker-content-digest");

/// Gets the manifest or index that a tag or a digest means.
pub(super) async fn manifest(
    endpoint: &Endpoint,
    logins: &Logins,
    repository: &str,
    version: &Version,
) -> Result<(Digest, Vec<u8>), Fault> {
    let (name, wanted) = match version {
        Version::Tag(tag) => (tag.clone(), None),
        Version::Digest(digest) => (digest.to_string(), Some(*digest)),
    };
    let ask = Ask {
        method: Method::GET,
        repository: repository.to_owned(),
        path: format!("manifests/{name}"),
        accept: DOCUMENT_TYPES.join(", "),
        from: 0,
    };
    let response = endpoint.ask(logins, &ask).await?;
    let header = |name: &HeaderName| {
        let value = response.headers().get(name)?.to_str().ok()?;
        Some(value.to_owned())
    };
    let kind = header(&CONTENT_TYPE).unwrap_or_default();
    let said = header(&DIGEST).and_then(|text| text.parse().ok());
    let kind = kind.split(';').next().unwrap_or_default().trim();
    // Registries that know only older kinds send those whatever they are asked for. Some name no kind at all.
    if kind.contains("docker.distribution.manifest.v1+") {
        return Err(Fault::Garbled(format!("an image of an old kind ({kind})")));
    }
    let content = read_document(response, endpoint.patience).await?;
    let digest = check(&content, wanted.or(said))?;
    Ok((digest, content))
}

/// Gets a configuration.
pub(super) async fn configuration(
    endpoint: &Endpoint,
    logins: &Logins,
    repository: &str,
    digest: &Digest,
) -> Result<Vec<u8>, Fault> {
    let ask = Ask::blob(repository, digest);
    let response = endpoint.ask(logins, &ask).await?;
    let content = read_document(response, endpoint.patience).await?;
    check(&content, Some(*digest))?;
    Ok(content)
}

fn check(content: &[u8], expected: Option<Digest>) -> Result<Digest, Fault> {
    let found = Digest::of(content);
    match expected {
        Some(expected) if expected != found => Err(Fault::Digest { expected, found }),
        _ => Ok(found),
    }
}

async fn read_document(response: Response, patience: Patience) -> Result<Vec<u8>, Fault> {
    let limit = usize::try_from(DOCUMENT_LIMIT).unwrap_or(usize::MAX);
    read_small(response, limit, patience).await
}

/// Reads an answer, but no more of it than makes sense.
pub(super) async fn read_small(
    mut response: Response,
    limit: usize,
    patience: Patience,
) -> Result<Vec<u8>, Fault> {
    let mut content = Vec::new();
    loop {
        let chunk = response.chunk().await;
        let chunk = chunk.map_err(|error| of_transport(&error, patience))?;
        let Some(chunk) = chunk else {
            return Ok(content);
        };
        if content.len() + chunk.len() > limit {
            let what = format!("more than {limit} bytes where a few kilobytes are usual");
            return Err(Fault::Garbled(what));
        }
        content.extend_from_slice(&chunk);
    }
}
