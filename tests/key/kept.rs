//! What fuzzing has kept, tried again.

use std::path::Path;

use crate::files::{files, run};
use crate::preimages::round_trip;

#[test]
fn round_trips() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/key");
    run(&files(&folder), round_trip);
}
