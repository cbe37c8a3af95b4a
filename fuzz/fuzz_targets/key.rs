//! Bytes → a node, if they are the preimage of one.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/support/preimages.rs"]
mod preimages;

fuzz_target!(|bytes: &[u8]| preimages::round_trip(bytes));
