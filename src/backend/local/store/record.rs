//! Records of snapshots, as they stand on disk.

use std::fs;
use std::io;

use serde::{Deserialize, Serialize};

use super::super::way::Sandbox;
use super::{Store, TREE, record_name};
use crate::backend::{Presence, Snapshot};
use crate::key;
use crate::node::ContentKey;

/// A published snapshot as it stands on disk.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Record {
    pub snapshot: Snapshot,
    /// All layers of the workspace, lowest first.
    pub layers: Vec<Layer>,
    pub sandbox: Sandbox,
}

/// A layer and what is in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Layer {
    /// Its folder, relative to the store.
    pub name: String,
    /// The digest of its manifest, in hexadecimal digits.
    pub manifest: String,
}

/// What a workspace stands on.
#[derive(Debug, Default)]
pub(in super::super) struct Below {
    /// Lowest first.
    pub layers: Vec<Layer>,
    /// Whether it was baked without a sandbox, and so whatever stands on it.
    pub direct: bool,
}

impl From<Record> for Below {
    fn from(record: Record) -> Self {
        Self {
            layers: record.layers,
            direct: record.sandbox == Sandbox::Direct,
        }
    }
}

impl Store {
    pub(in super::super) fn probe(&self, key: ContentKey) -> Presence {
        match self.record(key) {
            Ok(Some(record)) => Presence::Present(Box::new(record.snapshot)),
            Ok(None) => Presence::Absent,
            Err(cause) => Presence::Lost(cause),
        }
    }

    /// The record of a key, if it may be used here; the error says why it may not.
    pub(in super::super) fn record(&self, key: ContentKey) -> Result<Option<Record>, String> {
        match self.load(key)? {
            Some(record) if !record.sandbox.serves(self.way, self.accept_direct) => {
                Err(record.sandbox.refusal())
            }
            record => Ok(record),
        }
    }

    /// The record of a key with all its layers; the error says what is damaged.
    pub(in super::super) fn load(&self, key: ContentKey) -> Result<Option<Record>, String> {
        let Some(record) = self.read(key)? else {
            return Ok(None);
        };
        match self.missing(&record.layers) {
            Some(layer) => Err(format!("its layer {} is gone", layer.name)),
            None => Ok(Some(record)),
        }
    }

    /// The record of a key, whether its layers are there or not.
    pub(super) fn read(&self, key: ContentKey) -> Result<Option<Record>, String> {
        let path = self.root.join(record_name(key));
        if fs::metadata(&path).is_ok_and(|meta| !meta.is_file()) {
            return Err("its record is no file".to_owned());
        }
        let text = match fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("its record cannot be read: {error}")),
        };
        let record: Record = serde_json::from_slice(&text)
            .map_err(|error| format!("its record is damaged: {error}"))?;
        let same =
            record.snapshot.key == key && key::key_of_preimage(&record.snapshot.preimage) == key;
        match same {
            true => Ok(Some(record)),
            false => Err("its record is another key's".to_owned()),
        }
    }

    /// All whole records, oldest first.
    pub(in super::super) fn records(&self) -> io::Result<Vec<Record>> {
        let records = self
            .keys()?
            .into_iter()
            .filter_map(|key| self.record(key).ok()?);
        let mut records: Vec<Record> = records.collect();
        records.sort_by(|a, b| {
            (&a.snapshot.created, a.snapshot.key).cmp(&(&b.snapshot.created, b.snapshot.key))
        });
        Ok(records)
    }

    /// The keys that have a record, whole or not.
    pub(in super::super) fn keys(&self) -> io::Result<Vec<ContentKey>> {
        let mut keys = Vec::new();
        for entry in fs::read_dir(self.root.join("s"))? {
            let name = entry?.file_name();
            let key: Option<ContentKey> = name
                .to_str()
                .and_then(|name| name.strip_suffix(".json")?.parse().ok());
            keys.extend(key);
        }
        Ok(keys)
    }

    /// A layer that is not there, if one is not.
    pub(super) fn missing<'a>(&self, layers: &'a [Layer]) -> Option<&'a Layer> {
        let is_there = |layer: &&Layer| self.root.join(&layer.name).join(TREE).is_dir();
        layers.iter().find(|layer| !is_there(layer))
    }
}
