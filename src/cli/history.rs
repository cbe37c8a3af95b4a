//! What is remembered of each target of each file: how it was keyed when it was last there, and its last log.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::draft;

/// The targets of one file, in a store.
pub(super) struct History {
    folder: PathBuf,
    file: PathBuf,
}

/// What is known of a target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Memory {
    /// For people who look into the store.
    file: PathBuf,
    target: String,
    /// The preimage of the last snapshot that was found or baked.
    #[serde(default, with = "hex::serde")]
    pub preimage: Vec<u8>,
    /// The log of the last bake, whatever became of it.
    pub log: Option<PathBuf>,
    /// How long the bake of that snapshot took.
    #[serde(default)]
    pub seconds: Option<f64>,
}

impl History {
    pub(super) fn of(store: &Path, file: &Path) -> Self {
        Self {
            folder: store.join("targets"),
            file: file.to_owned(),
        }
    }

    /// What is not there or not readable is not known.
    pub(super) fn recall(&self, target: &str) -> Memory {
        let text = std::fs::read(self.path(target)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Whoever writes last is right; a file that is half there is never seen.
    pub(super) fn remember(&self, target: &str, memory: Memory) -> io::Result<()> {
        let memory = Memory {
            file: self.file.clone(),
            target: target.to_owned(),
            ..memory
        };
        draft::replace(&self.path(target), &serde_json::to_vec_pretty(&memory)?)
    }

    fn path(&self, target: &str) -> PathBuf {
        let name = format!("{}\0{target}", self.file.display());
        self.folder
            .join(format!("{}.json", blake3::hash(name.as_bytes()).to_hex()))
    }
}
