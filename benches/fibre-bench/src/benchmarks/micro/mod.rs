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
use crate::process::valgrind;
use crate::report::{Measurement, OURS, Report};
use fibre_measure::Cores;
use fibre_measure::Series;

use case::Seen;
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
    report.picture(family.name);
    Ok(())
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
        let wants = |from| case.metrics.iter().any(|metric| metric.from == from);
        let seen = Seen {
            unit_ns: match wants(From::Ideal) {
                true => ideal::unit_ns(&row.peer, self.cores)?,
                false => f64::NAN,
            },
            instructions: match wants(From::Instructions) {
                true => self.instructions(row, &job)?,
                false => f64::NAN,
            },
            shape: ideal::Shape::of(&job),
            sample: row.peer.measure(&job, self.cores)?,
        };
        for (metric, readings) in case.metrics.iter().zip(&mut row.readings) {
            readings.push(metric.reading(&seen));
        }
        Ok(())
    }

    /// Instructions per operation: counted at the first repetition, because each would give the
    /// same; of all but our usual one only where things are measured in earnest.
    fn instructions(&self, row: &Row, job: &Job<'_>) -> anyhow::Result<f64> {
        let repeated = row.readings.iter().any(|readings| !readings.is_empty());
        let left_out = self.plan.is_quick() && row.peer.name != OURS;
        if repeated || left_out || !valgrind::installed() {
            return Ok(f64::NAN);
        }
        Ok(row.peer.instructions(job)?.unwrap_or(f64::NAN))
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
                read: case.read(metric),
                goal: metric.goal.filter(|_| row.peer.name == case.ours()),
                readings: readings.clone(),
            });
        }
    }
}
