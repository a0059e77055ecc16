//! `stress`: the randomised test, for longer than the test lane runs it.
//!
//! All its choices follow from one seed. The seed is printed in the command line; giving it back
//! repeats the choices, if not the interleaving.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use clap::Args;

use crate::steps::Steps;
use crate::workspace::{Workspace, cargo};

/// The file that holds the stress tests.
const SUITE: &str = "tests/stress.rs";

/// How long and from where.
#[derive(Args)]
pub(crate) struct Options {
    /// Seconds per test
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The seed of a run to repeat
    #[arg(long)]
    seed: Option<u64>,
}

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    ensure!(
        workspace.root().join(SUITE).is_file(),
        "there is no {SUITE}"
    );
    let seed = options.seed.unwrap_or_else(seed_from_clock);
    steps.note(format!("seed {seed}; repeat with --seed {seed}"));
    let mut command = cargo(["test", "--release", "--package", "fibre"]);
    command.args(["--test", "stress", "--", "--nocapture"]);
    command.env("FIBRE_SEED", seed.to_string());
    command.env("FIBRE_STRESS_SECONDS", options.seconds.to_string());
    steps.run_tests("stress", command, true)
}

/// A seed that differs from run to run.
fn seed_from_clock() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
