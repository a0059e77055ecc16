//! `test`: the tests in every build that matters.
//!
//! Debug first, with everything in the workspace. Then the behaviour suite in release, and those
//! parts of it in which fibres wait and move also with fat link-time optimisation, where the
//! compiler keeps thread-local addresses over calls and debug builds hide it. The latter are built
//! as two programs, `tests/together/`, and run one by one. `tests/migration.rs`, part of all three,
//! is where every wake lands on another processor.

use anyhow::Result;
use clap::Args;
use std::process::Command;

use crate::steps::Steps;
use crate::workspace::cargo;

/// The suites that are also tested with link-time optimisation: those in which fibres wait, and may
/// go on elsewhere. Of locks and channels it is `sync_stress`, which has them all, and of I/O a
/// part. They are the modules `suite_…` of these programs, of which each keeps one CPU busy for as
/// long as it is built.
const OPTIMISED: [(&str, &[&str]); 2] = [
    (
        "running",
        &[
            "local",
            "migration",
            "panics",
            "regressions",
            "scheduling",
            "spawn",
            "stress",
        ],
    ),
    (
        "waiting",
        &["cancel", "io", "lifecycle", "sync_stress", "time"],
    ),
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
        cargo(["test", "--release", "--package", "fibre-rt"]),
    )?;
    optimised(steps, options)?;
    steps.run(
        "test: examples build, release",
        cargo(["build", "--release", "--examples"]),
    )
}

/// Runs the suites with link-time optimisation, each in a process of its own: some count what is
/// open or alive in all of it.
fn optimised(steps: &mut Steps, options: &Options) -> Result<()> {
    let mut build = cargo([
        "test",
        "--profile",
        "lto",
        "--package",
        "fibre-rt",
        "--no-run",
    ]);
    for (program, _) in OPTIMISED {
        build.args(["--test", &format!("together-{program}")]);
    }
    steps.run("test: lto, build", build)?;
    for (program, suites) in OPTIMISED {
        let command = || {
            let mut command = cargo(["test", "--profile", "lto", "--package", "fibre-rt"]);
            command.args(["--test", &format!("together-{program}")]);
            command
        };
        if !options.some_must_run() {
            let title = format!("test: lto, {program}");
            steps.run_tests(&title, options.complete(command()), false)?;
            continue;
        }
        for suite in suites {
            let mut command = command();
            command.args(["--", &format!("suite_{suite}::")]);
            steps.run_tests(&format!("test: lto, {suite}"), command, true)?;
        }
    }
    Ok(())
}

/// Runs the tests of the optional reader of the topology, which needs the library hwloc.
pub(crate) fn hwloc(steps: &mut Steps) -> Result<()> {
    let mut command = cargo(["test", "--package", "fibre-core", "--features", "hwloc"]);
    command.args(["--lib", "topology"]);
    steps.run_tests("test: topology by hwloc", command, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_together_is_run() {
        let root = crate::workspace::Workspace::find().unwrap();
        for (program, suites) in OPTIMISED {
            let source = root.root().join(format!("tests/together/{program}.rs"));
            let text = std::fs::read_to_string(source).unwrap();
            let modules = text
                .lines()
                .filter_map(|line| line.strip_prefix("mod suite_")?.strip_suffix(';'));
            assert!(modules.eq(suites.iter().copied()), "{program}");
        }
    }
}
