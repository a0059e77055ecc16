//! All servers under the same load, taking turns, and the table they end in.

use crate::plan::Run;
use crate::report::format::{self, figure, percent, ratio};
use crate::report::{Better, Goal, Measurement, OURS, Read, Report};

use super::serve::Setting;
use super::turns::{self, Row};

/// Who the others are compared with.
pub(super) const LIMIT: &str = "epoll";

/// A case of a benchmark.
pub(super) struct Contest {
    pub(super) benchmark: &'static str,
    pub(super) case: String,
    pub(super) setting: Setting,
    /// Usual number of repetitions.
    pub(super) repetitions: usize,
    /// What ours has to reach in CPU time, and in latency.
    pub(super) cpu_goal: Option<Goal>,
    pub(super) p99_goal: Option<Goal>,
}

impl Contest {
    /// Measures all servers and adds table and measurements to the report.
    pub(super) fn hold(&self, run: &mut Run) {
        let what = format!("{} {}", self.benchmark, self.case);
        let rows = turns::take(run, &what, self.repetitions, |run, server| {
            self.setting.measure(run, server)
        });
        let names: Vec<String> = rows.iter().map(|row| row.server.clone()).collect();
        for row in rows {
            self.add(row, &mut run.report);
        }
        self.print(&names, &mut run.report);
    }

    /// Hands the readings of a server to the report.
    fn add(&self, row: Row<3>, report: &mut Report) {
        let [cpu_us, requests_per_second, p99_ms] = row.readings;
        let metrics = [
            (CPU, "µs", Better::Lower, Read::Best, self.cpu_goal, cpu_us),
            (
                "throughput",
                "requests/s",
                Better::Higher,
                Read::Median,
                None,
                requests_per_second,
            ),
            (
                "p99",
                "ms",
                Better::Lower,
                Read::Median,
                self.p99_goal,
                p99_ms,
            ),
        ];
        for (metric, unit, better, read, goal, readings) in metrics {
            report.add(Measurement {
                benchmark: self.benchmark,
                case: self.case.clone(),
                subject: row.server.clone(),
                metric,
                unit,
                better,
                read,
                goal: goal.filter(|_| row.server == OURS),
                readings,
            });
        }
    }

    /// Adds the table.
    fn print(&self, names: &[String], report: &mut Report) {
        let header = [
            "server",
            "CPU µs/request: minimum",
            "median",
            "spread",
            "× epoll",
            "paired",
            "to reach",
            "requests/s (median)",
            "p99 ms (median)",
        ];
        let mut table = format::table(&header, 1);
        let find = |subject: &str, metric: &str| {
            let mut all = report.of(self.benchmark);
            all.find(|one| one.case == self.case && one.subject == subject && one.metric == metric)
        };
        let limit = find(LIMIT, CPU);
        for name in names {
            let Some(cpu) = find(name, CPU) else { continue };
            let over_limit = |ratio_to: fn(&Measurement, &Measurement) -> f64| {
                limit.map_or(f64::NAN, |limit| ratio_to(cpu, limit))
            };
            let median =
                |metric| figure(find(name, metric).map_or(f64::NAN, |one| one.readings.median()));
            table.add_row([
                name.clone(),
                figure(cpu.readings.minimum()),
                figure(cpu.readings.median()),
                percent(cpu.readings.spread()),
                ratio(over_limit(|a, b| {
                    a.readings.minimum() / b.readings.minimum()
                })),
                ratio(over_limit(|a, b| a.readings.paired(&b.readings).median())),
                report.verdict_in_words(cpu),
                median("throughput"),
                median("p99"),
            ]);
        }
        report.paragraph(&format!("**{}**", self.case));
        report.table(&table);
    }
}

/// What the CPU time is called.
const CPU: &str = "CPU time";
