//! `loom`: the models of lock-free words, queues and slots, over all interleavings.
//!
//! A model is a test file `tests/loom_*.rs` of a crate; it is empty unless built with `--cfg loom`.
//! That flag rebuilds every dependency, hence the build directory of its own. Models are built with
//! optimisation, and count without wrapping all the same: a permit that is given back twice is a
//! number below zero, which a model that looks at something else would not see. A crate listed in
//! [`MODELLED`] without a model is an error, and so is a crate with models that hold no test.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;

use crate::steps::Steps;
use crate::workspace::{Workspace, add_rustflags, cargo, package_in};

/// The crates that must have models.
const MODELLED: [&str; 7] = [
    "fibre-actors",
    "fibre-core",
    "fibre-events",
    "fibre-inspect",
    "fibre-io",
    "fibre-sync",
    "fibre-tasks",
];

/// The compiler flags of models.
pub(crate) const FLAGS: &str = "--cfg loom -C overflow-checks=on";

/// How far to search.
#[derive(Args)]
pub(crate) struct Options {
    /// Preemptions per execution; each more finds more and costs much more
    #[arg(long, default_value_t = 2)]
    preemptions: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { preemptions: 2 }
    }
}

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    let target_dir = workspace.target_dir("loom");
    for package in packages_with_models(workspace)? {
        let mut command = cargo(["test", "--release", "--package", &package]);
        command.args(["--test", "loom_*", "--target-dir"]);
        command.arg(&target_dir);
        command.env("LOOM_MAX_PREEMPTIONS", options.preemptions.to_string());
        add_rustflags(&mut command, FLAGS);
        steps.run_tests(&format!("loom: {package}"), command, true)?;
    }
    Ok(())
}

/// The names of all crates with models, an error if one of [`MODELLED`] has none.
fn packages_with_models(workspace: &Workspace) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for package in workspace.packages()? {
        if has_models(&workspace.root().join(&package))? {
            found.push(package_in(&package.to_string_lossy()));
        }
    }
    for name in MODELLED {
        if !found.iter().any(|package| package == name) {
            bail!("{name} has no tests/loom_*.rs");
        }
    }
    Ok(found)
}

/// Whether a package has a file `tests/loom_*.rs`.
fn has_models(package: &Path) -> Result<bool> {
    let tests = package.join("tests");
    if !tests.is_dir() {
        return Ok(false);
    }
    for entry in fs::read_dir(tests)? {
        if is_model(&entry?.path()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether this is a file of models by its name.
fn is_model(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("loom_") && name.ends_with(".rs")
}
