//! Numbers that look random and can be made again.
//!
//! Everything a run does follows from its seed: a generator for each connection, and [`mix`] where
//! a number has to follow from other numbers, like the length of a value from its key and version.
//! Both are SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators",
//! 2014).

/// The step from one state of the generator to the next.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A number with every bit dependent on every bit of `word`.
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

/// A sequence of random numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Sequence number `stream` of a seed.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        Self(mix(mix(seed).wrapping_add(stream.wrapping_mul(STEP))))
    }

    /// The next number.
    #[inline]
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// The next number in `[0, 1)`.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        unit(self.word())
    }

    /// The next number below `count`, by Lemire's multiplication; its bias is `count / 2⁶⁴`.
    #[inline]
    pub fn below(&mut self, count: u32) -> u32 {
        let wide = u128::from(self.word()) * u128::from(count);
        (wide >> 64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_streams_differ() {
        let words = |seed, stream| {
            let mut random = Random::new(seed, stream);
            [random.word(), random.word()]
        };
        assert_eq!(words(1, 2), words(1, 2));
        assert_ne!(words(1, 2), words(1, 3));
        assert_ne!(words(1, 2), words(2, 2));
    }

    #[test]
    fn numbers_are_spread_evenly() {
        let mut random = Random::new(7, 0);
        let mut counts = [0_u32; 8];
        (0..80_000).for_each(|_| counts[random.below(8) as usize] += 1);
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)));
        let mean = (0..80_000).map(|_| random.unit()).sum::<f64>() / 80_000.0;
        assert!((mean - 0.5).abs() < 0.01);
    }
}
