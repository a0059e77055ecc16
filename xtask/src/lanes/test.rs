//! `test`: the tests in every build that matters.
//!
//! Debug first, with everything in the workspace. Then the behaviour suite in release, and those
//! parts of it in which fibres wait and move also with fat link-time optimisation, where the
//! compiler keeps thread-local addresses over calls and debug builds hide it.
//! `tests/migration.rs`, part of all three, is where every wake lands on another processor.

use anyhow::Result;
use clap::Args;
use std::process::Command;

use crate::steps::Steps;
use crate::workspace::cargo;

/// The suites that are also built with link-time optimisation, which takes longer for each than to
/// run them: those in which fibres wait, and may go on elsewhere.
const OPTIMISED: &[&str] = &[
    "cancel",
    "io",
    "lifecycle",
    "local",
    "migration",
    "panics",
    "regressions",
    "scheduling",
    "spawn",
    "stress",
    "sync",
    "sync_stress",
    "time",
];

/// How much to test.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Only the debug build
    #[arg(long)]
    quick: bool,
    /// Passed to the test binaries: a name filter, --test-threads=1, …
    #[arg(last = true)]
    arguments: Vec<String>,
}

impl Options {
    /// The command with the arguments for the test binaries at its end.
    fn complete(&self, mut command: Command) -> Command {
        if !self.arguments.is_empty() {
            command.arg("--").args(&self.arguments);
        }
        command
    }

    /// A name filter may leave a build without tests; without one that is an error.
    fn some_must_run(&self) -> bool {
        self.arguments.is_empty()
    }
}

/// Runs the lane.
pub(crate) fn run(steps: &mut Steps, options: &Options) -> Result<()> {
    let mut tests = |title: &str, command: Command| {
        steps.run_tests(title, options.complete(command), options.some_must_run())
    };
    tests("test: workspace, debug", cargo(["test", "--workspace"]))?;
    if options.quick {
        steps.note("--quick: release and lto were not run");
        return Ok(());
    }
    tests(
        "test: behaviour, release",
        cargo(["test", "--release", "--package", "fibre"]),
    )?;
    let mut optimised = cargo(["test", "--profile", "lto", "--package", "fibre"]);
    for suite in OPTIMISED {
        optimised.args(["--test", suite]);
    }
    tests("test: behaviour, lto", optimised)?;
    steps.run(
        "test: examples build, release",
        cargo(["build", "--release", "--examples"]),
    )
}

/// Runs the tests of the optional reader of the topology, which needs the library hwloc.
pub(crate) fn hwloc(steps: &mut Steps) -> Result<()> {
    let mut command = cargo(["test", "--package", "fibre-core", "--features", "hwloc"]);
    command.args(["--lib", "topology"]);
    steps.run_tests("test: topology by hwloc", command, true)
}
