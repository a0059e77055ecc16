//! Latencies as the values of a sample.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use crate::measure::Sample;

/// What is read of a distribution: a name, and the part of all readings that is not above it. Each
/// but the first and the last leaves a tenth of what the one before it leaves.
const QUANTILES: [(&str, f64); 6] = [
    ("p50_us", 0.5),
    ("p90_us", 0.9),
    ("p99_us", 0.99),
    ("p999_us", 0.999),
    ("p9999_us", 0.9999),
    ("max_us", 1.0),
];

/// The quantiles of a distribution of nanoseconds, by name, in microseconds.
#[must_use]
pub(crate) fn of(latency: &Histogram<u64>) -> BTreeMap<&'static str, f64> {
    let at = |(name, quantile)| (name, latency.value_at_quantile(quantile) as f64 / 1e3);
    QUANTILES.into_iter().map(at).collect()
}

/// Adds the quantiles of a distribution to a sample.
pub(crate) fn add(sample: Sample, latency: &Histogram<u64>) -> Sample {
    let values = of(latency).into_iter();
    values.fold(sample, |sample, (name, value)| sample.with(name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_in_microseconds() -> anyhow::Result<()> {
        let mut latency = Histogram::new(3)?;
        for micros in 1..=1000 {
            latency += micros * 1000;
        }
        let read = of(&latency);
        let near = |name, micros: f64| (read[name] / micros - 1.0).abs() < 2e-3;
        assert!(near("p50_us", 500.0) && near("p90_us", 900.0) && near("p99_us", 990.0));
        assert!(near("max_us", 1000.0));
        Ok(())
    }
}
