//! Pseudo-random numbers that follow from a seed (the finaliser of SplitMix64). A seed that a test
//! has printed must give the same numbers later, which no crate promises of its next version.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::time::{SystemTime, UNIX_EPOCH};

/// A source of numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The numbers that follow from `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The seed in `FIBRE_SEED`, or one from the clock; printed, so that a failing run
    /// can be repeated.
    pub fn seed() -> u64 {
        let seed = std::env::var("FIBRE_SEED")
            .ok()
            .map(|text| text.parse().expect("FIBRE_SEED is a number"))
            .unwrap_or_else(|| {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
                now.as_nanos() as u64 >> 10
            });
        println!("FIBRE_SEED={seed}");
        seed
    }

    /// Another source, whose numbers follow from this one's next.
    pub fn split(&mut self) -> Self {
        Self(self.next())
    }

    /// Any number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// True in one of `n` cases.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}
