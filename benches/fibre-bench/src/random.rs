//! What is drawn from a generator that its crate does not draw.

use fastrand::Rng;

/// The next exponentially distributed number of this mean.
pub fn exponential(random: &mut Rng, mean: f64) -> f64 {
    // 1 − a fraction is never 0: the logarithm of that would be infinite.
    -mean * (1.0 - random.f64()).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_numbers_have_their_mean_and_variance() {
        let mut random = Rng::with_seed(2);
        let drawn: Vec<f64> = (0..100_000)
            .map(|_| exponential(&mut random, 3.0))
            .collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let squares = drawn.iter().map(|drawn| (drawn - mean).powi(2));
        let deviation = (squares.sum::<f64>() / drawn.len() as f64).sqrt();
        assert!((2.95..3.05).contains(&mean), "{mean}");
        assert!((2.95..3.05).contains(&deviation), "{deviation}");
    }
}
