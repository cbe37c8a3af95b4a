//! A world in memory, for tests.

use std::collections::BTreeMap;

use atelier_lang::diag::Outcome;
use atelier_lang::graph::Graph;
use atelier_lang::source::{ReadError, Sources, VirtualPath, World};
use atelier_lang::{Inputs, evaluate};

pub(crate) struct Memory(pub(crate) BTreeMap<String, Vec<u8>>);

impl World for Memory {
    fn read(&self, path: &VirtualPath, limit: u64) -> Result<Vec<u8>, ReadError> {
        let bytes = self
            .0
            .get(path.as_str())
            .ok_or(ReadError::Failed("no such file".into()))?;
        let size = bytes.len() as u64;
        if size > limit {
            Err(ReadError::TooLarge { size })
        } else {
            Ok(bytes.clone())
        }
    }
}

/// Evaluates `bytes` as the project's `prebuild.kdl`.
pub(crate) fn evaluate_bytes(bytes: &[u8]) -> (Sources, Outcome<Graph>) {
    let world = Memory(BTreeMap::from([(
        "prebuild.kdl".to_owned(),
        bytes.to_vec(),
    )]));
    let file = VirtualPath::new("prebuild.kdl").unwrap();
    evaluate(
        &world,
        &Inputs {
            file,
            platform: "linux/amd64".to_owned(),
        },
    )
}
