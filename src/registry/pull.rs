//! Layers: got in parallel, each by one process at a time, and gone on with where it was left.

use reqwest::header::CONTENT_RANGE;
use reqwest::{Response, StatusCode};
use sha2::Digest as _;
use tokio::io::{AsyncSeekExt, AsyncWriteExt, BufWriter};

use super::blobs::Part;
use super::endpoint::{Ask, Endpoint, back_off};
use super::fault::Fault;
use super::login::Logins;
use super::transport::of_transport;
use crate::oci::Layer;

/// How often a transfer is taken up again without having got on.
const FAILURES: u32 = 5;

/// So much is getting on.
const PROGRESS: u64 = 1 << 20;

/// What is written at once.
const BUFFER: usize = 512 << 10;

/// Gets what a part lacks, over as many connections as it takes.
pub(super) async fn complete(
    endpoint: &Endpoint,
    logins: &Logins,
    repository: &str,
    layer: &Layer,
    part: &mut Part,
) -> Result<(), Fault> {
    let mut failures = 0;
    while part.length < layer.size || layer.size == 0 {
        let before = part.length;
        let attempt = Box::pin(attempt(endpoint, logins, repository, layer, part)).await;
        let fault = match attempt {
            Ok(()) => return Ok(()),
            Err(fault) => fault,
        };
        if part.length.saturating_sub(before) >= PROGRESS {
            failures = 0;
        }
        failures += 1;
        let repeats = endpoint.patience.repeats.min(FAILURES);
        if !fault.is_of_connection() || failures > repeats {
            return Err(fault);
        }
        tokio::time::sleep(back_off(failures - 1)).await;
    }
    Ok(())
}

async fn attempt(
    endpoint: &Endpoint,
    logins: &Logins,
    repository: &str,
    layer: &Layer,
    part: &mut Part,
) -> Result<(), Fault> {
    let mut ask = Ask::blob(repository, &layer.digest);
    ask.from = part.length;
    let response = match endpoint.ask(logins, &ask).await {
        // It cannot begin there.
        Err(Fault::Refused(416)) => {
            ask.from = 0;
            endpoint.ask(logins, &ask).await?
        }
        answer => answer?,
    };
    if begins_at(&response) != part.length {
        part.restart().map_err(Fault::Store)?;
    }
    if begins_at(&response) != part.length {
        return Err(Fault::Garbled("a part that was not asked for".to_owned()));
    }
    receive(endpoint, response, layer, part).await
}

/// Where in the blob an answer begins: a server that knows no ranges sends all of it.
fn begins_at(response: &Response) -> u64 {
    if response.status() != StatusCode::PARTIAL_CONTENT {
        return 0;
    }
    let range = response.headers().get(CONTENT_RANGE);
    let first = range.and_then(|range| {
        let range = range.to_str().ok()?.strip_prefix("bytes ")?;
        range.split('-').next()?.trim().parse().ok()
    });
    first.unwrap_or(u64::MAX)
}

async fn receive(
    endpoint: &Endpoint,
    mut response: Response,
    layer: &Layer,
    part: &mut Part,
) -> Result<(), Fault> {
    let file = part.file.try_clone().map_err(Fault::Store)?;
    let mut file = BufWriter::with_capacity(BUFFER, tokio::fs::File::from_std(file));
    let start = std::io::SeekFrom::Start(part.length);
    file.seek(start).await.map_err(Fault::Store)?;
    let ended = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                let length = part.length + chunk.len() as u64;
                if length > layer.size {
                    let what = format!("more than the {} bytes of a layer", layer.size);
                    break Err(Fault::Garbled(what));
                }
                file.write_all(&chunk).await.map_err(Fault::Store)?;
                part.hash.update(&chunk);
                part.length = length;
            }
            Ok(None) if part.length == layer.size => break Ok(()),
            Ok(None) => break Err(Fault::Lost("it ended too early".to_owned())),
            Err(error) => break Err(of_transport(&error, endpoint.patience)),
        }
    };
    // Also what came before a fault: the next attempt goes on after it.
    file.flush().await.map_err(Fault::Store)?;
    ended
}
