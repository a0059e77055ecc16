//! `test`: the tests in every build that matters.
//!
//! Debug first, with everything in the workspace. Then the behaviour suite in release and with fat
//! link-time optimisation, where the compiler keeps thread-local addresses over calls and debug
//! builds hide it. Last, the migration suite again with `FIBRE_FORCE_MIGRATION=1`: each wake then
//! lands on another processor, in those clusters that opted into moving started fibres.

use anyhow::Result;
use clap::Args;
use std::process::Command;

use crate::steps::Steps;
use crate::workspace::{Workspace, cargo};

/// The suite that is run once more under forced migration.
const MIGRATION_SUITE: &str = "tests/migration.rs";

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
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    let mut tests = |title: &str, command: Command| {
        steps.run_tests(title, options.complete(command), options.some_must_run())
    };
    tests("test: workspace, debug", cargo(["test", "--workspace"]))?;
    if options.quick {
        steps.note("--quick: release, lto and forced migration were not run");
        return Ok(());
    }
    tests(
        "test: behaviour, release",
        cargo(["test", "--release", "--package", "fibre"]),
    )?;
    tests(
        "test: behaviour, lto",
        cargo(["test", "--profile", "lto", "--package", "fibre", "--tests"]),
    )?;
    steps.run(
        "test: examples build, release",
        cargo(["build", "--release", "--examples"]),
    )?;
    forced_migration(workspace, steps, options)
}

/// The migration suite with every wake on another processor.
fn forced_migration(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    if !workspace.root().join(MIGRATION_SUITE).is_file() {
        steps.note(format!(
            "forced migration was NOT run: there is no {MIGRATION_SUITE} yet"
        ));
        return Ok(());
    }
    let mut command = cargo(["test", "--profile", "lto", "--package", "fibre"]);
    command.args(["--test", "migration"]);
    command.env("FIBRE_FORCE_MIGRATION", "1");
    steps.run_tests(
        "test: forced migration, lto",
        options.complete(command),
        options.some_must_run(),
    )
}
