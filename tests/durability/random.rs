//! Numbers that are different each time, and the same again if one wants: the seed is printed, and read from `SEED`.

use std::cell::Cell;
use std::time::{SystemTime, UNIX_EPOCH};

/// The generator `SplitMix64`: nothing depends on its quality.
pub(crate) struct Random(Cell<u64>);

impl Random {
    pub(crate) fn new(what: &str) -> Self {
        let given = std::env::var("SEED")
            .ok()
            .and_then(|seed| seed.parse().ok());
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let seed = given.unwrap_or_else(|| u64::from(now().subsec_nanos()));
        println!("{what}: SEED={seed}");
        Self(Cell::new(seed))
    }

    pub(crate) fn below(&self, limit: u64) -> u64 {
        let state = self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}
