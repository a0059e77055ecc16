//! `pollers`: the tests of I/O with every poller.
//!
//! The poller is a builder value whose default comes from the environment, so the same test
//! binaries run once per poller. The switches of I/O take turns, each value with several pollers,
//! and so do some policies of the scheduler. What a poller promises beyond that,
//! `tests/io/pollers.rs` tests for each of them by itself.

use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::steps::Steps;
use crate::workspace::cargo;

/// All pollers.
const POLLERS: [&str; 7] = [
    "processors",
    "shared",
    "fibre",
    "thread-loop",
    "thread-sleep",
    "thread-opportunistic",
    "thread-timeout",
];

/// What takes turns: variables, and their values, of which the next one comes after so many
/// pollers.
const TURNS: [(&str, usize, &[&str]); 7] = [
    ("FIBRE_BATCHED_UNBLOCKING", 1, &["1", "0"]),
    ("FIBRE_YIELD_BEFORE_READ", 2, &["1", "0"]),
    ("FIBRE_LAZY_REGISTRATION", 4, &["1", "0"]),
    ("FIBRE_TEST_MOVES", 1, &["never", "started", "forced"]),
    ("FIBRE_QUEUE", 2, &["nemesis", "stub", "locked"]),
    ("FIBRE_PLACEMENT", 2, &["push", "local", "staging"]),
    ("FIBRE_TEST_PROCESSORS", 1, &["1,2", "4", "1,2", "16"]),
];

/// The files of tests in which fibres wait for descriptors.
const SUITES: [&str; 2] = ["io", "cancel"];

/// Passed to the test binaries.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// A name filter, --test-threads=1, …
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// Runs the lane.
pub(crate) fn run(steps: &mut Steps, options: &Options) -> Result<()> {
    let mut build = tests();
    build.arg("--no-run");
    steps.run("pollers: build", build)?;
    let rows = POLLERS.iter().enumerate();
    let rows = rows.map(|(row, poller)| (format!("pollers: {poller}"), suite(row, options)));
    steps.run_tests_side_by_side(rows, options.arguments.is_empty())
}

/// The command that runs the suites.
fn tests() -> Command {
    let mut command = cargo(["test", "--release", "--quiet", "--package", "fibre-rt"]);
    for suite in SUITES {
        command.args(["--test", suite]);
    }
    command
}

/// The command that runs the suites with a poller, and the switches for its row.
fn suite(row: usize, options: &Options) -> Command {
    let mut command = tests();
    command.env("FIBRE_POLLER", POLLERS[row]);
    for (variable, pollers, values) in TURNS {
        command.env(variable, values[row / pollers % values.len()]);
    }
    command.args(["--", "--skip", "pollers::"]);
    command.args(&options.arguments);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_poller_is_left_out() {
        let root = crate::workspace::Workspace::find().unwrap();
        let text = std::fs::read_to_string(root.root().join("docs/CONFIGURATION.md")).unwrap();
        let row = text
            .lines()
            .find(|line| line.contains("| `FIBRE_POLLER` |"));
        let values = row.unwrap().split('|').nth(2).unwrap();
        let values = values
            .split(',')
            .map(|value| value.trim().trim_matches('`'));
        assert!(values.eq(POLLERS));
    }
}
