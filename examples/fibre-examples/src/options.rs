//! Values on command lines.

use std::time::Duration;

/// The longest time-out accepted, so that deadlines cannot overflow.
const MAX_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Reads a duration with its unit, such as `1.5s` or `300ms`; a number without one is in seconds,
/// and may have a fraction.
///
/// # Errors
///
/// In words, unless it is more than zero and at most a day.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let duration = match text.parse() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string()),
        Err(_) => humantime::parse_duration(text).map_err(|error| error.to_string()),
    };
    match duration {
        Ok(Duration::ZERO) => Err("must be more than zero".to_owned()),
        Ok(duration) if duration > MAX_TIME => Err("must be at most a day".to_owned()),
        duration => duration,
    }
}

/// Reads a count that must not be zero.
///
/// # Errors
///
/// In words, unless it is a number from one on.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("must be at least 1".to_owned()),
        Ok(count) => Ok(count),
        Err(error) => Err(format!("{error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_bounds() {
        assert_eq!(seconds("0.25"), Ok(Duration::from_millis(250)));
        assert_eq!(seconds("250ms"), Ok(Duration::from_millis(250)));
        for text in ["0", "-1", "NaN", "inf", "86401", "soon"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn counts_are_positive() {
        assert_eq!(at_least_one("7"), Ok(7));
        assert!(at_least_one("0").is_err() && at_least_one("-3").is_err());
    }
}
