//! Random numbers that a seed repeats.

/// A generator of random numbers: SplitMix64 (Steele, Lea and Flood, 2014).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The generator of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The next number below a limit; 0 where the limit is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.draw()) * limit as u128) >> 64) as usize
    }

    /// One of several; `None` if there is none.
    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.below(all.len().max(1)))
    }

    /// The next fraction: from 0 to below 1, in steps of 2⁻⁵³.
    pub fn fraction(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The next exponentially distributed number of this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        // 1 − fraction is never 0: the logarithm of that would be infinite.
        -mean * (1.0 - self.fraction()).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_numbers() {
        // The first numbers of seed 0, as the authors' program prints them.
        let mut random = Random::new(0);
        assert_eq!(random.draw(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.draw(), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!(Random::new(7).draw(), Random::new(7).draw());
    }

    #[test]
    fn fractions_fill_the_unit_interval() {
        let mut random = Random::new(1);
        let mut tenths = [0; 10];
        for _ in 0..10_000 {
            tenths[(random.fraction() * 10.0) as usize] += 1;
        }
        assert!(
            tenths.iter().all(|count| (850..1150).contains(count)),
            "{tenths:?}"
        );
    }

    #[test]
    fn exponential_numbers_have_their_mean_and_variance() {
        let mut random = Random::new(2);
        let drawn: Vec<f64> = (0..100_000).map(|_| random.exponential(3.0)).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let squares = drawn.iter().map(|drawn| (drawn - mean).powi(2));
        let deviation = (squares.sum::<f64>() / drawn.len() as f64).sqrt();
        assert!((2.95..3.05).contains(&mean), "{mean}");
        assert!((2.95..3.05).contains(&deviation), "{deviation}");
    }
}
