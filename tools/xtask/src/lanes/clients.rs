//! `clients`: unmodified clients on fibres against Debian's servers.
//!
//! The tests are those of `benches/clients/tests/debian/`, and a chat on several processes that
//! loses one of them (`examples/fibre-examples/tests/failover.rs`). `cargo xtask test` leaves them
//! alone: they need servers and libraries that are installed. Where one is missing the lane fails.
//! The siblings in `benches/clients/tests/clients/` bring small servers of their own.

use std::process::Command;

use anyhow::{Result, ensure};
use clap::Args;

use crate::lanes::test;
use crate::steps::Steps;
use crate::workspace::{OPTIONAL, cargo};

/// The script that installs what is missing, and says so where it must not.
const SCRIPT: &str = "benches/clients/servers.sh";

/// How to test.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Compare clients on fibres with those on threads as well, at tiny loads
    #[arg(long)]
    compare: bool,
    /// Passed to the test binary: a name filter, --test-threads=1, …
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// Cargo for the package with its C libraries.
fn cargo_with_libraries(command: &str) -> Command {
    let mut cargo = cargo([command, "--package", "fibre-clients"]);
    cargo.args(["--features", "libpq,libcurl"]);
    cargo
}

/// Runs the lane.
pub(crate) fn run(steps: &mut Steps, options: &Options) -> Result<()> {
    steps.check("clients: servers", || {
        let there = Command::new("bash").args([SCRIPT, "check"]).status()?;
        ensure!(there.success(), "`bash {SCRIPT} install` installs them");
        Ok("they are installed".into())
    })?;
    // Of the whole workspace, as `test` has built it, but for these features.
    let mut tests = test::everything();
    tests.args(["--test", "debian", "--test", "failover"]);
    let [option, features] = OPTIONAL;
    tests.arg(option);
    tests.arg(format!(
        "{features},fibre-clients/libpq,fibre-clients/libcurl"
    ));
    tests.arg("--");
    tests.args(&options.arguments);
    steps.run_tests("clients: servers", tests, options.arguments.is_empty())?;
    if options.compare {
        let mut build = cargo_with_libraries("build");
        build.arg("--bins");
        steps.run("clients: build", build)?;
        let mut compare = cargo_with_libraries("run");
        compare.args([
            "--bin",
            "compare-clients",
            "--",
            "--quick",
            "--repetitions",
            "1",
        ]);
        steps.run("clients: compare", compare)?;
    }
    Ok(())
}
