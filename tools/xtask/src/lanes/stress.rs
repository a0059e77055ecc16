//! `stress`: the randomised tests, for longer than the test lane runs them.
//!
//! All its choices follow from one seed. The seed is printed in the command line; giving it back
//! repeats the choices, if not the interleaving.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use clap::Args;

use crate::lanes::test;
use crate::steps::Steps;

/// The programs, the tests in them, and how many there are of that name: a mixture of everything,
/// everything that one can wait on by itself, time-outs at random moments, fibres of groups that
/// end in every way, descriptors with numbers that are used again, and actors, events and tasks.
const SUITES: [(&str, &str, usize); 6] = [
    ("running", "suite_stress::", 1),
    ("waiting", "suite_sync_stress::", 1),
    ("objects", "suite_limits::random::", 1),
    ("objects", "suite_ends::", 1),
    ("servers", "suite_faults::storm::", 1),
    ("behaviour", "stress::", 3),
];

/// How long and from where.
#[derive(Args)]
pub(crate) struct Options {
    /// Seconds per test of the mixture, for all of the second suite, and per poller of the fifth
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The seed of a run to repeat
    #[arg(long)]
    seed: Option<u64>,
}

/// Runs the lane.
pub(crate) fn run(steps: &mut Steps, options: &Options) -> Result<()> {
    let seed = options.seed.unwrap_or_else(seed_from_clock);
    steps.note(format!("seed {seed}; repeat with --seed {seed}"));
    for (program, tests, count) in SUITES {
        let mut command = test::suites();
        command.args(["--test", program, "--", "--nocapture", tests]);
        command.env("FIBRE_SEED", seed.to_string());
        command.env("FIBRE_STRESS_SECONDS", options.seconds.to_string());
        steps.run_programs(&format!("stress: {program}, {tests}"), command, count)?;
    }
    Ok(())
}

/// A seed that differs from run to run.
fn seed_from_clock() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
