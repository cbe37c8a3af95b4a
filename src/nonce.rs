//! Random names.

use rustix::rand::{GetRandomFlags, getrandom};

/// 128 random bits.
pub(crate) fn random() -> u128 {
    let mut bytes = [0; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        // Fails only before the kernel's pool is ready, or when interrupted.
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty()).unwrap_or(0);
    }
    u128::from_le_bytes(bytes)
}

const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Short, since many layers' names share one page of mount options.
const LENGTH: usize = 10;

/// Whether a text looks like one of these names.
pub(crate) fn is_name(text: &str) -> bool {
    text.len() == LENGTH && text.bytes().all(|byte| ALPHABET.contains(&byte))
}

/// Letters and digits.
pub(crate) fn name() -> String {
    let random = random();
    (0..LENGTH)
        .map(|index| char::from(ALPHABET[(random >> (5 * index)) as usize % 32]))
        .collect()
}
