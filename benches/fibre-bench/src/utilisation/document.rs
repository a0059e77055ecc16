//! Table, plot and measurements of the curves.

use comfy_table::Table;
use fibre_bench::queueing::Program;
use fibre_bench::queueing::virtual_cores::Setting;
use fibre_measure::format;

use super::curves::{Curves, Point};
use crate::report::{Better, Measurement, OURS, Read, Report};
use fibre_measure::Series;

/// What all figures here are called.
const BENCHMARK: &str = "utilisation";

/// The simulations.
const EXPONENTIAL: &str = "simulated, exponential";
const CONSTANT: &str = "simulated, constant";

/// The height of a curve at a point.
type Value = fn(&Point) -> f64;

/// The curves of theory: what each is called, and its values.
const THEORY: [(&str, Value); 4] = [
    ("probabilistic model", |point| point.theory.probabilistic),
    ("MVA", |point| point.theory.mva),
    (EXPONENTIAL, |point| point.theory.exponential),
    (CONSTANT, |point| point.theory.constant),
];

/// Adds everything to the report.
pub(super) fn write(report: &mut Report, curves: &Curves, setting: &Setting) {
    report.section(&format!(
        "{BENCHMARK}: cores that a program with locks uses, by models, simulations, and fibres"
    ));
    report.paragraph(&sentence(curves, setting));
    report.table(&table(curves));
    for point in &curves.points {
        for (subject, value) in THEORY {
            report.add(measurement(
                point,
                subject,
                Series::from_iter([value(point)]),
            ));
        }
        report.add(measurement(point, OURS, point.measured.clone()));
    }
    report.picture(BENCHMARK);
}

/// What was computed and measured.
fn sentence(curves: &Curves, setting: &Setting) -> String {
    let program = &curves.program;
    let repetitions = curves
        .points
        .first()
        .map_or(0, |point| point.measured.len());
    format!(
        "{} locks, {}, so at most {:.1} cores. `{OURS}` is measured: fibres that sleep instead of computing, on {} processors, \
         for {} each; a core is used whenever a loop sleeps. The \
         median of {} measurements stands here. *Overhead* is what the measured figure misses of the simulation of \
         constant loops.",
        program.locks(),
        loops(program),
        program.limit(),
        setting.processors,
        humantime::format_duration(setting.window),
        repetitions
    )
}

/// The lengths of both loops.
fn loops(program: &Program) -> String {
    format!(
        "critical {}, outside {}",
        humantime::format_duration(program.critical()),
        humantime::format_duration(program.outside())
    )
}

/// A row for each number of threads.
fn table(curves: &Curves) -> Table {
    let mut header = vec!["threads"];
    header.extend(THEORY.iter().map(|(name, _)| *name));
    header.extend([OURS, "overhead"]);
    let mut table = format::table(&header, 0);
    for point in &curves.points {
        let measured = point.measured.median();
        let mut row = vec![point.theory.threads.to_string()];
        row.extend(
            THEORY
                .iter()
                .map(|(_, value)| format!("{:.4}", value(point))),
        );
        row.push(format!("{measured:.4}"));
        row.push(format!(
            "{:.1} %",
            100.0 * (1.0 - measured / point.theory.constant)
        ));
        table.add_row(row);
    }
    table
}

/// One figure of one curve.
fn measurement(point: &Point, subject: &str, readings: Series) -> Measurement {
    Measurement {
        benchmark: BENCHMARK,
        case: format!("{} threads", point.theory.threads),
        subject: subject.into(),
        metric: "utilisation",
        unit: "cores",
        better: Better::Higher,
        read: Read::Median,
        goal: None,
        readings,
    }
}
