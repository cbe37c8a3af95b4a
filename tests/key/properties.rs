//! The encoding is injective and canonical.

use std::collections::BTreeMap;

use atelier::explain::changes;
use atelier::key::{decode, key, preimage};
use atelier::node::{ResolvedFile, ResolvedNode, ResolvedStep, Shell, User};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::nodes::{any_node, minimal};

/// A change of some bytes.
#[derive(Clone, Debug)]
enum Damage {
    Flip(Index, u8),
    Cut(Index),
    Insert(Index, u8),
    Remove(Index),
    Repeat(Index, Index),
}

fn any_damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        (any::<Index>(), 1..=u8::MAX).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        any::<Index>().prop_map(Damage::Cut),
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Insert(at, byte)),
        any::<Index>().prop_map(Damage::Remove),
        (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Damage::Repeat(from, to)),
    ]
}

fn damage(mut bytes: Vec<u8>, damage: &Damage) -> Vec<u8> {
    let length = bytes.len();
    match damage {
        Damage::Flip(at, bits) => bytes[at.index(length)] ^= bits,
        Damage::Cut(at) => bytes.truncate(at.index(length)),
        Damage::Insert(at, byte) => bytes.insert(at.index(length), *byte),
        Damage::Remove(at) => drop(bytes.remove(at.index(length))),
        Damage::Repeat(from, to) => {
            let (a, b) = (from.index(length), to.index(length));
            let piece = bytes[a.min(b)..a.max(b)].to_vec();
            bytes.extend(piece);
        }
    }
    bytes
}

/// `text` cut at `cuts`.
fn split(text: &str, cuts: &[Index]) -> Vec<String> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
    cuts.sort_unstable();
    let starts = [0].into_iter().chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([text.len()]);
    starts
        .zip(ends)
        .map(|(start, end)| text[start..end].to_owned())
        .collect()
}

fn step(command: &str) -> ResolvedStep {
    let (user, shell) = (User::Dev, Shell::Bash);
    ResolvedStep {
        user,
        folder: String::new(),
        shell,
        command: command.to_owned(),
    }
}

proptest! {
    #[test]
    fn a_preimage_decodes_to_its_node(node in any_node()) {
        prop_assert_eq!(decode(&preimage(&node)).unwrap(), node);
    }

    #[test]
    fn any_bytes_are_refused_without_a_panic(bytes in vec(any::<u8>(), 0..200)) {
        prop_assert!(decode(&bytes).is_err());
    }

    /// What is accepted is canonical: it is what the node it stands for is written as.
    #[test]
    fn damaged_preimages_are_refused_or_are_another_node(
        node in any_node(),
        done in vec(any_damage(), 1..4),
    ) {
        let whole = preimage(&node);
        let bytes = done.iter().fold(whole.clone(), |bytes, done| {
            if bytes.is_empty() { bytes } else { damage(bytes, done) }
        });
        if let Ok(other) = decode(&bytes) {
            prop_assert_eq!(preimage(&other), bytes.clone());
            prop_assert_eq!(other == node, bytes == whole);
        }
    }

    /// behaviours 2.2
    #[test]
    fn nodes_keys_and_leaves_differ_together(a in any_node(), b in any_node(), same in any::<bool>()) {
        let b = if same { a.clone() } else { b };
        prop_assert_eq!(a == b, key(&a) == key(&b));
        prop_assert_eq!(a == b, changes(&a, &b).is_empty());
    }

    /// behaviours 2.6: no join of the pieces is the same for two splits.
    #[test]
    fn no_byte_moves_over_a_boundary_unseen(
        text in "[ab,=\\n/]{0,6}",
        one in vec(any::<Index>(), 0..3),
        other in vec(any::<Index>(), 0..3),
    ) {
        let (one, other) = (split(&text, &one), split(&text, &other));
        let nodes = |pieces: &[String]| {
            let steps: Vec<ResolvedStep> = pieces.iter().map(|piece| step(piece)).collect();
            let first = pieces[0].clone();
            let rest = pieces[1..].concat();
            let file = ResolvedFile { mode: rest.clone(), content: [0; 32] };
            [
                ResolvedNode { steps, ..minimal() },
                ResolvedNode { path: pieces.to_vec(), steps: vec![step("x")], ..minimal() },
                ResolvedNode {
                    env: BTreeMap::from([(first.clone(), rest.clone())]),
                    steps: vec![step("x")],
                    ..minimal()
                },
                ResolvedNode { files: BTreeMap::from([(first, file)]), ..minimal() },
                ResolvedNode { steps: vec![ResolvedStep { folder: rest, ..step(&pieces[0]) }], ..minimal() },
            ]
        };
        for (a, b) in nodes(&one).iter().zip(&nodes(&other)) {
            prop_assert_eq!(a == b, key(a) == key(b));
        }
        // Nor from one field into another.
        let all: Vec<_> = nodes(&one).into_iter().chain(nodes(&other)).collect();
        for (index, a) in all.iter().enumerate() {
            for b in &all[index..] {
                prop_assert_eq!(a == b, key(a) == key(b));
            }
        }
    }
}

#[test]
fn what_is_not_in_order_or_twice_is_refused() {
    let env = BTreeMap::from([("a", "1"), ("b", "2")].map(|(k, v)| (k.to_owned(), v.to_owned())));
    let node = ResolvedNode {
        env,
        steps: vec![step("x")],
        ..minimal()
    };
    let bytes = preimage(&node);
    let swap = |from: u8, to: u8| {
        let mut swapped = bytes.clone();
        let one = |text: u8| [1, 0, 0, 0, 0, 0, 0, 0, text];
        let at = swapped
            .windows(9)
            .position(|window| window == one(from))
            .unwrap();
        swapped[at + 8] = to;
        swapped
    };
    assert!(decode(&swap(b'a', b'c')).is_err(), "out of order");
    assert!(decode(&swap(b'a', b'b')).is_err(), "twice");
    assert!(decode(&swap(b'b', b'c')).is_ok(), "in order");
}
