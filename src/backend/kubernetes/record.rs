//! The record of a snapshot in its annotations, which is published together with it.

use std::collections::BTreeMap;
use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::ConfigMap;
use serde::{Deserialize, Serialize};

use super::bug;
use super::cluster::{Cluster, PATIENT};
use super::names::{KEY_HEX, PREIMAGE, PREIMAGE_PARTS, RECORD};
use super::objects::{part, part_name};
use super::volume_snapshot::VolumeSnapshot;
use crate::backend::{BackendError, Durations, Snapshot};
use crate::key;
use crate::node::ContentKey;

/// A preimage that is larger than this, packed, is not in an annotation: all of them together have 256 KiB.
const INLINE: usize = 96 << 10;

/// What a config map holds of one: its limit is 1 MiB.
const PART: usize = 900 << 10;

/// The largest preimage, in bytes: what is written there by somebody else may unpack to anything.
const LARGEST: usize = 64 << 20;

/// What a list holds of preimages at the most, in bytes: there may be thousands. Those beyond it are had by a probe.
pub(super) const LISTED: usize = 32 << 20;

/// All of a record but the key and the preimage.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) node: String,
    pub(super) parent: Option<String>,
    pub(super) created: String,
    pub(super) durations: Durations,
    pub(super) bytes: u64,
    pub(super) commits: BTreeMap<String, String>,
    pub(super) verified: Vec<String>,
    /// The digest of the workspace's manifest.
    pub(super) manifest: String,
    /// How many snapshots of a volume this one stands on.
    #[serde(default)]
    pub(super) depth: u32,
}

pub(super) fn pack(preimage: &[u8]) -> Result<String, BackendError> {
    let packed = zstd::encode_all(preimage, 0).map_err(|error| bug(&error))?;
    Ok(STANDARD.encode(packed))
}

/// `None` for what is no preimage, and for one of more than so many bytes.
fn unpack(text: &str, most: usize) -> Option<Vec<u8>> {
    let packed = STANDARD.decode(text).ok()?;
    let mut preimage = Vec::new();
    let reader = zstd::Decoder::new(packed.as_slice()).ok()?;
    let read = reader.take(most as u64 + 1).read_to_end(&mut preimage);
    read.ok().filter(|&length| length <= most)?;
    Some(preimage)
}

/// Puts what is too large for an annotation into config maps; returns the annotations.
pub(super) async fn keep_preimage(
    cluster: &Cluster,
    snapshot: &VolumeSnapshot,
    preimage: &[u8],
) -> Result<BTreeMap<&'static str, String>, BackendError> {
    let packed = pack(preimage)?;
    if packed.len() <= INLINE {
        return Ok(BTreeMap::from([(PREIMAGE, packed)]));
    }
    let mut count = 0;
    let mut rest = packed.as_str();
    while !rest.is_empty() {
        let (now, later) = rest.split_at(rest.len().min(PART));
        let made = cluster.create(&part(snapshot, count, now)?).await;
        made.map_err(|trouble| trouble.into_error("keep the preimage"))?;
        rest = later;
        count += 1;
    }
    Ok(BTreeMap::from([(PREIMAGE_PARTS, count.to_string())]))
}

/// The key that a snapshot is published for: label and annotation have to agree.
pub(super) fn key_of(snapshot: &VolumeSnapshot) -> Option<ContentKey> {
    let key: ContentKey = snapshot.annotation(KEY_HEX)?.parse().ok()?;
    let label = snapshot.label(super::names::KEY)?;
    (label == super::names::label(key)).then_some(key)
}

pub(super) fn record_of(snapshot: &VolumeSnapshot) -> Option<Record> {
    serde_json::from_str(snapshot.annotation(RECORD)?).ok()
}

/// The published snapshot, without a preimage that is not in it, or has more than so many bytes.
pub(super) fn read(snapshot: &VolumeSnapshot, most: usize) -> Option<Snapshot> {
    let key = key_of(snapshot)?;
    let record = record_of(snapshot)?;
    let parent = match record.parent {
        Some(parent) => Some(parent.parse().ok()?),
        None => None,
    };
    Some(Snapshot {
        key,
        preimage: snapshot
            .annotation(PREIMAGE)
            .filter(|_| most > 0)
            .and_then(|packed| unpack(packed, most))
            .unwrap_or_default(),
        node: record.node,
        parent,
        created: record.created,
        durations: record.durations,
        bytes: record.bytes,
        commits: record.commits,
        verified: record.verified,
    })
}

/// The preimage of a published snapshot, which has to be the one of its key.
pub(super) async fn preimage(
    cluster: &Cluster,
    snapshot: &VolumeSnapshot,
    key: ContentKey,
) -> Result<Option<Vec<u8>>, BackendError> {
    let packed = match snapshot.annotation(PREIMAGE) {
        Some(packed) => packed.to_owned(),
        None => {
            let parts = snapshot.annotation(PREIMAGE_PARTS);
            let parts = parts.and_then(|parts| parts.parse::<usize>().ok());
            let Some(parts) = parts else { return Ok(None) };
            let mut packed = String::new();
            for number in 0..parts {
                let name = part_name(snapshot, number);
                let part = cluster.get::<ConfigMap>(&name, PATIENT).await?;
                let data = part.and_then(|part| part.data?.remove("preimage"));
                let Some(data) = data else { return Ok(None) };
                packed.push_str(&data);
            }
            packed
        }
    };
    Ok(unpack(&packed, LARGEST).filter(|preimage| key::key_of_preimage(preimage) == key))
}

#[cfg(test)]
mod tests {
    use super::{LARGEST, pack, unpack};

    #[test]
    fn what_is_packed_is_unpacked() {
        let preimage: Vec<u8> = (0..100_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        let packed = pack(&preimage).unwrap();
        assert!(packed.len() < preimage.len());
        assert_eq!(unpack(&packed, LARGEST), Some(preimage));
        assert_eq!(unpack("?", LARGEST), None);
    }

    /// Some bytes may say that they are gigabytes.
    #[test]
    fn what_is_larger_than_any_preimage_is_none() {
        let packed = pack(&vec![0; 1 << 20]).unwrap();
        assert!(packed.len() < 1000);
        assert_eq!(unpack(&packed, (1 << 20) - 1), None);
        assert!(unpack(&packed, 1 << 20).is_some());
    }
}
