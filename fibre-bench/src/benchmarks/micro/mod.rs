//! Benchmarks of one operation: how a family of them is run and printed.
//!
//! A case names a workload of the peer protocol and its parameters; every peer
//! that offers the workload is measured. Repetitions of all peers take turns,
//! each in a process of its own, which raises the number of operations until
//! they take as long as asked and reports the last round.

mod case;
mod subjects;
mod table;

use indicatif::ProgressBar;

use super::ideal;
use crate::peers::{Job, Peer};
use crate::plan::{self, Plan, Run};
use crate::process::Cores;
use crate::report::{Measurement, OURS, Report};
use crate::series::Series;

pub(crate) use case::{Case, Family, From, Layout, Metric};

/// A peer and its readings, one series for each metric.
struct Row {
    peer: Peer,
    readings: Vec<Series>,
}

/// Runs a family, prints its table and draws its plot.
pub(crate) fn run(family: &Family, run: &mut Run) -> anyhow::Result<()> {
    let Run {
        plan,
        cores,
        peers,
        report,
        ..
    } = run;
    report.paragraph(family.about);
    let steps: usize = family
        .cases
        .iter()
        .map(|case| case.steps(peers, plan))
        .sum();
    let bar = plan::progress(steps);
    for case in family.cases {
        if case.processors > cores.count() {
            report.note(format!(
                "{} {}: needs {} processors",
                family.name, case.name, case.processors
            ));
            continue;
        }
        let turns = Turns {
            family,
            case,
            plan,
            cores,
            bar: &bar,
        };
        let rows = turns.take(peers, report);
        add(family, case, &rows, report);
    }
    bar.finish_and_clear();
    match family.layout {
        Layout::Cases => table::print(family, report),
        Layout::Subjects => subjects::print(family, report),
    }
    table::draw(family, report)
}

/// All repetitions of a case.
struct Turns<'a> {
    family: &'a Family,
    case: &'a Case,
    plan: &'a Plan,
    cores: &'a Cores,
    bar: &'a ProgressBar,
}

impl Turns<'_> {
    /// Lets the peers take turns. One that fails is a fault and gets no further
    /// turn.
    fn take(&self, peers: &[Peer], report: &mut Report) -> Vec<Row> {
        let row = |peer| Row {
            peer,
            readings: vec![Series::default(); self.case.metrics.len()],
        };
        let subjects = self.case.subjects(peers, self.plan);
        let mut rows: Vec<Row> = subjects.into_iter().map(row).collect();
        for _ in 0..self.plan.repetitions(self.case.repetitions) {
            rows.retain_mut(|row| {
                let what = format!("{} {}: {}", self.family.name, self.case.name, row.peer.name);
                self.bar.set_message(what.clone());
                let measured = self.measure(row);
                self.bar.inc(1);
                if let Err(error) = &measured {
                    report.fault(format!("{what}: {error:#}"));
                }
                measured.is_ok()
            });
        }
        rows
    }

    /// One repetition of one peer.
    fn measure(&self, row: &mut Row) -> anyhow::Result<()> {
        let case = self.case;
        let parameters = if self.plan.is_quick() && !case.quick.is_empty() {
            case.quick
        } else {
            case.parameters
        };
        let job = Job {
            workload: case.workload,
            parameters,
            processors: case.processors,
            seconds: self.plan.seconds(case.seconds),
        };
        let shape = ideal::Shape::of(&job);
        let wants_unit = case.metrics.iter().any(|metric| metric.from == From::Ideal);
        let unit_ns = if wants_unit {
            ideal::unit_ns(&row.peer, self.cores)?
        } else {
            f64::NAN
        };
        let sample = row.peer.measure(&job, self.cores)?;
        for (metric, readings) in case.metrics.iter().zip(&mut row.readings) {
            readings.push(metric.read(&sample, shape, unit_ns));
        }
        Ok(())
    }
}

/// Hands the readings of a case to the report.
fn add(family: &Family, case: &Case, rows: &[Row], report: &mut Report) {
    for row in rows {
        for (metric, readings) in case.metrics.iter().zip(&row.readings) {
            report.add(Measurement {
                benchmark: family.name,
                case: case.title(),
                subject: row.peer.name.clone(),
                metric: metric.name,
                unit: metric.unit,
                better: metric.better,
                read: case.read(),
                goal: metric.goal.filter(|_| row.peer.name == OURS),
                readings: readings.clone(),
            });
        }
    }
}
