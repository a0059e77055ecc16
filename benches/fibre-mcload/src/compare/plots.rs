//! Figures as plots: panels of curves, or a row of dots for each point.

use fibre_measure::Series;
use fibre_measure::plot::{Axis, Curve, Dot, Dots, Panel, Plot, Row as DotsRow, Shape, Stroke};

use super::point::{Figure, Over};
use super::readings::Readings;
use super::results::{Results, Row};

/// One thing that was read.
type Read = fn(&Readings) -> &Series;

/// One thing that is shown in a panel.
struct Shown {
    /// What it is, with its unit.
    label: &'static str,
    /// The curve.
    of: Read,
    /// Where strokes through its points begin and end, if not at the least and the largest reading.
    strokes: Option<[Read; 2]>,
}

/// What every figure shows; the latencies as in the thesis.
const SHOWN: [Shown; 4] = [
    Shown {
        label: "throughput, requests/s (higher is better)",
        of: |readings| &readings.throughput,
        strokes: None,
    },
    Shown {
        label: "CPU time of the server, µs per request (lower is better)",
        of: |readings| &readings.cpu_us,
        strokes: None,
    },
    Shown {
        label: "latency, ms: mean; lines from p10 to p90 (lower is better)",
        of: |readings| &readings.mean_ms,
        strokes: Some([|readings| &readings.p10_ms, |readings| &readings.p90_ms]),
    },
    Shown {
        label: "latency, ms: 99th percentile (lower is better)",
        of: |readings| &readings.p99_ms,
        strokes: None,
    },
];

/// A figure as a plot.
pub(super) fn plot(results: &Results, figure: &Figure) -> Plot {
    let rows: Vec<&Row> = figure
        .points
        .iter()
        .filter_map(|point| results.row(point))
        .collect();
    let shape = if figure.over == Over::Variants {
        Shape::Dots(dots(results, &rows))
    } else {
        Shape::Lines(
            SHOWN
                .map(|shown| panel(results, &rows, figure.over, &shown))
                .into(),
        )
    };
    Plot {
        title: format!("Memcached: {}", figure.title),
        note: format!(
            "{} · medians of {} repetitions; thin lines: from the least to the largest",
            results.machine.place_and_day(),
            results.repetitions
        ),
        shape,
    }
}

/// A row for each point, a dot for each server.
fn dots(results: &Results, rows: &[&Row]) -> Dots {
    let row = |row: &&Row| DotsRow {
        name: format!(
            "pipeline {}, updates {}",
            row.point.pipeline, row.point.update
        ),
        dots: results
            .servers
            .iter()
            .zip(&row.readings)
            .map(|(server, readings)| Dot {
                subject: server.name.clone(),
                figure: readings.cpu_us.median(),
                spread: readings.cpu_us.minimum()..readings.cpu_us.maximum(),
            })
            .collect(),
        bar: None,
    };
    Dots {
        label: "CPU time of the server, µs per request (lower is better)".into(),
        rows: rows.iter().map(row).collect(),
    }
}

/// One thing over an axis, a curve for each server.
fn panel(results: &Results, rows: &[&Row], over: Over, shown: &Shown) -> Panel {
    let x = match over {
        Over::Connections => Axis::logarithmic("connections"),
        Over::Updates => Axis::linear("share of updates"),
        Over::Cores => Axis::count("cores of the server"),
        Over::Rate | Over::Variants => Axis::linear("share of the first server's rate"),
    };
    let servers = results.servers.iter().enumerate();
    Panel {
        caption: String::new(),
        x,
        y: Axis::linear(shown.label),
        curves: servers
            .filter(|(_, server)| !server.is_variant)
            .map(|(index, server)| Curve {
                subject: server.name.clone(),
                points: points(rows, index, over, shown),
                strokes: strokes(rows, index, over, shown),
            })
            .collect(),
    }
}

/// The medians of one server.
fn points(rows: &[&Row], index: usize, over: Over, shown: &Shown) -> Vec<(f64, f64)> {
    let point = |row: &&Row| {
        (
            row.point.along(over),
            (shown.of)(&row.readings[index]).median(),
        )
    };
    rows.iter()
        .map(point)
        .filter(|(_, median)| median.is_finite())
        .collect()
}

/// The strokes of one server: quantiles, or how far the repetitions lie apart.
fn strokes(rows: &[&Row], index: usize, over: Over, shown: &Shown) -> Vec<Stroke> {
    let stroke = |row: &&Row| {
        let readings = &row.readings[index];
        let ends = match shown.strokes {
            Some([from, to]) => from(readings).median()..to(readings).median(),
            None => (shown.of)(readings).minimum()..(shown.of)(readings).maximum(),
        };
        (row.point.along(over), ends)
    };
    rows.iter()
        .map(stroke)
        .filter(|(_, ends)| ends.start.is_finite() && ends.end.is_finite())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_axis_says_which_direction_is_better() {
        for shown in SHOWN {
            assert!(shown.label.ends_with(" is better)"), "{}", shown.label);
        }
    }
}
