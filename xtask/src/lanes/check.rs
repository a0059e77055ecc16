//! `check`: what to run before a commit. Formatting, clippy, the source rules and the
//! documentation; no test.

use anyhow::Result;

use crate::lanes::doc;
use crate::steps::Steps;
use crate::tidy;
use crate::workspace::{Workspace, cargo};

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    lint(steps)?;
    source_rules(workspace, steps)?;
    doc::run(steps)
}

/// Formatting and clippy.
pub(crate) fn lint(steps: &mut Steps) -> Result<()> {
    steps.run("fmt", cargo(["fmt", "--all", "--check"]))?;
    let mut clippy = cargo(["clippy", "--workspace", "--all-targets"]);
    clippy.args(["--", "-D", "warnings"]);
    steps.run("clippy", clippy)
}

/// The source rules.
pub(crate) fn source_rules(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    steps.check("tidy", || tidy::check(workspace))
}
