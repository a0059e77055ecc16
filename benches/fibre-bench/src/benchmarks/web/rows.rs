//! Rows of a program in several settings, each with its processors: what `sfs` and `http_cache` are
//! measured by.

use std::path::Path;

use anyhow::Context as _;

use super::turns;
use crate::plan::Run;
use crate::process::Server;
use crate::report::format::{self, figure, ratio};
use crate::report::{Better, Goal, Measurement, Read};
use crate::servers::{Duty, ServerProgram};

/// A setting of a program.
pub(super) struct Setting {
    /// The program, under the name of its row.
    pub(super) server: ServerProgram,
    pub(super) processors: usize,
    /// What it has to reach of each metric.
    pub(super) goals: [Option<Goal>; 2],
}

/// Something that is read of it.
pub(super) struct Metric {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) better: Better,
    pub(super) read: Read,
}

/// Megabytes that clients get in a second.
pub(super) const THROUGHPUT: Metric = Metric {
    name: "throughput",
    unit: "MB/s",
    better: Better::Higher,
    read: Read::Median,
};

/// What the server takes for something.
pub(super) const fn cpu_time(unit: &'static str) -> Metric {
    Metric {
        name: "CPU time",
        unit,
        better: Better::Lower,
        read: Read::Best,
    }
}

impl Setting {
    /// A program with these options, under the name of its row, without goals.
    pub(super) fn new(name: &str, processors: usize, program: &Path, options: &[&str]) -> Self {
        Self {
            server: ServerProgram::serving(name, program.into(), options),
            processors,
            goals: [None; 2],
        }
    }

    /// This setting with goals.
    pub(super) fn reaching(self, goals: [Option<Goal>; 2]) -> Self {
        Self { goals, ..self }
    }

    /// Starts the server. All settings have the same cores, however many processors they have: or
    /// where other programs run beside, one would have less to share with them than another.
    pub(super) fn start(&self, run: &Run) -> anyhow::Result<Server> {
        let command = self.server.command(Duty::answering(self.processors));
        Server::start(command.context("it cannot serve")?, &cores(run), None)
    }
}

/// The cores of all settings, and of the load.
pub(super) fn cores(run: &Run) -> Vec<usize> {
    run.cores.measured(run.cores.count().min(2))
}

/// The rows of a case.
pub(super) struct Rows<'a> {
    pub(super) benchmark: &'static str,
    pub(super) case: String,
    pub(super) settings: &'a [Setting],
    pub(super) metrics: [Metric; 2],
    /// The row that ratios are of.
    pub(super) base: &'static str,
    pub(super) repetitions: usize,
}

impl Rows<'_> {
    /// Lets all settings take turns, and adds their table to the report.
    pub(super) fn measure(
        self,
        run: &mut Run,
        measure: impl Fn(&Run, &Setting) -> anyhow::Result<[f64; 2]>,
    ) {
        let what = format!("{} {}", self.benchmark, self.case);
        let servers: Vec<_> = self.settings.iter().map(|one| one.server.clone()).collect();
        let find = |name: &str| self.settings.iter().find(|one| one.server.name == name);
        let rows = turns::take(run, (&what, &servers), self.repetitions, |run, server| {
            find(&server.name)
                .map(|setting| measure(run, setting))
                .transpose()
        });
        for row in rows {
            let goals = find(&row.server).map_or([None; 2], |setting| setting.goals);
            for ((metric, readings), goal) in self.metrics.iter().zip(row.readings).zip(goals) {
                run.report.add(Measurement {
                    benchmark: self.benchmark,
                    case: self.case.clone(),
                    subject: row.server.clone(),
                    metric: metric.name,
                    unit: metric.unit,
                    better: metric.better,
                    read: metric.read,
                    goal,
                    readings,
                });
            }
        }
        self.print(run);
    }

    /// Adds the table.
    fn print(&self, run: &mut Run) {
        let base = format!("× {}", self.base);
        let mut header = vec!["setting".to_owned()];
        for metric in &self.metrics {
            let read = format!("{}, {}", metric.name, metric.unit);
            header.extend([read, base.clone(), "paired".into(), "to reach".into()]);
        }
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let mut table = format::table(&header, 1);
        for setting in self.settings {
            let mut cells = vec![setting.server.name.clone()];
            for metric in &self.metrics {
                cells.extend(self.cells(run, &setting.server.name, metric.name));
            }
            table.add_row(cells);
        }
        run.report.paragraph(&format!("**{}**", self.case));
        run.report.table(&table);
    }

    /// What is said of a metric of a row.
    fn cells(&self, run: &Run, subject: &str, metric: &str) -> [String; 4] {
        let find = |subject: &str| {
            let mut all = run.report.of(self.benchmark);
            all.find(|one| one.case == self.case && one.subject == subject && one.metric == metric)
        };
        let Some(one) = find(subject) else {
            return Default::default();
        };
        let base = find(self.base);
        let over = |of: fn(&Measurement, &Measurement) -> f64| {
            ratio(base.map_or(f64::NAN, |base| of(one, base)))
        };
        [
            figure(one.figure()),
            over(|a, b| a.figure() / b.figure()),
            over(|a, b| a.readings.paired(&b.readings).median()),
            run.report.verdict_in_words(one),
        ]
    }
}
