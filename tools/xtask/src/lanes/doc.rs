//! `doc`: the documentation with private items and warnings denied, so that links inside comments
//! stay alive.

use anyhow::Result;

use crate::steps::Steps;
use crate::workspace::{OPTIONAL, cargo};

/// Runs the lane.
pub(crate) fn run(steps: &mut Steps) -> Result<()> {
    let mut command = cargo(["doc", "--workspace", "--no-deps"]);
    command.arg("--document-private-items").args(OPTIONAL);
    // Links from public to private items resolve, since both are there.
    let flags = "-D warnings -A rustdoc::private-intra-doc-links";
    command.env("RUSTDOCFLAGS", flags);
    steps.run("doc", command)
}
