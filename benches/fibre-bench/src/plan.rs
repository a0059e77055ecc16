//! What a run was asked for, and what it measures with.

use indicatif::{ProgressBar, ProgressStyle};

use crate::peers::Peer;
use crate::process::Server;
use crate::report::Report;
use crate::servers::{Absent, Duty, ServerProgram};
use fibre_measure::Cores;

/// How much time a run may take.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// One tiny repetition of everything: shows that it runs, measures nothing.
    Quick,
    /// Few repetitions: a whole report in half an hour.
    Brief,
    /// As many repetitions as a figure deserves.
    Full,
}

/// What a run was asked for.
pub(crate) struct Plan {
    /// Length of one repetition, where it was asked for.
    pub(crate) seconds: Option<f64>,
    /// Repetitions of each row, where they were asked for.
    pub(crate) repetitions: Option<usize>,
    /// Connection counts, where they were asked for.
    pub(crate) connections: Vec<usize>,
    /// Names of the subjects to measure; empty for all.
    pub(crate) only: Vec<String>,
    /// Names of the variants to measure; empty for all.
    pub(crate) variants: Vec<String>,
    /// How thorough to be.
    pub(crate) effort: Effort,
}

/// A run: what it was asked for, what it measures with, what it has measured.
pub(crate) struct Run {
    pub(crate) plan: Plan,
    pub(crate) cores: Cores,
    /// One program for each runtime that is here.
    pub(crate) peers: Vec<Peer>,
    /// Web servers, ours and theirs.
    pub(crate) servers: Vec<ServerProgram>,
    /// Web servers that would be measured if they were installed.
    pub(crate) absent: Vec<Absent>,
    pub(crate) report: Report,
}

/// Something that can be run by its name.
pub(crate) struct Benchmark {
    /// What `run` calls it.
    pub(crate) name: &'static str,
    /// What it measures, in one sentence.
    pub(crate) about: &'static str,
    /// Measures, and adds tables, plots and measurements to the report.
    pub(crate) run: fn(&mut Run) -> anyhow::Result<()>,
}

impl Run {
    /// Starts a server on as many of the first cores as it has processors; `None` where it
    /// cannot do this duty.
    pub(crate) fn start(
        &self,
        program: &ServerProgram,
        duty: Duty,
    ) -> anyhow::Result<Option<Server>> {
        let cores = self.cores.measured(duty.processors);
        let command = program.command(duty);
        command
            .map(|command| Server::start(command, &cores, program.address()))
            .transpose()
    }
}

impl Plan {
    /// Length of a repetition: as asked for, or the usual one.
    pub(crate) fn seconds(&self, usual: f64) -> f64 {
        let default = match self.effort {
            Effort::Quick => usual.min(0.05),
            Effort::Brief | Effort::Full => usual,
        };
        self.seconds.unwrap_or(default)
    }

    /// Repetitions of each row: as asked for, or what the effort allows of the
    /// usual number.
    pub(crate) fn repetitions(&self, usual: usize) -> usize {
        let default = match self.effort {
            Effort::Quick => 1,
            Effort::Brief => usual.min(3 + usual / 5),
            Effort::Full => usual,
        };
        self.repetitions.unwrap_or(default).max(1)
    }

    /// Repetitions of each row of a benchmark that takes long: a third of them
    /// where the effort is brief.
    pub(crate) fn fewer_repetitions(&self, usual: usize) -> usize {
        self.repetitions(match self.effort {
            Effort::Brief => usual.div_ceil(3),
            Effort::Quick | Effort::Full => usual,
        })
    }

    /// Connection counts: as asked for, one small one when quick, or the usual.
    pub(crate) fn connections(&self, usual: &[usize]) -> Vec<usize> {
        if !self.connections.is_empty() {
            self.connections.clone()
        } else if self.is_quick() {
            vec![50]
        } else {
            usual.to_vec()
        }
    }

    /// Whether nothing is measured in earnest.
    pub(crate) fn is_quick(&self) -> bool {
        self.effort == Effort::Quick
    }

    /// Whether there is time for everything.
    pub(crate) fn is_full(&self) -> bool {
        self.effort == Effort::Full
    }

    /// Whether a subject is to be measured; a variant, as `fibre, read at once`, goes with
    /// the subject it is one of.
    pub(crate) fn wants(&self, subject: &str) -> bool {
        let among =
            |names: &[String], name| names.is_empty() || names.iter().any(|one| one == name);
        match subject.split_once(", ") {
            None => among(&self.only, subject),
            Some((of, variant)) => among(&self.only, of) && among(&self.variants, variant),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_goes_with_its_subject_unless_others_are_named() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        let wants = |only: &str, variants: &str, subject: &str| {
            let plan = Plan {
                seconds: None,
                repetitions: None,
                connections: Vec::new(),
                only: words(only),
                variants: words(variants),
                effort: Effort::Full,
            };
            plan.wants(subject)
        };
        assert!(wants("", "", "go") && wants("", "", "fibre, baton"));
        assert!(wants("fibre", "", "fibre, baton") && !wants("go", "", "fibre, baton"));
        assert!(wants("", "baton", "fibre, baton") && !wants("", "spin", "fibre, baton"));
        assert!(wants("", "baton", "go"));
    }
}
