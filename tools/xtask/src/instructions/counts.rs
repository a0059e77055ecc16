//! What one operation of a path executes, and what has changed between two such counts.
//!
//! Rust code and C code are summed up apart: the former is ours and the compiler's, the latter is
//! libc's and changes with the distribution and the CPU.

use std::collections::BTreeMap;

/// Fewer instructions than this make a function not worth a line, and a change not a verdict.
pub(crate) const NEGLIGIBLE: f64 = 0.5;

/// Instructions for one operation.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Counts {
    /// The count of all functions written in Rust.
    pub(crate) rust: f64,
    /// The count of all others: libc, and some assembler.
    pub(crate) libc: f64,
    /// The counts by function and origin that are not negligible.
    pub(crate) functions: BTreeMap<String, f64>,
}

/// How one function differs between two counts.
#[derive(Debug, PartialEq)]
pub(crate) struct Change {
    /// Function and origin.
    pub(crate) function: String,
    /// What it executed before; `None`: nothing worth a line.
    pub(crate) before: Option<f64>,
    /// What it executes now; `None`: as above.
    pub(crate) after: Option<f64>,
}

impl Change {
    /// By how much it grew.
    pub(crate) fn growth(&self) -> f64 {
        self.after.unwrap_or(0.0) - self.before.unwrap_or(0.0)
    }
}

/// The functions that differ noticeably, the one that grew most first.
pub(crate) fn changes(before: &Counts, after: &Counts) -> Vec<Change> {
    let mut names: Vec<&String> = before.functions.keys().collect();
    names.extend(after.functions.keys());
    names.sort_unstable();
    names.dedup();
    let mut changes: Vec<Change> = names
        .into_iter()
        .map(|function| Change {
            function: function.clone(),
            before: before.functions.get(function).copied(),
            after: after.functions.get(function).copied(),
        })
        .filter(|change| change.growth().abs() >= NEGLIGIBLE)
        .collect();
    changes.sort_by(|a, b| b.growth().total_cmp(&a.growth()));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A count of these functions.
    fn counts(functions: &[(&str, f64)]) -> Counts {
        let functions = functions
            .iter()
            .map(|(name, count)| ((*name).into(), *count));
        Counts {
            functions: functions.collect(),
            ..Counts::default()
        }
    }

    #[test]
    fn what_grew_most_comes_first_and_the_unchanged_is_left_out() {
        let before = counts(&[("gone", 4.0), ("grown", 8.0), ("same", 5.0)]);
        let after = counts(&[("grown", 9.0), ("new", 3.0), ("same", 5.2)]);
        let found = changes(&before, &after);
        let names: Vec<&str> = found.iter().map(|change| &*change.function).collect();
        assert_eq!(names, ["new", "grown", "gone"]);
        assert_eq!((found[0].before, found[0].after), (None, Some(3.0)));
        assert_eq!(found[2].growth(), -4.0);
    }
}
