//! Figures as plots: panels of curves, or a row of dots for each point.

use fibre_measure::Series;
use fibre_measure::plot::{Axis, Curve, Dots, Panel, Plot, Row as DotsRow, Shape, Stroke};

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
    /// Where strokes through its points begin and end.
    strokes: Option<[Read; 2]>,
}

/// What every figure shows; the latencies as in the thesis.
const SHOWN: [Shown; 4] = [
    Shown {
        label: "requests/s",
        of: |readings| &readings.throughput,
        strokes: None,
    },
    Shown {
        label: "server CPU, µs/request",
        of: |readings| &readings.cpu_us,
        strokes: None,
    },
    Shown {
        label: "latency, ms: mean, and from p10 to p90",
        of: |readings| &readings.mean_ms,
        strokes: Some([|readings| &readings.p10_ms, |readings| &readings.p90_ms]),
    },
    Shown {
        label: "latency, ms: p99",
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
        title: figure.title.clone(),
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
            .map(|(server, readings)| (server.name.clone(), readings.cpu_us.median()))
            .collect(),
        bar: None,
    };
    Dots {
        label: "server CPU, µs/request".into(),
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

/// The strokes of one server.
fn strokes(rows: &[&Row], index: usize, over: Over, shown: &Shown) -> Vec<Stroke> {
    let Some([from, to]) = shown.strokes else {
        return Vec::new();
    };
    let stroke = |row: &&Row| {
        let readings = &row.readings[index];
        (
            row.point.along(over),
            from(readings).median()..to(readings).median(),
        )
    };
    rows.iter()
        .map(stroke)
        .filter(|(_, ends)| ends.start.is_finite() && ends.end.is_finite())
        .collect()
}
