//! `bench`: the benchmarks, in two suites.
//!
//! The *harness* in fibre-bench measures whole programs, ours and our peers', in processes of their
//! own. The *criterion* benchmarks in `benches/fibre-bench/benches/primitives/` measure one
//! primitive each beside what one would use instead, within one process.

use std::process::Command;

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::lanes::part::Part;
use crate::lanes::test::of_release;
use crate::steps::Steps;
use crate::workspace::{Workspace, cargo};

/// What to measure, and how much.
#[derive(Args)]
pub(crate) struct Options {
    /// Tiny sizes: shows that the benchmarks still run, measures nothing
    #[arg(long)]
    quick: bool,
    /// Only this suite [default: both, or the harness if there are arguments for it]
    #[arg(long)]
    suite: Option<Suite>,
    /// The benchmarks of the harness that take turns
    #[arg(skip)]
    part: Part,
    /// Passed to the suite: what `fibre-bench run` shall run (all), or a filter and options of
    /// criterion, with the options of either
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// A set of benchmarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Suite {
    /// The programs of fibre-bench, ours beside our peers'
    Harness,
    /// The primitives in benches/fibre-bench/benches/primitives/, each beside what it replaces
    Criterion,
}

impl Options {
    /// A tiny run of everything, of the harness this part.
    pub(crate) fn smoke(part: Part) -> Self {
        Self {
            quick: true,
            suite: None,
            part,
            arguments: Vec::new(),
        }
    }

    /// Whether to run this suite. The two understand different arguments, so without a choice these
    /// are for the harness.
    fn includes(&self, suite: Suite) -> bool {
        match self.suite {
            Some(chosen) => chosen == suite,
            None => suite == Suite::Harness || self.arguments.is_empty(),
        }
    }
}

/// The examples that are measured.
const EXAMPLES: [&str; 6] = [
    "webserver",
    "sws",
    "http_cache",
    "http_load",
    "sfs_like",
    "sfs_load",
];

/// The suite of criterion.
const PRIMITIVES: &str = "primitives";

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    if options.quick && options.arguments.is_empty() {
        return once(workspace, steps, options);
    }
    if options.includes(Suite::Criterion) {
        let mut command = cargo(["bench", "--package", "fibre-bench", "--bench", PRIMITIVES]);
        command.arg("--");
        if options.quick {
            command.arg("--test");
        }
        command.args(&options.arguments);
        steps.run("bench: criterion", command)?;
    }
    if options.includes(Suite::Harness) {
        let mut command = cargo(["run", "--release", "--package", "fibre-bench", "--", "run"]);
        if options.arguments.is_empty() {
            command.arg("all");
        }
        command.args(&options.arguments);
        if options.quick {
            command.arg("--quick");
        }
        steps.run("bench: harness", command)?;
    }
    Ok(())
}

/// A tiny run of the suites. With that of the harness come a few of the figures, and the check that
/// fibres use as many cores as theory says.
///
/// All programs are built by one command, of the packages that are tested in release, too: so what
/// they have in common is built once. The harness would select several.
fn once(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    let mut build = of_release("build");
    build.args(["--release", "--bins", "--bench", PRIMITIVES]);
    for example in EXAMPLES {
        build.args(["--example", example]);
    }
    steps.run("bench: build", build)?;
    if options.includes(Suite::Criterion) {
        let mut primitives = of_release("bench");
        primitives.args(["--bench", PRIMITIVES, "--", "--test"]);
        steps.run("bench: criterion", primitives)?;
    }
    if !options.includes(Suite::Harness) {
        return Ok(());
    }
    let program = workspace.target_dir("release").join("fibre-bench");
    let share = options.part.share();
    for (title, arguments) in [
        ("figures", &["figures", "4.1", "4.3", "4.6", "--quick"][..]),
        ("utilisation", &["utilisation", "--check"]),
        ("harness", &["run", "all", "--quick", "--share", &share]),
    ] {
        let mut command = Command::new(&program);
        // By this it would know that it can have cargo build what it measures.
        command.args(arguments).env_remove("CARGO");
        steps.run(&format!("bench: {title}"), command)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The suites that these options run, the criterion benchmarks first.
    fn suites(suite: Option<Suite>, arguments: &[&str]) -> [bool; 2] {
        let options = Options {
            quick: true,
            suite,
            part: Part::default(),
            arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
        };
        [Suite::Criterion, Suite::Harness].map(|suite| options.includes(suite))
    }

    #[test]
    fn arguments_go_to_one_suite_only() {
        assert_eq!(suites(None, &[]), [true, true]);
        assert_eq!(suites(None, &["webserver"]), [false, true]);
        assert_eq!(suites(Some(Suite::Criterion), &["Mutex"]), [true, false]);
        assert_eq!(suites(Some(Suite::Harness), &[]), [false, true]);
    }
}
