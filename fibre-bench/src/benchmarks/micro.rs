//! Benchmarks of one operation: how a family of them is run and printed.
//!
//! Each repetition is a process of its own, pinned to one core: this program
//! again, with the hidden command `micro`. That process raises the number of
//! operations until they take as long as asked, so earlier rounds warm it up,
//! and prints the last round as JSON.

use std::env;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;

use crate::measure::{Sample, Series};
use crate::plan::{self, Plan};
use crate::process::{self, Cores, Pinned as _};
use crate::report::{self, Measurement, Report};

/// Cases that belong together: one benchmark.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) cases: &'static [Case],
}

/// One thing to measure, by several subjects.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// What is counted as one operation.
    pub(crate) operation: &'static str,
    /// CPU nanoseconds per operation ours has to reach.
    pub(crate) to_reach: f64,
    /// Fewest operations that make sense, where a round starts.
    pub(crate) fewest: u64,
    pub(crate) subjects: &'static [Subject],
}

/// A runtime and its way to do so many operations.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) run: fn(u64) -> anyhow::Result<Sample>,
}

/// The subject the others are compared with.
const OURS: &str = "fibre";
/// Repetitions unless asked for another number.
const REPETITIONS: usize = 15;
/// How much longer than asked for a repetition may take before it counts as
/// hung.
const PATIENCE: Duration = Duration::from_secs(30);

/// A subject and its readings.
struct Row {
    subject: &'static str,
    cpu_ns: Series,
    wall_ns: Series,
}

/// Runs a family and prints its table.
pub(crate) fn run(family: &Family, plan: &Plan, report: &mut Report) -> anyhow::Result<()> {
    let repetitions = plan.repetitions(REPETITIONS);
    println!(
        "{repetitions} repetitions on one core; CPU ns (user and system, whole process) per operation;\n\
         × ours is the ratio of minima, × ours (paired) the median of the ratios within each \
         repetition; above 1, ours is faster.\n"
    );
    let mut table = report::table(
        &[
            "case",
            "subject",
            "minimum",
            "median",
            "spread",
            "× ours",
            "× ours (paired)",
            "to reach",
            "wall ns (minimum)",
        ],
        2,
    );
    let steps = family
        .cases
        .iter()
        .map(|case| case.subjects.len())
        .sum::<usize>();
    let bar = plan::progress(steps * repetitions);
    for case in family.cases {
        let rows = measure_case(family, case, plan, &bar, report)?;
        print_case(case, &rows, &mut table);
        add(family, case, rows, report);
    }
    bar.finish_and_clear();
    println!("{table}");
    Ok(())
}

/// All repetitions of a case, its subjects taking turns. A subject that fails
/// is a fault and gets no further turn.
fn measure_case(
    family: &Family,
    case: &'static Case,
    plan: &Plan,
    bar: &indicatif::ProgressBar,
    report: &mut Report,
) -> anyhow::Result<Vec<Row>> {
    let core = Cores::choose()?.measured;
    let wanted = case
        .subjects
        .iter()
        .filter(|subject| plan.wants(subject.name));
    let mut rows: Vec<Row> = wanted.map(|subject| Row::new(subject.name)).collect();
    for _ in 0..plan.repetitions(REPETITIONS) {
        rows.retain_mut(|row| {
            bar.set_message(format!("{} {}: {}", family.name, case.name, row.subject));
            let measured = measure_apart(
                family,
                case,
                row.subject,
                plan.seconds(if plan.quick { 0.02 } else { 0.1 }),
                core,
            );
            bar.inc(1);
            match measured {
                Ok(sample) => row.push(sample),
                Err(ref error) => {
                    let what = format!("{} {}: {}", family.name, case.name, row.subject);
                    report.fault(format!("{what}: {error:#}"));
                }
            }
            measured.is_ok()
        });
    }
    Ok(rows)
}

/// One repetition in a process of its own.
fn measure_apart(
    family: &Family,
    case: &Case,
    subject: &str,
    seconds: f64,
    core: usize,
) -> anyhow::Result<Sample> {
    let mut command = Command::new(env::current_exe()?);
    command
        .args(["micro", family.name, case.name, subject])
        .args(["--seconds", &seconds.to_string()])
        .stdin(Stdio::null())
        .pinned(core);
    let limit = PATIENCE + Duration::from_secs_f64(seconds);
    let output = process::output_within(&mut command, limit)?;
    serde_json::from_str(&output).context("reading a repetition's result")
}

impl Case {
    /// One repetition in this process: rounds of more and more operations, of
    /// which the last is long enough.
    pub(crate) fn measure_here(&self, subject: &str, seconds: f64) -> anyhow::Result<Sample> {
        let subject = self.subjects.iter().find(|row| row.name == subject);
        let subject = subject.context("there is no such subject")?;
        let mut operations = self.fewest;
        let mut fastest = f64::INFINITY;
        loop {
            let sample = (subject.run)(operations)?;
            // Judged by the fastest round so far: a disturbance can make a
            // round of few operations long, but not one of many short.
            fastest = fastest.min(sample.cpu_ns);
            let length = fastest * sample.operations as f64 / 1e9;
            if length >= seconds {
                return Ok(sample);
            }
            // Far from the end grow fast; near it aim a little beyond.
            let growth = (seconds * 1.1 / length).min(8.0);
            operations = (operations as f64 * growth).ceil() as u64;
        }
    }
}

impl Row {
    fn new(subject: &'static str) -> Self {
        Self {
            subject,
            cpu_ns: Series::default(),
            wall_ns: Series::default(),
        }
    }

    fn push(&mut self, sample: Sample) {
        self.cpu_ns.push(sample.cpu_ns);
        self.wall_ns.push(sample.wall_ns);
    }
}

/// Adds the rows of a case to the table.
fn print_case(case: &Case, rows: &[Row], table: &mut comfy_table::Table) {
    let ours = rows.iter().find(|row| row.subject == OURS);
    let ours = ours.map_or_else(Series::default, |row| row.cpu_ns.clone());
    for row in rows {
        let minimum = row.cpu_ns.minimum();
        table.add_row([
            format!("{}, per {}", case.name, case.operation),
            row.subject.into(),
            report::figure(minimum),
            report::figure(row.cpu_ns.median()),
            report::percent(row.cpu_ns.spread()),
            report::ratio(minimum / ours.minimum()),
            report::ratio(row.cpu_ns.paired(&ours).median()),
            report::target(minimum, (row.subject == OURS).then_some(case.to_reach)),
            report::figure(row.wall_ns.minimum()),
        ]);
    }
}

/// Hands the readings of a case to the report.
fn add(family: &Family, case: &Case, rows: Vec<Row>, report: &mut Report) {
    for row in rows {
        let to_reach = (row.subject == OURS).then_some(case.to_reach);
        for (metric, to_reach, readings) in [
            ("cpu per operation", to_reach, row.cpu_ns),
            ("wall time per operation", None, row.wall_ns),
        ] {
            report.add(Measurement {
                benchmark: family.name,
                case: case.name.into(),
                subject: row.subject.into(),
                metric,
                unit: "ns",
                to_reach,
                readings,
            });
        }
    }
}
