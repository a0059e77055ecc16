//! `bench`: the benchmarks, in two suites.
//!
//! The *harness* in fibre-bench measures whole programs, ours and our peers', in processes of their
//! own. The *criterion* benchmarks in `fibre-bench/benches/primitives/` measure one primitive each
//! beside what one would use instead, within one process.

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::steps::Steps;
use crate::workspace::cargo;

/// What to measure, and how much.
#[derive(Args)]
pub(crate) struct Options {
    /// Tiny sizes: shows that the benchmarks still run, measures nothing
    #[arg(long)]
    quick: bool,
    /// Only this suite [default: both, or the harness if there are arguments for it]
    #[arg(long)]
    suite: Option<Suite>,
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
    /// The primitives in fibre-bench/benches/primitives/, each beside what it replaces
    Criterion,
}

impl Options {
    /// A tiny run of everything.
    pub(crate) fn smoke() -> Self {
        Self {
            quick: true,
            suite: None,
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

/// Runs the lane.
pub(crate) fn run(steps: &mut Steps, options: &Options) -> Result<()> {
    if options.includes(Suite::Criterion) {
        criterion(steps, options)?;
    }
    if options.includes(Suite::Harness) {
        harness(steps, options)?;
    }
    Ok(())
}

/// The benchmarks in `fibre-bench/benches/primitives/`. A tiny run does each of them once.
fn criterion(steps: &mut Steps, options: &Options) -> Result<()> {
    let mut command = cargo([
        "bench",
        "--package",
        "fibre-bench",
        "--bench",
        "primitives",
        "--",
    ]);
    if options.quick {
        command.arg("--test");
    }
    command.args(&options.arguments);
    steps.run("bench: criterion", command)
}

/// What `fibre-bench run` runs; in a tiny run without arguments a few of the figures too, and the
/// check that fibres use as many cores as theory says.
fn harness(steps: &mut Steps, options: &Options) -> Result<()> {
    if options.quick && options.arguments.is_empty() {
        let mut command = cargo(["run", "--release", "--package", "fibre-bench", "--"]);
        command.args(["figures", "4.1", "4.3", "4.6", "--quick"]);
        steps.run("bench: figures", command)?;
        let mut command = cargo(["run", "--release", "--package", "fibre-bench", "--"]);
        command.args(["utilisation", "--check"]);
        steps.run("bench: utilisation", command)?;
    }
    let mut command = cargo(["run", "--release", "--package", "fibre-bench", "--"]);
    command.arg("run");
    if options.arguments.is_empty() {
        command.arg("all");
    }
    command.args(&options.arguments);
    if options.quick {
        command.arg("--quick");
    }
    steps.run("bench: harness", command)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The suites that these options run, the criterion benchmarks first.
    fn suites(suite: Option<Suite>, arguments: &[&str]) -> [bool; 2] {
        let options = Options {
            quick: true,
            suite,
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
