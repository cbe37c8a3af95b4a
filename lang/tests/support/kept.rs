//! The inputs that fuzzing has kept, tried again, and changed a little: a short run of what fuzz/ does for hours.

use std::fs;
use std::path::{Path, PathBuf};

/// How many changed inputs each is the start of.
const CHANGES: usize = 3;

/// The same numbers each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound.max(1)
    }
}

pub(crate) fn files(folder: &Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{}", folder.display());
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// A piece of another input in the place of one of its own.
fn changed(one: &[u8], other: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let (at, from) = (numbers.below(one.len() + 1), numbers.below(other.len() + 1));
    let (cut, length) = (numbers.below(12), numbers.below(24));
    let end = (at + cut).min(one.len());
    let piece = &other[from..(from + length).min(other.len())];
    [&one[..at], piece, &one[end..]].concat()
}

/// Tries all inputs as they are, and changed.
pub(crate) fn run(inputs: &[Vec<u8>], attempt: fn(&[u8])) {
    let mut numbers = Numbers(7);
    for input in inputs {
        attempt(input);
        for _ in 0..CHANGES {
            let other = &inputs[numbers.below(inputs.len())];
            attempt(&changed(input, other, &mut numbers));
        }
    }
}
