//! Numbers that look random and can be made again.
//!
//! Everything a run does follows from its seed: a generator for each connection, and [`mix`] where
//! a number has to follow from other numbers, like the length of a value from its key and version.

use fastrand::Rng;

/// The distance between the seeds of neighbouring streams, before they are mixed.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A number with every bit dependent on every bit of `word`: the finaliser of SplitMix64 (Steele,
/// Lea, Flood: "Fast Splittable Pseudorandom Number Generators", 2014). It is a function of its
/// argument, which no generator is.
#[inline]
#[must_use]
pub const fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// A random number as one in `[0, 1)`.
#[inline]
#[must_use]
pub fn unit(word: u64) -> f64 {
    (word >> 11) as f64 / (1_u64 << 53) as f64
}

/// Sequence number `stream` of a seed.
#[must_use]
pub fn stream(seed: u64, stream: u64) -> Rng {
    Rng::with_seed(mix(mix(seed).wrapping_add(stream.wrapping_mul(STEP))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_streams_differ() {
        let words = |seed, number| {
            let mut random = stream(seed, number);
            [random.u64(..), random.u64(..)]
        };
        assert_eq!(words(1, 2), words(1, 2));
        assert_ne!(words(1, 2), words(1, 3));
        assert_ne!(words(1, 2), words(2, 2));
    }

    #[test]
    fn mixed_numbers_are_spread_evenly() {
        let mean = (0..80_000).map(|word| unit(mix(word))).sum::<f64>() / 80_000.0;
        assert!((mean - 0.5).abs() < 0.01);
    }
}
