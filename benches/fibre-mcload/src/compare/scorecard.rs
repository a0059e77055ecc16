//! How servers stand against the first one, in one table for all and one for each that has to be as
//! good.

use std::iter;

use comfy_table::Table;
use fibre_measure::format::{self, figure, ratio};

use super::results::{Comparison, Mark, Results, Row};

/// How many bytes an idle connection may cost more than one of the first server.
const IDLE_ABOVE: f64 = 8000.0;

/// How it is read.
pub(super) const LEGEND: &str = "\
`×` is a ratio to the first server: the median over the repetitions, each paired with the first server's reading of the same
repetition; *from – to* are the least and the greatest of them. What has to be reached: at least as many requests per second, and a 99th percentile
of the latency that is no longer. **reached**: in the median, to a hundredth; *level*: not in the median, but in at least one
repetition; **short**: in none. CPU time for a request has no bar of its own.";

/// A comparison of one thing at a point.
type Compared = fn(&Row, usize) -> Option<Comparison>;

/// A row for each server but the first.
pub(super) fn overview(results: &Results) -> Table {
    let header = [
        "server",
        "points",
        "requests/s: reached, level, short",
        "mean ×",
        "least ×",
        "p99: reached, level, short",
        "mean ×",
        "greatest ×",
        "CPU: mean ×",
        "idle connection: bytes above",
    ];
    let mut table = format::table(&header, 1);
    for (index, server) in results.servers.iter().enumerate().skip(1) {
        if server.is_variant {
            continue;
        }
        let all = |of: Compared| -> Vec<Comparison> {
            results
                .judged_rows()
                .filter_map(|row| of(row, index))
                .collect()
        };
        let (throughput, p99, cpu) = (all(Row::throughput), all(Row::p99), all(Row::cpu));
        let medians = |all: &[Comparison]| -> Vec<f64> {
            all.iter().map(|comparison| comparison.median).collect()
        };
        table.add_row([
            server.name.clone(),
            cpu.len().to_string(),
            counts(&throughput),
            ratio(mean(&medians(&throughput))),
            ratio(
                medians(&throughput)
                    .into_iter()
                    .fold(f64::INFINITY, f64::min),
            ),
            counts(&p99),
            ratio(mean(&medians(&p99))),
            ratio(medians(&p99).into_iter().fold(0.0, f64::max)),
            ratio(mean(&medians(&cpu))),
            above(results, index),
        ]);
    }
    table
}

/// Bytes of an idle connection above the first server's, with a mark for those that this matters
/// for.
fn above(results: &Results, index: usize) -> String {
    let Some(above) = results.idle_above(index) else {
        return "–".into();
    };
    let mark = if above <= IDLE_ABOVE {
        Mark::Reached
    } else {
        Mark::Short
    };
    let words = figure(above.round());
    if results.judged().contains(&index) {
        format!("{words} (≤ {}: {})", figure(IDLE_ABOVE), mark.word())
    } else {
        words
    }
}

/// How often each mark was given.
fn counts(all: &[Comparison]) -> String {
    let count = |mark| {
        all.iter()
            .filter(|comparison| comparison.mark == mark)
            .count()
            .to_string()
    };
    [Mark::Reached, Mark::Level, Mark::Short]
        .map(count)
        .join(", ")
}

/// The geometric mean, which treats half and double alike.
fn mean(ratios: &[f64]) -> f64 {
    let sum: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (sum / ratios.len() as f64).exp()
}

/// A row for each point, of one server.
pub(super) fn scorecard(results: &Results, index: usize) -> Table {
    let header = [
        "load",
        "requests/s ×",
        "from – to",
        "mark",
        "p99 ×",
        "from – to",
        "mark",
        "CPU ×",
    ];
    let mut table = format::table(&header, 1);
    for row in results.judged_rows() {
        let cells = iter::once(row.point.words())
            .chain(verdict(row.throughput(index)))
            .chain(verdict(row.p99(index)));
        let cpu = row
            .cpu(index)
            .map_or_else(String::new, |cpu| ratio(cpu.median));
        table.add_row(cells.chain([cpu]));
    }
    table
}

/// Ratio, range and mark; nothing where there is nothing to compare.
fn verdict(comparison: Option<Comparison>) -> [String; 3] {
    comparison.map_or_else(Default::default, |comparison| {
        [
            ratio(comparison.median),
            format!(
                "{} – {}",
                ratio(comparison.least),
                ratio(comparison.greatest)
            ),
            comparison.mark.word().into(),
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_and_double_make_one() {
        assert!((mean(&[0.5, 2.0]) - 1.0).abs() < 1e-9);
        assert!(mean(&[]).is_nan());
    }
}
