//! Bytes → files in memory → an evaluation.
#![no_main]
#![expect(dead_code, reason = "each target uses some of what they share")]

use libfuzzer_sys::fuzz_target;

#[path = "../../lang/tests/support/mod.rs"]
mod support;
#[path = "../../lang/tests/support/targets.rs"]
mod targets;

fuzz_target!(|bytes: &[u8]| targets::evaluate(bytes));
