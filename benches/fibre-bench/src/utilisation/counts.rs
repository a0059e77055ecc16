//! Numbers of threads, as they are written on the command line.

use std::ops::RangeInclusive;
use std::str::FromStr;

/// What a number of threads may be. Each is a fibre that reserves a stack.
const POSSIBLE: RangeInclusive<usize> = 1..=4096;
/// The numbers that a figure shows, where nothing else is asked for.
const USUAL: RangeInclusive<usize> = 1..=64;
/// The numbers that a check measures, where nothing else is asked for: both ends, and the bend.
const CHECKED: [usize; 9] = [1, 2, 4, 8, 16, 24, 32, 48, 64];

/// Numbers of threads, each once, in rising order. There is at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Counts(Vec<usize>);

impl Counts {
    /// The numbers of a figure.
    pub(super) fn all() -> Self {
        Self(USUAL.collect())
    }

    /// The numbers of a check.
    pub(super) fn checked() -> Self {
        Self(CHECKED.to_vec())
    }

    /// The numbers.
    pub(super) fn as_slice(&self) -> &[usize] {
        &self.0
    }
}

impl FromStr for Counts {
    type Err = String;

    /// Reads numbers and ranges of them, separated by commas: `1,2,8-16`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut counts = Vec::new();
        for part in text.split(',').map(str::trim) {
            counts.extend(range(part)?);
        }
        counts.sort_unstable();
        counts.dedup();
        Ok(Self(counts))
    }
}

/// One number, or a range of them.
fn range(text: &str) -> Result<RangeInclusive<usize>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (number(first)?, number(last)?);
    if first > last {
        return Err(format!("the range `{text}` ends before it begins"));
    }
    Ok(first..=last)
}

/// One number of threads.
fn number(text: &str) -> Result<usize, String> {
    let number = text.trim().parse::<usize>();
    let number =
        number.map_err(|_| format!("`{text}` is no number of threads; expected `1,2,8-16`"))?;
    if !POSSIBLE.contains(&number) {
        return Err(format!(
            "{number} threads: there may be {} to {}",
            POSSIBLE.start(),
            POSSIBLE.end()
        ));
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ranges_are_read_in_any_order() {
        let read = |text: &str| text.parse::<Counts>().map(|counts| counts.0);
        assert_eq!(read("8"), Ok(vec![8]));
        assert_eq!(read("4-6, 1,5"), Ok(vec![1, 4, 5, 6]));
        assert_eq!(
            Ok(Counts::all()),
            "1-64".parse(),
            "the usual ones as a range"
        );
    }

    #[test]
    fn what_is_no_number_of_threads_is_named() {
        let refusal = |text: &str| text.parse::<Counts>().err().unwrap_or_default();
        assert!(refusal("1,x").contains("`x` is no number of threads"));
        assert!(refusal("").contains("`` is no number of threads"));
        assert!(refusal("1--3").contains("`-3` is no number of threads"));
        assert!(refusal("0").contains("0 threads: there may be 1 to 4096"));
        assert!(refusal("1-5000").contains("5000 threads"));
        assert!(refusal("9-8").contains("`9-8` ends before it begins"));
    }
}
