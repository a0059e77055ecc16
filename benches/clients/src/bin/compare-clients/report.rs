//! What the readings amount to.

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::Result;
use fibre_clients::load::Reading;
use fibre_clients::way::Way;
use fibre_measure::format::{figure, ratio, table};
use fibre_measure::{Machine, Series};
use serde::Serialize;

use crate::case::{Case, Load};

/// A case in one way under one load, and its readings.
pub(crate) struct Row<'a> {
    /// The case.
    pub(crate) case: &'a Case,
    /// The load.
    pub(crate) load: Load,
    /// The way.
    pub(crate) way: Way,
    wall: Series,
    cpu: Series,
    answers: usize,
}

impl<'a> Row<'a> {
    /// Rows for all combinations, with so many calls where each blocks the processor.
    pub(crate) fn all(
        cases: &[&'a Case],
        loads: &[Load],
        ways: &[Way],
        bare_calls: usize,
    ) -> Vec<Self> {
        let mut rows = Vec::new();
        for case in cases {
            for load in loads {
                rows.extend(ways.iter().copied().filter_map(|way| {
                    let load = match way {
                        Way::Bare => load.of_bare(bare_calls)?,
                        _ => *load,
                    };
                    Some(Self {
                        case,
                        load,
                        way,
                        wall: Series::default(),
                        cpu: Series::default(),
                        answers: 0,
                    })
                }));
            }
        }
        rows
    }

    /// Adds a reading, if there is one.
    pub(crate) fn push(&mut self, reading: Option<Reading>) {
        if let Some(reading) = reading {
            self.wall.push(reading.wall_s);
            self.cpu.push(reading.cpu_s);
            self.answers += reading.answers;
        }
    }

    /// Whether another row is the same on threads.
    fn is_beside(&self, other: &Row<'_>) -> bool {
        other.case.name == self.case.name && other.load == self.load && other.way == Way::Threads
    }
}

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (load, way) = (self.load.title(), self.way.title());
        write!(f, "{}, {load}, {way}", self.case.name)
    }
}

/// The rows of a comparison, and where it was made.
#[derive(Serialize)]
pub(crate) struct Report {
    machine: Machine,
    repetitions: usize,
    rows: Vec<Figures>,
}

/// A row as it is kept.
#[derive(Serialize)]
struct Figures {
    case: &'static str,
    #[serde(skip)]
    call: &'static str,
    load: String,
    way: Way,
    answers: usize,
    wall_s: Series,
    cpu_s: Series,
    /// Median of the ratios of CPU time to threads within each repetition.
    cpu_paired: f64,
}

impl Report {
    /// What these rows say.
    pub(crate) fn new(machine: Machine, repetitions: usize, rows: &[Row<'_>]) -> Self {
        let figures = |row: &Row<'_>| {
            let beside = rows.iter().find(|other| row.is_beside(other));
            let paired = beside.map(|beside| row.cpu.paired(&beside.cpu).median());
            Figures {
                case: row.case.name,
                call: row.case.call,
                load: row.load.title(),
                way: row.way,
                answers: row.answers,
                wall_s: row.wall.clone(),
                cpu_s: row.cpu.clone(),
                cpu_paired: paired.unwrap_or(f64::NAN),
            }
        };
        Self {
            machine,
            repetitions,
            rows: rows.iter().map(figures).collect(),
        }
    }

    /// Writes itself and the readings into a folder.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("report.md"), self.to_string())?;
        let readings = serde_json::to_string_pretty(self)?;
        Ok(fs::write(folder.join("results.json"), readings + "\n")?)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# Clients\n")?;
        writeln!(
            f,
            "Written by `compare-clients` of `fibre-clients`; not to be edited.\n"
        )?;
        writeln!(f, "{}\n", self.machine)?;
        writeln!(
            f,
            "Each case has a process of its own with one CPU, and each server waits 50 ms before an answer. *fibre-libc*: fibres of one\n\
             processor in a program that has installed it. *blocking*: with each call in `fibre::blocking` instead. *bare*: fibres as they\n\
             are: each call blocks the only processor, so the time is that of all calls together, and grows with their number; measured\n\
             once, with fewer calls, and – where it hangs. Times are medians of {} repetitions that take turns, and the least.\n\
             *Paired*: the median of the ratios to threads within each repetition. The CPU time is that of the process alone. All answers\n\
             were right.\n",
            self.repetitions
        )?;
        let header = [
            "a call is",
            "load",
            "on",
            "wall, s",
            "least",
            "CPU, ms",
            "least",
            "CPU, paired",
            "answers",
        ];
        let mut rows = table(&header, 3);
        for row in &self.rows {
            rows.add_row([
                row.call.to_owned(),
                row.load.clone(),
                row.way.title().to_owned(),
                figure(row.wall_s.median()),
                figure(row.wall_s.minimum()),
                figure(row.cpu_s.median() * 1e3),
                figure(row.cpu_s.minimum() * 1e3),
                ratio(row.cpu_paired),
                row.answers.to_string(),
            ]);
        }
        writeln!(f, "{rows}")
    }
}
