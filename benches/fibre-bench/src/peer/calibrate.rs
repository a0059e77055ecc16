//! How long a repetition becomes: rounds of more and more operations, until one is long enough. The
//! earlier ones warm the runtime up.

use crate::measure::Sample;

/// How many times larger than the one before a round may be.
const GROWTH: f64 = 8.0;

/// A round that takes so many times longer than asked for is the last one: the runtime is
/// sometimes much slower than its fastest round.
const FAR_TOO_LONG: f64 = 10.0;

/// Repeats `round`, beginning with `fewest` operations, until its CPU time
/// reaches `seconds`; returns the last round's sample. A round may do more
/// operations than it is told, and says so in its sample.
///
/// A round is judged by the fastest so far: a disturbance can make a round of
/// few operations long, but not one of many short.
pub(crate) fn calibrate(
    seconds: f64,
    fewest: u64,
    mut round: impl FnMut(u64) -> anyhow::Result<Sample>,
) -> anyhow::Result<Sample> {
    let mut operations = fewest;
    let mut fastest = f64::INFINITY;
    loop {
        let sample = round(operations)?;
        fastest = fastest.min(sample.cpu_ns);
        let length = fastest * sample.operations as f64 / 1e9;
        let took = sample.cpu_ns.max(sample.wall_ns) * sample.operations as f64 / 1e9;
        if length >= seconds || took >= FAR_TOO_LONG * seconds {
            return Ok(sample);
        }
        // Far from the end grow fast; near it aim a little beyond.
        let growth = (seconds * 1.1 / length).min(GROWTH);
        operations = (operations as f64 * growth).ceil() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A round with operations that took so long.
    fn took(cpu_ns: f64, operations: u64) -> anyhow::Result<Sample> {
        Ok(Sample {
            operations,
            cpu_ns,
            wall_ns: cpu_ns,
            values: BTreeMap::new(),
        })
    }

    #[test]
    fn the_last_round_is_long_enough() -> anyhow::Result<()> {
        let sample = calibrate(0.1, 1, |operations| took(100.0, operations))?;
        assert!((1_000_000..1_200_000).contains(&sample.operations));
        Ok(())
    }

    #[test]
    fn a_disturbed_short_round_does_not_end_it() -> anyhow::Result<()> {
        let mut rounds = 0;
        let sample = calibrate(0.1, 1000, |operations| {
            rounds += 1;
            took(if rounds == 2 { 1e5 } else { 100.0 }, operations)
        })?;
        assert!(sample.operations >= 1_000_000);
        Ok(())
    }

    #[test]
    fn a_round_that_is_far_too_long_is_the_last() -> anyhow::Result<()> {
        let mut rounds = 0;
        calibrate(0.1, 1000, |operations| {
            rounds += 1;
            took(if rounds == 1 { 1.0 } else { 1e6 }, operations)
        })?;
        assert_eq!(rounds, 2);
        Ok(())
    }

    #[test]
    fn no_time_is_one_round() -> anyhow::Result<()> {
        let sample = calibrate(0.0, 5, |operations| took(1.0, operations))?;
        assert_eq!(sample.operations, 5);
        Ok(())
    }

    #[test]
    fn a_failure_ends_it() {
        assert!(calibrate(1.0, 1, |_| anyhow::bail!("no")).is_err());
    }
}
