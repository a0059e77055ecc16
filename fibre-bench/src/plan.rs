//! What every benchmark is: a row of the table, a plan it is told, the servers
//! it may measure.

use indicatif::{ProgressBar, ProgressStyle};

use crate::process::ServerCommand;
use crate::report::Report;

/// One row of the table.
pub(crate) struct Benchmark {
    /// What `run` calls it.
    pub(crate) name: &'static str,
    /// What it measures, in one sentence.
    pub(crate) about: &'static str,
    /// Measures, prints its tables and adds its measurements to the report.
    pub(crate) run: fn(&Plan, &mut Report) -> anyhow::Result<()>,
}

/// The web servers of this crate: name and binary.
static SERVERS: &[(&str, &str)] = &[
    ("epoll", "server-epoll"),
    ("fibre", "server-fibre"),
    ("tokio", "server-tokio"),
    ("may", "server-may"),
    ("thread", "server-thread"),
];

/// What a run was asked for.
pub(crate) struct Plan {
    pub(crate) seconds: Option<f64>,
    pub(crate) repetitions: Option<usize>,
    pub(crate) connections: Vec<usize>,
    /// Names of the subjects to measure; empty for all.
    pub(crate) only: Vec<String>,
    /// Further web servers, by name and command line.
    pub(crate) also: Vec<(String, String)>,
    pub(crate) quick: bool,
}

impl Plan {
    /// Length of a repetition: as asked for, or the usual one.
    pub(crate) fn seconds(&self, usual: f64) -> f64 {
        self.seconds.unwrap_or(usual)
    }

    /// Repetitions of each row: as asked for, else one or the usual number.
    pub(crate) fn repetitions(&self, usual: usize) -> usize {
        let default = if self.quick { 1 } else { usual };
        self.repetitions.unwrap_or(default).max(1)
    }

    /// Whether a subject is to be measured.
    pub(crate) fn wants(&self, subject: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == subject)
    }

    /// The web servers to measure.
    pub(crate) fn servers(&self) -> Vec<(String, ServerCommand)> {
        let ours = SERVERS
            .iter()
            .map(|&(name, binary)| (name.to_owned(), ServerCommand::Ours(binary)));
        let others = self
            .also
            .iter()
            .map(|(name, line)| (name.clone(), ServerCommand::Other(line.clone())));
        ours.filter(|(name, _)| self.wants(name))
            .chain(others)
            .collect()
    }
}

/// A progress bar over `steps` measurements, on a terminal only.
pub(crate) fn progress(steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    match ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} (about {eta} left)") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
