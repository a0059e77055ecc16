//! `policies`: the behaviour suite under every scheduling policy.
//!
//! Policies are builder values with defaults from the environment, so the same test binaries run
//! once per row of a table of variables. By default the rows show every *pair* of values; `--all`
//! runs every combination. Moving started fibres cannot be asked for by the environment alone: the
//! tests' own variable `FIBRE_TEST_MOVES` makes them take the `unsafe` opt-in. They keep its
//! contract.

use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::choices::{self, Choice};
use crate::lanes::part::Part;
use crate::lanes::test;
use crate::pairs;
use crate::side_by_side::Tests;
use crate::steps::Steps;
use crate::workspace::Workspace;

/// The choices that are enums; all of their values are tried.
const CHOICES: [&Choice; 4] = [
    &choices::QUEUE,
    &choices::PLACEMENT,
    &choices::STEAL_ORDER,
    &choices::REVIVAL,
];

/// Other variables, and the values that are tried.
const OTHERS: &[(&str, &[&str])] = &[
    ("FIBRE_STEALING", &["transient", "sticky:4"]),
    ("FIBRE_SHARING", &["0", "1"]),
    ("FIBRE_SPIN", &["20", "0"]),
    ("FIBRE_SLICE", &["20", "0", "1000"]),
    ("FIBRE_TEST_MOVES", &["never", "started", "forced", "own"]),
    ("FIBRE_TEST_PROCESSORS", &["1", "2", "4", "16"]),
];

/// The suites that hold under every policy, of the programs [`test::OPTIMISED`]. That of I/O is run
/// by [`super::pollers`], under some of them. That of locks and channels takes longer than all of
/// these together, most of it waiting for time to pass, and knows of processors only that they wake
/// fibres; `sync_stress` uses all that it tests.
const SUITES: &[&str] = &[
    "activities",
    "cancel",
    "migration",
    "panics",
    "scheduling",
    "spawn",
    "stress",
    "sync_stress",
    "time",
];

/// How much to run.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Every combination of the values instead of every pair
    #[arg(long)]
    all: bool,
    /// Seconds of the random mixture per row
    #[arg(long, default_value_t = 1)]
    seconds: u64,
    /// Only the row of this number, as the headings count them
    #[arg(long)]
    row: Option<usize>,
    /// The rows that take turns
    #[arg(skip)]
    part: Part,
    /// Passed to the test binaries
    #[arg(last = true)]
    arguments: Vec<String>,
}

impl Options {
    /// Options that run a part of the rows.
    pub(crate) fn of(part: Part) -> Self {
        Self {
            part,
            ..Self::default()
        }
    }
}

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    let variables = variables(workspace)?;
    let counts: Vec<usize> = variables.iter().map(|(_, values)| values.len()).collect();
    let rows = if options.all {
        pairs::all(&counts)
    } else {
        pairs::all_pairs(&counts)
    };
    let of = rows.len();
    let chosen = rows
        .iter()
        .enumerate()
        .filter(|(row, _)| options.row.is_none_or(|only| only == row + 1))
        .filter(|(row, _)| options.part.has(*row))
        .map(|(row, values)| Tests {
            title: format!("policies: {} of {of}", row + 1),
            command: suite(&variables, values, options),
            least: usize::from(options.arguments.is_empty()),
        });
    build(steps)?;
    steps.run_side_by_side(chosen)
}

/// A variable, and the values that are tried.
type Variable = (&'static str, Vec<String>);

/// All variables. The first value of each is the default.
fn variables(workspace: &Workspace) -> Result<Vec<Variable>> {
    let choices = CHOICES.iter();
    let choices = choices.map(|choice| Ok((choice.variable, choice.names(workspace.root())?)));
    let others = OTHERS.iter().map(|(variable, values)| {
        let values = values.iter().map(ToString::to_string).collect();
        Ok((*variable, values))
    });
    choices.chain(others).collect()
}

/// Builds the suites, so that rows are only run.
fn build(steps: &mut Steps) -> Result<()> {
    let mut command = tests();
    command.arg("--no-run");
    steps.run("policies: build", command)
}

/// The command that runs the suites.
fn tests() -> Command {
    let mut command = test::optimised_programs();
    command.arg("--quiet");
    command
}

/// The command that runs the suites with these values.
fn suite(variables: &[Variable], values: &[usize], options: &Options) -> Command {
    let mut command = tests();
    for ((name, names), &value) in variables.iter().zip(values) {
        command.env(name, &names[value]);
    }
    command.env("FIBRE_STRESS_SECONDS", options.seconds.max(1).to_string());
    command.arg("--").args(&options.arguments);
    if options.arguments.is_empty() {
        command.args(SUITES.iter().map(|suite| format!("suite_{suite}::")));
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_suite_is_in_a_program_that_is_run() {
        let root = Workspace::find().unwrap();
        let run = test::OPTIMISED.map(|program| test::suites_of(root.root(), program).unwrap());
        for suite in SUITES {
            assert!(run.concat().contains(&suite.to_string()), "{suite}");
        }
    }
}
