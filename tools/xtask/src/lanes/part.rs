//! The part of a long lane that runs today.
//!
//! The build machine has not the time for every row of every table each time. So the rows of some
//! lanes take turns by the day: within [`PARTS`] days each of them has run. The log names the day,
//! and who gives it back has the same rows again.

use std::time::{SystemTime, UNIX_EPOCH};

/// In how many parts the rows are divided.
pub(crate) const PARTS: usize = 3;

/// Which rows run: all of them, or those of a day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Part(Option<usize>);

impl Part {
    /// The part of this day; days are counted from 1970 on.
    pub(crate) fn of_day(day: u64) -> Self {
        Self(Some(day as usize % PARTS))
    }

    /// The part of this day for rows of a lane that itself has a day in [`PARTS`].
    pub(crate) fn of_turn(day: u64) -> Self {
        Self::of_day(day / PARTS as u64)
    }

    /// The part as `I/N`, counted from 1.
    pub(crate) fn share(self) -> String {
        match self.0 {
            Some(part) => format!("{}/{PARTS}", part + 1),
            None => "1/1".to_owned(),
        }
    }

    /// Whether the row of this index runs.
    pub(crate) fn has(self, row: usize) -> bool {
        self.0.is_none_or(|part| row % PARTS == part)
    }
}

/// What to say of the part of a day.
pub(crate) fn note(day: u64) -> String {
    let part = day as usize % PARTS + 1;
    format!(
        "day {day}: part {part} of {PARTS}; `cargo xtask ci --day {day}` repeats it, `--all` runs all"
    )
}

/// The number of this day.
pub(crate) fn today() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() / (24 * 60 * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_its_day() {
        for row in 0..10 {
            let days = (100..100 + PARTS as u64).filter(|day| Part::of_day(*day).has(row));
            assert_eq!(days.count(), 1, "row {row}");
            assert!(Part::default().has(row));
        }
    }

    /// On the days of one part, a lane that has its turn then comes to all parts of its own.
    #[test]
    fn turns_within_turns_come_to_all() {
        let days = [20_786, 20_789, 20_792];
        let parts = days.map(|day| (Part::of_day(day).share(), Part::of_turn(day).share()));
        let expected = ["2/3", "3/3", "1/3"].map(|turn| ("3/3".to_owned(), turn.to_owned()));
        assert_eq!(parts, expected);
        assert_eq!(Part::default().share(), "1/1");
    }

    #[test]
    fn the_note_says_how_to_repeat() {
        let note = note(20_786);
        assert!(note.starts_with("day 20786: part 3 of 3;"), "{note}");
        assert!(note.contains("--day 20786"), "{note}");
    }
}
