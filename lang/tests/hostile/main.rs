//! Inputs that were made to hurt, on a thread as small as a runtime's. Numbers are those of the design's list.

#![expect(
    clippy::disallowed_methods,
    reason = "the language is pure, its tests have a clock"
)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod expansion;
mod repeated;
#[path = "../support/shape.rs"]
mod shape;
#[path = "../support/mod.rs"]
mod support;
mod thirty;

use std::time::{Duration, Instant};

use shape::shape;
use support::evaluate_bytes;

const SMALL: usize = 2 << 20;
/// Far more than any of them takes, also without optimisation on a busy machine.
const LONG: Duration = Duration::from_secs(15);

/// The codes that `bytes` yields.
fn codes(bytes: impl Into<Vec<u8>>) -> Vec<String> {
    let bytes = bytes.into();
    let started = Instant::now();
    let run = move || {
        let (_, outcome) = evaluate_bytes(&bytes);
        outcome
            .diagnostics
            .iter()
            .map(|d| d.code.to_string())
            .collect()
    };
    let thread = std::thread::Builder::new()
        .stack_size(SMALL)
        .spawn(run)
        .unwrap();
    let codes = thread.join().unwrap();
    assert!(started.elapsed() < LONG, "took {:?}", started.elapsed());
    codes
}

fn graph(bytes: impl Into<Vec<u8>>) -> String {
    let (_, outcome) = evaluate_bytes(&bytes.into());
    assert!(outcome.diagnostics.is_empty(), "{:?}", outcome.diagnostics);
    shape(&outcome.value.unwrap())
}

/// What `written` makes of each, one behind the other.
fn each<T>(things: impl IntoIterator<Item = T>, written: impl Fn(T) -> String) -> String {
    things.into_iter().map(written).collect::<Vec<_>>().concat()
}
