//! Table, plot and measurements of the curves.

use comfy_table::Table;
use fibre_bench::queueing::Program;
use fibre_bench::queueing::virtual_cores::Setting;
use fibre_measure::format;
use fibre_measure::plot::{Axis, Curve, Panel, Plot, Shape};

use super::curves::{Curves, Point};
use crate::report::{Better, Measurement, OURS, Read, Report};
use fibre_measure::Series;

/// What all figures here are called.
const BENCHMARK: &str = "utilisation";

/// The simulations.
const EXPONENTIAL: &str = "simulated, exponential";
const CONSTANT: &str = "simulated, constant";

/// Points that a simulation has in the plot, about.
const MARKS: usize = 16;

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
pub(super) fn write(report: &mut Report, curves: &Curves, setting: &Setting) -> anyhow::Result<()> {
    report.section(&format!(
        "{BENCHMARK}: cores that a program with locks uses, by models, simulations, and fibres"
    ));
    report.paragraph(&sentence(curves, setting));
    report.table(&table(curves));
    let plot = Plot {
        title: format!(
            "Utilisation with {} locks, {}",
            curves.program.locks(),
            loops(&curves.program)
        ),
        shape: Shape::Lines(vec![panel(curves, report.machine.place_and_day())]),
    };
    report.plot(BENCHMARK, &plot)?;
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
    Ok(())
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

/// All curves in one coordinate system. Simulations have a dot here and there and come first, so
/// that the line of MVA lies over the simulation that agrees with it.
fn panel(curves: &Curves, caption: String) -> Panel {
    let simulated = |name| name == EXPONENTIAL || name == CONSTANT;
    let mut all = THEORY;
    all.sort_by_key(|&(name, _)| !simulated(name));
    let theory = all.into_iter().map(|(name, value)| {
        let step = match simulated(name) {
            true => curves.points.len().div_ceil(MARKS),
            false => 1,
        };
        curve(curves, name, value, step.max(1))
    });
    let ours = curve(curves, OURS, |point| point.measured.median(), 1);
    Panel {
        caption,
        x: Axis::count("threads"),
        y: Axis::linear("utilisation, cores"),
        curves: theory.chain([ours]).collect(),
    }
}

/// A curve through every `step`-th point, counted from the last.
fn curve(curves: &Curves, subject: &str, value: Value, step: usize) -> Curve {
    let points = curves.points.iter().rev().step_by(step);
    let mut points: Vec<(f64, f64)> = points
        .map(|point| (point.theory.threads as f64, value(point)))
        .collect();
    points.reverse();
    Curve {
        subject: subject.into(),
        points,
        strokes: Vec::new(),
    }
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
