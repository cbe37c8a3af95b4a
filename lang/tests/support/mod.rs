//! A world in memory, and graphs without their places, for tests.

use std::collections::BTreeMap;

use atelier_lang::diag::Outcome;
use atelier_lang::graph::Graph;
use atelier_lang::source::{ReadError, Sources, VirtualPath, World};
use atelier_lang::{Inputs, evaluate};

#[derive(Default)]
pub(crate) struct Memory(pub(crate) BTreeMap<String, Vec<u8>>);

impl World for Memory {
    fn read(&self, path: &VirtualPath, limit: u64) -> Result<Vec<u8>, ReadError> {
        let bytes = self.0.get(path.as_str());
        let bytes = bytes.ok_or(ReadError::Failed("no such file".to_owned()))?;
        let size = bytes.len() as u64;
        if size > limit {
            Err(ReadError::TooLarge { size })
        } else {
            Ok(bytes.clone())
        }
    }
}

/// A library that tests use.
const STD: &[(&str, &str)] = &[
    ("tools", include_str!("std/tools.kdl")),
    ("others", include_str!("std/others.kdl")),
];

/// The project's file, on the platform that tests expect.
pub(crate) fn inputs() -> Inputs {
    let file = VirtualPath::new("prebuild.kdl");
    let file = file.unwrap_or_else(|| unreachable!("the path is inside the project"));
    Inputs {
        std: STD,
        ..Inputs::new(file, "linux/amd64")
    }
}

/// Evaluates `bytes` as the project's `prebuild.kdl`.
pub(crate) fn evaluate_bytes(bytes: &[u8]) -> (Sources, Outcome<Graph>) {
    let world = Memory(BTreeMap::from([(
        "prebuild.kdl".to_owned(),
        bytes.to_vec(),
    )]));
    evaluate(&world, &inputs())
}
