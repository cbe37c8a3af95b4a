//! What objects are called, and what marks them as ours. Pure.

use crate::node::ContentKey;

/// Label: the full key of a published snapshot, in base 32. A snapshot without it satisfies no key.
pub(super) const KEY: &str = "atelier.dev/key";
/// Label: what an object is for, see [`Role`].
pub(super) const ROLE: &str = "atelier.dev/role";
/// Label: the bake or sandbox that an object belongs to.
pub(super) const OF: &str = "atelier.dev/of";
/// Label: by whom an object is cared for.
pub(super) const OWNER: (&str, &str) = ("app.kubernetes.io/managed-by", "atelier");

/// Annotation: the full key in hexadecimal digits. (An annotation may be called like a label.)
pub(super) const KEY_HEX: &str = "atelier.dev/key";
/// Annotation: which attempt made an object.
pub(super) const NONCE: &str = "atelier.dev/nonce";
/// Annotation: a snapshot's record without its preimage, as JSON.
pub(super) const RECORD: &str = "atelier.dev/record";
/// Annotation: the preimage, compressed, in base 64; or how many parts of it are in config maps.
pub(super) const PREIMAGE: &str = "atelier.dev/preimage";
pub(super) const PREIMAGE_PARTS: &str = "atelier.dev/preimage-parts";
/// Annotation: what was wrong with the data of a snapshot that was found to be lost.
pub(super) const LOST: &str = "atelier.dev/lost";
/// Annotation: the node that a node-local snapshot can be restored on.
pub(super) const NODE: &str = "atelier.dev/node";
/// Annotation: what a sandbox was booted as, as JSON.
pub(super) const SANDBOX: &str = "atelier.dev/sandbox";

/// What an object is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Bake,
    Verify,
    Snapshot,
    Sandbox,
}

impl Role {
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Bake => "bake",
            Self::Verify => "verify",
            Self::Snapshot => "snapshot",
            Self::Sandbox => "sandbox",
        }
    }
}

/// 48 bits of the key: part of names, never compared.
pub(super) fn short(key: ContentKey) -> String {
    hex::encode(&key.0[..6])
}

pub(super) fn lease(key: ContentKey) -> String {
    format!("bake-{}", short(key))
}

/// The claim and the pod of one attempt.
pub(super) fn bake(key: ContentKey, nonce: &str) -> String {
    format!("pb-{}-{nonce}", short(key))
}

/// The claim of a parent that is copied.
pub(super) fn parent(key: ContentKey, nonce: &str) -> String {
    format!("{}-parent", bake(key, nonce))
}

/// The claim and the pod that verify what an attempt made.
pub(super) fn verify(key: ContentKey, nonce: &str) -> String {
    format!("vf-{}-{nonce}", short(key))
}

/// A key as the value of a label, which holds 63 characters.
pub(super) fn label(key: ContentKey) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let bit = |index: usize| {
        let byte = key.0.get(index / 8).copied().unwrap_or(0);
        usize::from(byte >> (7 - index % 8) & 1)
    };
    (0..256_usize.div_ceil(5))
        .map(|digit| (0..5).fold(0, |value, at| value << 1 | bit(digit * 5 + at)))
        .map(|value| char::from(ALPHABET[value]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{bake, label, lease};
    use crate::node::ContentKey;

    /// The last digit has one bit of the key and four that are zero.
    #[test]
    fn a_key_is_a_label_of_52_characters() {
        let key = ContentKey([0xff; 32]);
        assert_eq!(label(key), format!("{}q", "7".repeat(51)));
        let mut bytes = [0; 32];
        bytes[..5].copy_from_slice(b"hello");
        assert!(label(ContentKey(bytes)).starts_with("nbswy3dp"));
        assert_eq!(label(ContentKey(bytes)).len(), 52);
    }

    #[test]
    fn names_of_pods_fit_into_host_names() {
        let key = ContentKey([0xab; 32]);
        assert_eq!(lease(key), "bake-abababababab");
        let name = bake(key, "abcdefghij");
        assert_eq!(name, "pb-abababababab-abcdefghij");
        assert!(name.len() <= 63);
    }
}
