//! `bench`: the benchmarks, through the harness in fibre-bench.

use anyhow::Result;
use clap::Args;

use crate::steps::Steps;
use crate::workspace::{cargo, require_program};

/// How much to measure.
#[derive(Args)]
pub(crate) struct Options {
    /// Tiny sizes: shows that the benchmarks still run, measures nothing
    #[arg(long)]
    quick: bool,
    /// What `fibre-bench run` shall run, with its options
    #[arg(last = true, default_value = "all")]
    arguments: Vec<String>,
}

impl Options {
    /// A tiny run of everything.
    pub(crate) fn smoke() -> Self {
        Self {
            quick: true,
            arguments: vec!["all".into()],
        }
    }
}

/// Runs the lane.
pub(crate) fn run(steps: &mut Steps, options: &Options) -> Result<()> {
    steps.check("bench: load generator", || {
        require_program(
            "wrk",
            "the HTTP benchmarks need it (Debian: apt-get install wrk)",
        )?;
        Ok("wrk is installed".into())
    })?;
    let mut command = cargo(["run", "--release", "--package", "fibre-bench", "--"]);
    command.arg("run").args(&options.arguments);
    if options.quick {
        command.arg("--quick");
    }
    steps.run("bench", command)
}
