//! `check`: what to run before a commit. Formatting, clippy, the source rules and the
//! documentation; no test.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::lanes::doc;
use crate::steps::Steps;
use crate::tidy;
use crate::workspace::{OPTIONAL, Workspace, cargo, require_program};

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    without_build(workspace, steps)?;
    clippy(steps)?;
    doc::run(steps)
}

/// What needs no build: formatting and the source rules.
pub(crate) fn without_build(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    steps.run("fmt", cargo(["fmt", "--all", "--check"]))?;
    source_rules(workspace, steps)
}

/// The manifest of peers that are a workspace of their own, and so have a lock file of their own.
const PEERS: &str = "benches/fibre-bench/peers/actors/Cargo.toml";

/// Clippy, over all that there is.
pub(crate) fn clippy(steps: &mut Steps) -> Result<()> {
    let mut clippy = cargo(["clippy", "--workspace", "--all-targets"]);
    clippy.args(OPTIONAL).args(["--", "-D", "warnings"]);
    steps.run("clippy", clippy)
}

/// What to do with the source rules.
#[derive(Args)]
pub(crate) struct Options {
    /// Draw the folders of each crate and their imports into target/rooms before
    #[arg(long)]
    graph: bool,
    /// Lower the limits in tools/xtask/phrase-limits.txt to what is left of each phrase before
    #[arg(long)]
    phrases: bool,
    /// Print size, unsafety and surface of the libraries instead, of this tree or of another one
    #[arg(long, value_name = "PATH", num_args = 0..=1, default_missing_value = ".")]
    figures: Option<PathBuf>,
}

/// The source rules, perhaps after a new drawing.
pub(crate) fn tidy(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    if let Some(root) = &options.figures {
        return steps.check("tidy: figures", || {
            tidy::print_figures(root).map(|()| root.display().to_string())
        });
    }
    if options.graph {
        tidy::draw(workspace)?;
    }
    if options.phrases {
        tidy::lower_phrases(workspace)?;
    }
    source_rules(workspace, steps)
}

/// The source rules, and whether the peers' lock file knows what fibre-bench depends on: with an
/// old one benchmarks would leave these peers out.
pub(crate) fn source_rules(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    steps.check("tidy", || tidy::check(workspace))?;
    let peers = cargo(["fetch", "--locked", "--manifest-path", PEERS]);
    steps.run("peers: lock file", peers)?;
    edit_list(steps)
}

/// The tests of the program that applies the list of edits to Memcached.
fn edit_list(steps: &mut Steps) -> Result<()> {
    require_program("prove", "it is part of perl")?;
    let mut prove = Command::new("prove");
    prove.args(["--quiet", "memcached/port"]);
    steps.run("memcached: list of edits", prove)
}
