//! `browser`: the page of a process, as a browser draws it.
//!
//! The tests are those of `tests/observed/metrics/browser.rs`, which `cargo xtask test` leaves
//! alone: they need Chromium, which CI does not install.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::steps::Steps;
use crate::workspace::{cargo, require_program};

/// How to test.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Write pictures of the page into this folder
    #[arg(long)]
    pictures: Option<PathBuf>,
}

/// Runs the lane.
pub(crate) fn run(steps: &mut Steps, options: &Options) -> Result<()> {
    steps.check("browser: programs", || {
        require_program("chromium", "Debian: apt-get install chromium")?;
        Ok("chromium is installed".into())
    })?;
    let mut tests = cargo(["test", "--package", "fibre-tests", "--features", "browser"]);
    tests.args(["--test", "observed", "--", "metrics::browser::"]);
    if let Some(folder) = &options.pictures {
        tests.env("XTASK_SCREENSHOTS", std::path::absolute(folder)?);
    }
    steps.run_tests("browser: tests", tests, true)
}
