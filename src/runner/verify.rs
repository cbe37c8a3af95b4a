//! A workspace compared with the manifest that was made of it.

use std::path::Path;

use super::events::Events;
use super::protocol::{Failure, Outcome, VerifyRequest};
use super::volume::Volume;
use super::{aside, input, repositories, within};
use crate::tree::{self, Manifest};

pub(super) async fn answer(volume: &Path, events: &mut Events) -> Result<Outcome, Failure> {
    let volume = Volume::open(volume)?;
    let request: VerifyRequest = input::read().await?;
    events.request(&request.nonce);
    let limit = request.limit;
    within(limit, work(volume, request, events)).await
}

async fn work(
    volume: Volume,
    request: VerifyRequest,
    events: &mut Events,
) -> Result<Outcome, Failure> {
    let mut verified = vec!["manifest".to_owned()];
    let workspace = volume.workspace();
    aside(move || compare(&volume, &request.manifest)).await?;
    if !request.checkouts.is_empty() && repositories::can_verify() {
        let mut whole = true;
        for path in &request.checkouts {
            whole &= repositories::verify(&workspace, path).await?;
        }
        verified.extend(whole.then(|| "git fsck".to_owned()));
    } else if !request.checkouts.is_empty() {
        events.notice("there is no git here, so that repositories are not checked");
    }
    Ok(Outcome::Verified(verified))
}

fn compare(volume: &Volume, digest: &str) -> Result<(), Failure> {
    let damaged = |text: String| Failure::Damaged {
        count: 1,
        first: vec![text],
    };
    let manifest = std::fs::read(volume.manifest()).and_then(|stored| Manifest::decode(&stored));
    let manifest = match manifest {
        Ok(manifest) if manifest.digest().to_hex().as_str() == digest => manifest,
        Ok(_) => return Err(damaged("its manifest is another one".to_owned())),
        Err(error) => return Err(damaged(format!("its manifest cannot be read: {error}"))),
    };
    // What the disk does not give back is damage, and not a failure.
    let differences = tree::verify(&volume.workspace(), &manifest);
    let differences = differences.map_err(|error| damaged(error.to_string()))?;
    match differences.len() {
        0 => Ok(()),
        count => Err(Failure::Damaged {
            count,
            first: differences.iter().map(ToString::to_string).collect(),
        }),
    }
}
