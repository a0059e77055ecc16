//! A plot of latencies: what a part of all messages exceeds, the rarer the farther to the right.
//!
//! Each step to the right leaves a tenth of the messages, which is what letter-value plots do by
//! halves.

use super::super::micro::Family;
use crate::report::Report;
use fibre_measure::plot::{Axis, Curve, Panel, Plot, Shape};

/// The metrics that are drawn, and one in how many messages exceeds each.
const DRAWN: [(&str, f64); 5] = [
    ("median", 2.0),
    ("90 %", 10.0),
    ("99 %", 100.0),
    ("99.9 %", 1e3),
    ("99.99 %", 1e4),
];

/// Draws a panel for each case, with the medians of all repetitions.
pub(super) fn draw(family: &Family, report: &mut Report) -> anyhow::Result<()> {
    let panels = family
        .cases
        .iter()
        .map(|case| panel(family, &case.title(), report));
    let plot = Plot {
        title: format!("{}: how long messages are on their way", family.name),
        shape: Shape::Lines(panels.collect()),
    };
    report.plot(&format!("{}-latency", family.name), &plot)
}

/// The panel of a case.
fn panel(family: &Family, case: &str, report: &Report) -> Panel {
    let mut curves: Vec<Curve> = Vec::new();
    for (metric, one_in) in DRAWN {
        let of_metric = report.of(family.name).filter(|one| one.metric == metric);
        for one in of_metric.filter(|one| one.case == case) {
            let micros = one.readings.median();
            if !micros.is_finite() {
                continue; // it reports no latencies
            }
            let known = curves.iter_mut().find(|curve| curve.subject == one.subject);
            match known {
                Some(curve) => curve.points.push((one_in, micros)),
                None => curves.push(Curve {
                    subject: one.subject.clone(),
                    points: vec![(one_in, micros)],
                    strokes: Vec::new(),
                }),
            }
        }
    }
    Panel {
        caption: case.to_owned(),
        x: Axis::logarithmic("one message in so many takes longer"),
        y: Axis::logarithmic("µs"),
        curves,
    }
}
