//! What fuzzing has kept, and what the goldens are made from, tried again.

#![expect(
    clippy::disallowed_methods,
    reason = "the language is pure, its tests read files"
)]
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

#[path = "support/kept.rs"]
mod kept;
#[expect(dead_code, reason = "other tests use more of it")]
mod support;
#[path = "support/targets.rs"]
mod targets;

use std::path::Path;

fn inputs(target: &str) -> Vec<Vec<u8>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let kept = kept::files(&here.join("../fuzz/corpus").join(target));
    let golden = kept::files(&here.join("tests/golden"));
    kept.into_iter().chain(golden).collect()
}

#[test]
fn evaluations() {
    kept::run(&inputs("evaluate"), targets::evaluate);
}

#[test]
fn formats() {
    kept::run(&inputs("format"), targets::format);
}
