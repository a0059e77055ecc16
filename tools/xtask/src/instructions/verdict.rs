//! What is allowed, and what is said about it.
//!
//! A count may exceed what is kept by its tolerance, and by what is negligible in any case. One
//! that fell below by more than that passes, but should be kept: else it could grow back unseen.

use std::fmt::Write;

use crate::instructions::counts::{Change, Counts, NEGLIGIBLE, changes};
use crate::instructions::kept::Tolerance;

/// Functions named in one report, at most, in either direction.
const NAMED: usize = 12;

/// What one path is found to be.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// As dear as before.
    Same,
    /// Dearer than is allowed.
    Dearer,
    /// Cheaper, by more than what would be allowed the other way.
    Cheaper,
    /// Not in the file.
    NotKept,
}

impl Verdict {
    /// The verdict on a path.
    pub(crate) fn of(kept: Option<&Counts>, counted: &Counts, tolerance: Tolerance) -> Self {
        let Some(kept) = kept else {
            return Self::NotKept;
        };
        let parts = [
            (kept.rust, counted.rust, tolerance.rust),
            (kept.libc, counted.libc, tolerance.libc),
        ];
        let beyond = |growth: f64, kept: f64, share: f64| growth > (kept * share).max(NEGLIGIBLE);
        let mut parts = parts.iter();
        if parts
            .clone()
            .any(|(kept, counted, share)| beyond(counted - kept, *kept, *share))
        {
            Self::Dearer
        } else if parts.any(|(kept, counted, share)| beyond(kept - counted, *kept, *share)) {
            Self::Cheaper
        } else {
            Self::Same
        }
    }

    /// The verdict as a word of a table.
    fn text(self) -> &'static str {
        match self {
            Self::Same => "ok",
            Self::Dearer => "DEARER",
            Self::Cheaper => "cheaper",
            Self::NotKept => "NOT KEPT",
        }
    }
}

/// The head of the table that [`row`] continues.
pub(crate) fn heading() -> String {
    format!(
        "{:<12} {:>9} {:>9} {:>8} {:>9} {:>9}  verdict",
        "path", "counted", "kept", "change", "libc", "kept"
    )
}

/// One path in the table.
pub(crate) fn row(name: &str, kept: Option<&Counts>, counted: &Counts, verdict: Verdict) -> String {
    let number = |count: Option<f64>| count.map_or("-".into(), |count| format!("{count:.1}"));
    let share = kept.map_or("-".into(), |kept| percent(counted.rust / kept.rust - 1.0));
    format!(
        "{name:<12} {:>9} {:>9} {share:>8} {:>9} {:>9}  {}",
        number(Some(counted.rust)),
        number(kept.map(|kept| kept.rust)),
        number(Some(counted.libc)),
        number(kept.map(|kept| kept.libc)),
        verdict.text()
    )
}

/// How a path has become dearer: sums, then the functions that grew, most first, then those that
/// shrank: part of the former may have moved into them.
pub(crate) fn report(name: &str, kept: &Counts, counted: &Counts, tolerance: Tolerance) -> String {
    let mut text = format!("{name}: instructions for one operation, before and now");
    let sums = [
        ("Rust code", kept.rust, counted.rust, tolerance.rust),
        ("libc", kept.libc, counted.libc, tolerance.libc),
    ];
    let worth_a_line = |sum: &&(_, f64, f64, _)| sum.1.max(sum.2) >= NEGLIGIBLE;
    for (what, before, after, share) in sums.iter().filter(worth_a_line) {
        let (change, allowed) = (percent(after / before - 1.0), percent(*share));
        let what = format!("{what}: {change}, allowed {allowed}");
        line(&mut text, Some(*before), Some(*after), &what);
    }
    let changes = changes(kept, counted);
    let grown = changes.iter().filter(|change| change.growth() > 0.0);
    list(&mut text, "grew:", grown);
    let shrunk = changes.iter().rev().filter(|change| change.growth() < 0.0);
    list(&mut text, "shrank:", shrunk);
    text
}

/// The functions of a count, largest first.
pub(crate) fn functions(counts: &Counts) -> String {
    let mut functions: Vec<(&String, &f64)> = counts.functions.iter().collect();
    functions.sort_by(|a, b| b.1.total_cmp(a.1));
    let lines = functions
        .iter()
        .map(|(name, count)| format!("  {count:>9.1}  {name}\n"));
    lines.collect()
}

/// Adds some changes under a title.
fn list<'a>(text: &mut String, title: &str, changes: impl Iterator<Item = &'a Change>) {
    let mut changes = changes.peekable();
    if changes.peek().is_some() {
        text.push_str("\n  ");
        text.push_str(title);
    }
    for change in changes.by_ref().take(NAMED) {
        line(text, change.before, change.after, &change.function);
    }
    let left = changes.count();
    if left > 0 {
        let _ = write!(text, "\n    and {left} others");
    }
}

/// Adds one line of two counts and what they are of.
fn line(text: &mut String, before: Option<f64>, after: Option<f64>, what: &str) {
    let number = |count: Option<f64>| count.map_or("-".into(), |count| format!("{count:.1}"));
    let _ = write!(
        text,
        "\n    {:>9} -> {:>9}  {what}",
        number(before),
        number(after)
    );
}

/// A share with its sign, which a zero has not.
fn percent(share: f64) -> String {
    let tenths = (share * 1000.0).round();
    if tenths == 0.0 {
        return "0.0 %".into();
    }
    format!("{:+.1} %", tenths / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the tests allow.
    const TOLERANCE: Tolerance = Tolerance {
        rust: 0.02,
        libc: 0.25,
    };

    /// A count of two functions and libc.
    fn counts(pop: f64, push: f64, libc: f64) -> Counts {
        let functions = [("q::pop (src/q.rs)", pop), ("q::push (src/q.rs)", push)];
        let functions = functions.into_iter().filter(|(_, count)| *count > 0.0);
        Counts {
            rust: pop + push,
            libc,
            functions: functions
                .map(|(name, count)| (name.into(), count))
                .collect(),
        }
    }

    /// The verdict against a count of 60 + 40, and 100 in libc.
    fn verdict(counted: &Counts) -> Verdict {
        Verdict::of(Some(&counts(60.0, 40.0, 100.0)), counted, TOLERANCE)
    }

    #[test]
    fn growth_beyond_the_tolerance_fails() {
        assert_eq!(verdict(&counts(60.0, 42.0, 100.0)), Verdict::Same);
        assert_eq!(verdict(&counts(60.0, 42.1, 100.0)), Verdict::Dearer);
        assert_eq!(verdict(&counts(60.0, 40.0, 125.0)), Verdict::Same);
        assert_eq!(verdict(&counts(60.0, 40.0, 126.0)), Verdict::Dearer);
    }

    #[test]
    fn what_got_cheaper_does_not_hide_what_got_dearer() {
        assert_eq!(verdict(&counts(50.0, 40.0, 100.0)), Verdict::Cheaper);
        assert_eq!(verdict(&counts(50.0, 40.0, 150.0)), Verdict::Dearer);
    }

    #[test]
    fn on_a_short_path_one_instruction_is_seen_and_noise_is_not() {
        let lock = counts(11.0, 0.0, 0.0);
        let verdict = |counted: &Counts| Verdict::of(Some(&lock), counted, TOLERANCE);
        assert_eq!(verdict(&counts(11.3, 0.0, 0.3)), Verdict::Same);
        assert_eq!(verdict(&counts(12.0, 0.0, 0.0)), Verdict::Dearer);
    }

    #[test]
    fn a_path_that_is_not_kept_is_no_success() {
        let counted = counts(1.0, 1.0, 1.0);
        assert_eq!(Verdict::of(None, &counted, TOLERANCE), Verdict::NotKept);
        assert!(row("new", None, &counted, Verdict::NotKept).ends_with("NOT KEPT"));
    }

    #[test]
    fn the_report_names_what_grew_before_what_shrank() {
        let (before, after) = (counts(60.0, 40.0, 0.1), counts(0.0, 107.0, 0.2));
        let text = report("yield", &before, &after, TOLERANCE);
        assert!(!text.contains("libc"), "there is next to nothing in it");
        let at = |part: &str| text.find(part).unwrap();
        assert!(at("100.0 ->     107.0  Rust code: +7.0 %, allowed +2.0 %") < at("grew:"));
        assert!(at("grew:") < at("40.0 ->     107.0  q::push (src/q.rs)"));
        assert!(at("q::push") < at("shrank:"));
        assert!(at("shrank:") < at("60.0 ->         -  q::pop (src/q.rs)"));
    }
}
