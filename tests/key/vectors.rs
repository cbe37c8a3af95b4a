//! Golden vectors. They change only together with the scheme's tag, since every store is keyed by them.

use std::collections::BTreeMap;

use atelier::key::{key, preimage};
use atelier::node::{ContentKey, ResolvedNode, Source};

use crate::nodes::{base, entry, manifests, minimal, only};

const BASE: &str = "9dc6ed310c186ba32e4e6760d27d7352ccf1f84f1335808c85c5de87ecd414c3";
const MINIMAL: &str = "8a2e349f943cd5199b67476711cf24fca4878fdfe12189cdb915b55e590df730";
const MINIMAL_PREIMAGE: &str = concat!(
    "0a00000000000000",
    "0e00000000000000",
    "6174656c6965722f6e6f64652f31", // atelier/node/1
    "0800000000000000",
    "7072656275696c64", // prebuild
    "7700000000000000",
    "0300000000000000",
    "0500000000000000",
    "696d616765", // image
    "4700000000000000",
    "7368613235363a", // sha256:
    "31313131313131313131313131313131313131313131313131313131313131313131313131313131",
    "313131313131313131313131313131313131313131313131",
    "0b00000000000000",
    "6c696e75782f616d643634", // linux/amd64
    "0800000000000000",
    "0000000000000000", // repos
    "0800000000000000",
    "0000000000000000", // files
    "0800000000000000",
    "0000000000000000", // env
    "0800000000000000",
    "0000000000000000", // path
    "0800000000000000",
    "0000000000000000", // steps
    "0800000000000000",
    "0000000000000000", // needs
    "0000000000000000", // provides
);

#[test]
fn the_base_vector() {
    assert_eq!(preimage(&base()).len(), 806);
    assert_eq!(key(&base()).to_hex(), BASE);
}

#[test]
fn the_minimal_vector_byte_by_byte() {
    assert_eq!(hex::encode(preimage(&minimal())), MINIMAL_PREIMAGE);
    assert_eq!(key(&minimal()).to_hex(), MINIMAL);
}

#[test]
fn the_vector_of_a_child() {
    let child = ResolvedNode {
        source: Source::Parent(BASE.parse().unwrap()),
        ..minimal()
    };
    let expected = "1c500078e5882bec3df275815f58cecb062f9ab65ef139a7687eeb5e805b9318";
    assert_eq!(key(&child).to_hex(), expected);
}

#[test]
fn the_vector_of_only() {
    let node = only(manifests());
    let expected = "cce773dce1b075353b28c7b62dcc48cfa61fccc4dcb357d36c15a51324060b69";
    assert_eq!(preimage(&node).len(), 871);
    assert_eq!(key(&node).to_hex(), expected);
}

#[test]
fn the_vector_of_a_stub() {
    let node = only(
        manifests()
            .into_iter()
            .chain([entry("src/main.rs", "100644", None)]),
    );
    let expected = "24f7bb545cd7025f1d18252d7fc189d0fec663a83959422b280c9e47aeb30e6f";
    assert_eq!(key(&node).to_hex(), expected);
}

#[test]
fn a_key_is_shown_by_its_first_twelve_digits() {
    assert_eq!(key(&base()).snapshot_name(), "snap-9dc6ed310c18");
    assert_eq!(BASE.parse::<ContentKey>().unwrap(), key(&base()));
}

#[test]
fn variables_without_a_step_are_not_in_the_vector() {
    let env = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
    let node = ResolvedNode {
        env,
        path: vec!["x".to_owned()],
        ..minimal()
    };
    assert_eq!(key(&node).to_hex(), MINIMAL);
}
