//! All servers under the same load, taking turns, and the table they end in.
//!
//! When all repetitions are over, each server serves once more under strace, for
//! the count of its system calls.

use super::calls::Counts;
use super::serve::{Served, Setting};
use super::turns::{self, Row};
use crate::plan::Run;
use crate::process::strace;
use crate::report::format::{self, figure, percent, ratio};
use crate::report::{Better, Goal, Measurement, Read, Report};
use crate::servers::ServerProgram;

/// The server that the others are compared with.
pub(super) const LIMIT: &str = "epoll";

/// Seconds of the run under strace.
const TRACED: f64 = 0.25;

/// A case of a benchmark.
pub(super) struct Contest {
    pub(super) benchmark: &'static str,
    pub(super) case: String,
    pub(super) setting: Setting,
    pub(super) repetitions: usize,
    /// The one that has to reach something.
    pub(super) ours: &'static str,
    /// The servers that compete.
    pub(super) servers: Vec<ServerProgram>,
    /// Whether system calls are counted.
    pub(super) is_traced: bool,
    /// What ours has to reach in CPU time, and in latency.
    pub(super) cpu_goal: Option<Goal>,
    pub(super) p99_goal: Option<Goal>,
}

/// A kind of reading.
struct Metric {
    name: &'static str,
    unit: &'static str,
    better: Better,
    read: Read,
}

/// What the CPU time is called.
const CPU: &str = "CPU time";

/// The readings of a repetition, in the order of [`Served::readings`].
const METRICS: [Metric; 5] = [
    Metric {
        name: CPU,
        unit: "µs",
        better: Better::Lower,
        read: Read::Best,
    },
    Metric {
        name: "throughput",
        unit: "requests/s",
        better: Better::Higher,
        read: Read::Median,
    },
    latency("p50"),
    latency("p99"),
    latency("p99.9"),
];

/// What the traced run reads.
const CALLS: Metric = Metric {
    name: "system calls",
    unit: "calls",
    better: Better::Lower,
    read: Read::Best,
};

/// A quantile of the latency.
const fn latency(name: &'static str) -> Metric {
    Metric {
        name,
        unit: "ms",
        better: Better::Lower,
        read: Read::Median,
    }
}

impl Served {
    /// The readings, in the order of [`METRICS`].
    fn readings(&self) -> [f64; METRICS.len()] {
        let [p50, p99, p999] = self.quantiles_ms;
        [self.cpu_us, self.requests_per_second, p50, p99, p999]
    }
}

impl Contest {
    /// Measures all servers and adds table and measurements to the report.
    pub(super) fn hold(&self, run: &mut Run) {
        let what = format!("{} {}", self.benchmark, self.case);
        let rows = turns::take(
            run,
            (&what, &self.servers),
            self.repetitions,
            |run, server| {
                let served = self.setting.measure(run, server)?;
                Ok(served.map(|served| served.readings()))
            },
        );
        let names: Vec<String> = rows.iter().map(|row| row.server.clone()).collect();
        self.add(rows, &METRICS, &mut run.report);
        if strace::installed() && self.is_traced {
            let traced = Setting {
                seconds: TRACED,
                ..self.setting
            };
            let rows = turns::take(run, (&what, &self.servers), 1, |run, server| {
                let counts = Counts::of(run, server, &traced)?;
                Ok(counts.map(|counts| [counts.per_request()]))
            });
            self.add(rows, &[CALLS], &mut run.report);
        }
        self.print(&names, run);
    }

    /// Hands readings to the report.
    fn add<const N: usize>(&self, rows: Vec<Row<N>>, metrics: &[Metric; N], report: &mut Report) {
        for row in rows {
            for (metric, readings) in metrics.iter().zip(row.readings) {
                let goal = match metric.name {
                    CPU => self.cpu_goal,
                    "p99" => self.p99_goal,
                    _ => None,
                };
                report.add(Measurement {
                    benchmark: self.benchmark,
                    case: self.case.clone(),
                    subject: row.server.clone(),
                    metric: metric.name,
                    unit: metric.unit,
                    better: metric.better,
                    read: metric.read,
                    goal: goal.filter(|_| row.server == self.ours),
                    readings,
                });
            }
        }
    }

    /// Adds the table.
    fn print(&self, names: &[String], run: &mut Run) {
        let header = [
            "server",
            "CPU µs/request: minimum",
            "median",
            "spread",
            "× epoll",
            "paired",
            "to reach",
            "requests/s",
            "p50 ms",
            "p99 ms",
            "p99.9 ms",
            "system calls",
        ];
        let mut table = format::table(&header, 1);
        let report = &mut run.report;
        for name in names {
            table.add_row(self.row(name, report));
        }
        let absent = run.absent.iter().filter(|one| run.plan.wants(one.name));
        for one in absent {
            let why = format!("not installed ({})", one.package);
            table.add_row([one.name.into(), why]);
        }
        report.paragraph(&format!("**{}**", self.case));
        report.table(&table);
    }

    /// The row of a server that was measured.
    fn row(&self, name: &str, report: &Report) -> Vec<String> {
        let find = |subject: &str, metric: &str| {
            let mut all = report.of(self.benchmark);
            all.find(|one| one.case == self.case && one.subject == subject && one.metric == metric)
        };
        let Some(cpu) = find(name, CPU) else {
            return vec![name.into()];
        };
        let limit = find(LIMIT, CPU);
        let over_limit = |ratio_to: fn(&Measurement, &Measurement) -> f64| {
            ratio(limit.map_or(f64::NAN, |limit| ratio_to(cpu, limit)))
        };
        let mut row = vec![
            name.into(),
            figure(cpu.readings.minimum()),
            figure(cpu.readings.median()),
            percent(cpu.readings.spread()),
            over_limit(|a, b| a.readings.minimum() / b.readings.minimum()),
            over_limit(|a, b| a.readings.paired(&b.readings).median()),
            report.verdict_in_words(cpu),
        ];
        let others = METRICS[1..].iter().chain([&CALLS]);
        row.extend(others.map(|metric| {
            let one = find(name, metric.name);
            figure(one.map_or(f64::NAN, |one| one.readings.median()))
        }));
        row
    }
}
