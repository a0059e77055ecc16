//! How evenly those who compete get on.
//!
//! For each contest that criterion has timed, a second one is held over a fixed time, and
//! a table of them is printed after the group: operations a second of all together,
//! Jain's index (Σx)² / (n Σx²) of the operations of each, which is 1 when all did the
//! same and 1/n when one did everything, and the smallest and the largest share.

use super::contest::{Contest, Shares};
use super::groups::{Group, measuring};
use criterion::BenchmarkId;
use std::time::Duration;

/// How long a contest of the table lasts in a measurement.
const WINDOW: Duration = Duration::from_millis(200);
/// And when nothing is measured.
const SHORT_WINDOW: Duration = Duration::from_millis(1);

/// The table of one group.
#[derive(Default)]
pub(crate) struct Fairness {
    /// Its lines, without the heading.
    lines: Vec<String>,
}

impl Fairness {
    /// Adds the contest as a member to the group, and to the table unless criterion has
    /// left it out.
    pub(crate) fn add<O: Fn() + Send + Sync + 'static>(
        &mut self,
        group: &mut Group<'_>,
        (name, parameter): (&str, &str),
        contest: &Contest<'_, O>,
    ) {
        let mut timed = false;
        group.bench_function(BenchmarkId::new(name, parameter), |bencher| {
            timed = true;
            bencher.iter_custom(|operations| contest.time(operations));
        });
        if timed {
            let window = if measuring() { WINDOW } else { SHORT_WINDOW };
            let shares = contest.shares(window);
            self.lines.push(line(name, parameter, &shares));
        }
    }

    /// Prints the table, if there is anything in it.
    pub(crate) fn print(&self) {
        if self.lines.is_empty() {
            return;
        }
        println!(
            "{:<24} {:<8} {:>10} {:>6} {:>9} {:>9}",
            "fairness", "", "million/s", "Jain", "least", "most"
        );
        for line in &self.lines {
            println!("{line}");
        }
        println!();
    }
}

/// A line of the table.
fn line(name: &str, parameter: &str, shares: &Shares) -> String {
    let counts = &shares.counts;
    let total: u64 = counts.iter().sum();
    let share = |count: Option<&u64>| {
        let count = count.copied().unwrap_or_default();
        format!("{:.1} %", 100.0 * count as f64 / total.max(1) as f64)
    };
    format!(
        "{name:<24} {parameter:<8} {:>10.3} {:>6.3} {:>9} {:>9}",
        total as f64 / shares.elapsed.as_secs_f64() / 1e6,
        jain(counts),
        share(counts.iter().min()),
        share(counts.iter().max()),
    )
}

/// Jain's fairness index; 1 if nobody has done anything.
fn jain(counts: &[u64]) -> f64 {
    let sum: f64 = counts.iter().map(|count| *count as f64).sum();
    let squares: f64 = counts.iter().map(|count| (*count as f64).powi(2)).sum();
    if squares == 0.0 {
        return 1.0;
    }
    sum * sum / (counts.len() as f64 * squares)
}
