//! Durations on command lines.

use std::time::Duration;

/// Reads a duration with its unit, such as `1.5s` or `300ms` or `1m 30s`; a number without a unit
/// is in seconds, and may have a fraction.
///
/// # Errors
///
/// In words, if it is not a duration, or longer than a [`Duration`] may be.
pub fn duration(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string()),
        Err(_) => humantime::parse_duration(text).map_err(|error| error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_seconds_and_units_are_known() {
        let read = |text| duration(text).map(|time| time.as_millis());
        assert_eq!(read("0.25"), Ok(250));
        assert_eq!(read("0"), Ok(0));
        assert_eq!(read("300ms"), Ok(300));
        assert_eq!(read("1m 30s"), Ok(90_000));
        for text in ["", "-1", "NaN", "inf", "soon", "3 parsecs"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
