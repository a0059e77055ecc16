//! Percentiles, and times in words.

/// Times that percentiles are asked of, in nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Times {
    all: Vec<u64>,
    sorted: bool,
}

impl Times {
    /// Adds a time.
    pub(crate) fn add(&mut self, time: u64) {
        self.all.push(time);
        self.sorted = false;
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// Their sum, or the greatest number: the times of a damaged file may be anything.
    pub(crate) fn sum(&self) -> u64 {
        self.all.iter().copied().fold(0, u64::saturating_add)
    }

    /// The longest one.
    pub(crate) fn longest(&self) -> u64 {
        self.all.iter().copied().max().unwrap_or(0)
    }

    /// The time that so many of a thousand do not exceed (nearest rank); `None`: there is none.
    pub(crate) fn quantile(&mut self, per_mille: usize) -> Option<u64> {
        if !self.sorted {
            self.all.sort_unstable();
            self.sorted = true;
        }
        let rank = (self.all.len() * per_mille).div_ceil(1000).max(1);
        self.all.get(rank - 1).copied()
    }
}

/// A time in nanoseconds, in words.
pub(crate) fn time(nanoseconds: u64) -> String {
    let in_unit = |unit: u64| nanoseconds as f64 / unit as f64;
    match nanoseconds {
        0..1_000 => format!("{nanoseconds} ns"),
        1_000..1_000_000 => format!("{:.1} µs", in_unit(1_000)),
        1_000_000..1_000_000_000 => format!("{:.1} ms", in_unit(1_000_000)),
        _ => format!("{:.3} s", in_unit(1_000_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_times_that_were_there() {
        let mut times = Times::default();
        assert_eq!(times.quantile(500), None);
        for number in (1..=100).rev() {
            times.add(number);
        }
        let quantiles = [0, 500, 990, 999, 1000].map(|at| times.quantile(at));
        assert_eq!(quantiles, [1, 50, 99, 100, 100].map(Some));
        assert_eq!(
            (times.sum(), times.longest(), times.count()),
            (5050, 100, 100)
        );
    }

    #[test]
    fn a_sum_of_nonsense_is_no_panic() {
        let mut times = Times::default();
        times.add(u64::MAX);
        times.add(2);
        assert_eq!(times.sum(), u64::MAX);
    }

    #[test]
    fn times_have_units() {
        let words = [999, 1_000, 1_050_000, 1_234_567_890].map(time);
        assert_eq!(words, ["999 ns", "1.0 µs", "1.1 ms", "1.235 s"]);
    }
}
