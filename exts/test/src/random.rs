//! Numbers that follow from a seed.
//!
//! Whoever has a seed that failed wants the same schedule next year, too, so these are no crate's,
//! which could change them: the finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable
//! pseudorandom number generators", 2014).

/// A source of numbers.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The numbers that follow from `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `bound`, which is not zero.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        // The high half of the product: the bias is bound / 2^64.
        let product = u128::from(self.next()) * bound as u128;
        (product >> 64) as usize
    }
}

/// A number with all bits mixed.
pub(crate) fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_from_the_seed_and_stay_below_the_bound() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            (0..1000).map(|_| random.below(7)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert!((0..7).all(|number| draw(1).contains(&number)));
        assert!(draw(1).iter().all(|&number| number < 7));
        // The published sequence of the seed 0.
        assert_eq!(Random::new(0).next(), 0xe220_a839_7b1d_cdaf);
    }
}
