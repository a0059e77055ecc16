//! `pollers`: the tests of I/O with every poller.
//!
//! The poller is a builder value whose default comes from the environment, so the same test
//! binaries run once per poller. The switches of I/O take turns, each value with several pollers.
//! What a poller promises beyond that, `tests/io/pollers.rs` tests for each of them by itself.

use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::steps::Steps;
use crate::workspace::cargo;

/// All of them.
const POLLERS: [&str; 7] = [
    "processors",
    "shared",
    "fibre",
    "thread-loop",
    "thread-sleep",
    "thread-opportunistic",
    "thread-timeout",
];

/// The switches, and after how many pollers each changes.
const SWITCHES: [(&str, usize); 3] = [
    ("FIBRE_BATCHED_UNBLOCKING", 1),
    ("FIBRE_YIELD_BEFORE_READ", 2),
    ("FIBRE_LAZY_REGISTRATION", 4),
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
    for (row, poller) in POLLERS.iter().enumerate() {
        let title = format!("pollers: {poller}");
        steps.run_tests(&title, suite(row, options), options.arguments.is_empty())?;
    }
    Ok(())
}

/// The command that runs the suites with a poller, and the switches for its row.
fn suite(row: usize, options: &Options) -> Command {
    let mut command = cargo(["test", "--release", "--quiet", "--package", "fibre"]);
    for suite in SUITES {
        command.args(["--test", suite]);
    }
    command.env("FIBRE_POLLER", POLLERS[row]);
    for (switch, turns) in SWITCHES {
        let on = (row / turns).is_multiple_of(2);
        command.env(switch, if on { "1" } else { "0" });
    }
    command.env("FIBRE_TEST_PROCESSORS", "1,2");
    command.args(["--", "--skip", "pollers::"]);
    command.args(&options.arguments);
    command
}
