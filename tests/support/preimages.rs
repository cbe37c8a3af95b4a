//! What holds for all bytes that claim to be a preimage, or a node as JSON.

use atelier::key::{decode, json, preimage};

/// Bytes that are read as a node are what that node is written as; and a node that is read as JSON is what it is as bytes.
pub(crate) fn round_trip(bytes: &[u8]) {
    if let Ok(node) = decode(bytes) {
        assert_eq!(preimage(&node), bytes);
    }
    let text = str::from_utf8(bytes).ok();
    if let Some(node) = text.and_then(|text| json::read(text).ok()) {
        assert_eq!(decode(&preimage(&node)), Ok(node));
    }
}
