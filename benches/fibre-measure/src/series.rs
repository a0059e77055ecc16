//! Repeated readings of one thing.

use serde::{Deserialize, Serialize};

/// The readings of all repetitions, in the order they were made. One that is not a number stands
/// for a repetition without a reading, so that [`paired`](Self::paired) ones stay together; no
/// figure counts it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Option<f64>>")]
pub struct Series(Vec<f64>);

impl Series {
    /// Adds a reading.
    pub fn push(&mut self, reading: f64) {
        self.0.push(reading);
    }

    /// How many readings there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The smallest reading.
    pub fn minimum(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The largest reading.
    pub fn maximum(&self) -> f64 {
        self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// The middle reading, or the mean of the two in the middle; not a number
    /// where there is none.
    pub fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.retain(|reading| !reading.is_nan());
        sorted.sort_by(f64::total_cmp);
        match sorted.len() {
            0 => f64::NAN,
            n if n % 2 == 1 => sorted[n / 2],
            n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
        }
    }

    /// This series over another, repetition by repetition. Subjects take turns,
    /// so the two readings of a pair were made at nearly the same time, at the
    /// same clock and beside the same neighbours.
    pub fn paired(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a / b).collect())
    }

    /// How far the readings lie apart, as a share of their median.
    pub fn spread(&self) -> f64 {
        (self.maximum() - self.minimum()) / self.median()
    }
}

/// JSON has no word for what is not a number, and `null` in its place.
impl From<Vec<Option<f64>>> for Series {
    fn from(readings: Vec<Option<f64>>) -> Self {
        let readings = readings.into_iter();
        Self(
            readings
                .map(|reading| reading.unwrap_or(f64::NAN))
                .collect(),
        )
    }
}

impl FromIterator<f64> for Series {
    fn from_iter<I: IntoIterator<Item = f64>>(readings: I) -> Self {
        Self(readings.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_of_odd_and_even_counts() {
        let odd = Series(vec![3.0, 1.0, 2.0]);
        assert_eq!((odd.minimum(), odd.median(), odd.spread()), (1.0, 2.0, 1.0));
        let even = Series(vec![4.0, 1.0, 2.0, 3.0]);
        assert_eq!((even.maximum(), even.median()), (4.0, 2.5));
        assert_eq!(odd.paired(&even).median(), 1.0);
        assert!(Series::default().median().is_nan());
    }

    #[test]
    fn a_missing_reading_changes_no_figure() {
        let series = Series(vec![3.0, f64::NAN, 1.0]);
        let figures = (series.minimum(), series.median(), series.maximum());
        assert_eq!(figures, (1.0, 2.0, 3.0));
        let other = Series(vec![1.0, 1.0, f64::NAN]);
        assert_eq!(series.paired(&other).median(), 3.0);
    }
}
