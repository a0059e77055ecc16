//! `loom`: the models of lock-free words, queues and slots, over all interleavings.
//!
//! Models are the files `tests/loom/*.rs` of a crate, modules of one program `loom` that is empty
//! unless built with `--cfg loom`. That flag rebuilds every dependency, hence the build directory
//! of its own. Models are built with optimisation, and count without wrapping all the same: a
//! permit that is given back twice is a number below zero, which a model that looks at something
//! else would not see. A crate listed in [`MODELLED`] without models is an error, and so are a
//! program without a test, and a file that is no module of its program.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail, ensure};
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
    /// Passed to the programs: a filter such as `gate::`, --test-threads=1, …
    #[arg(last = true)]
    arguments: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            preemptions: 2,
            arguments: Vec::new(),
        }
    }
}

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    let packages = packages_with_models(workspace)?;
    // All in one build, which keeps both CPUs busy.
    let mut command = cargo(["test", "--release", "--test", "loom", "--target-dir"]);
    command.arg(workspace.target_dir("loom"));
    for package in &packages {
        command.args(["--package", package]);
    }
    if !options.arguments.is_empty() {
        command.arg("--").args(&options.arguments);
    }
    command.env("LOOM_MAX_PREEMPTIONS", options.preemptions.to_string());
    add_rustflags(&mut command, FLAGS);
    let least = match options.arguments.is_empty() {
        true => packages.len(),
        false => 1,
    };
    steps.run_programs("loom: models", command, least)
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
            bail!("{name} has no tests/loom");
        }
    }
    Ok(found)
}

/// Whether a package has models, an error if some of them are left out of their program.
fn has_models(package: &Path) -> Result<bool> {
    let folder = package.join("tests/loom");
    if !folder.is_dir() {
        return Ok(false);
    }
    let program = fs::read_to_string(folder.join("main.rs"))?;
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let is_run = name == "main" || program.lines().any(|line| line == format!("mod {name};"));
        ensure!(is_run, "{} is no module of its program", path.display());
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_with_models_are_found() {
        let mut found = packages_with_models(&Workspace::find().unwrap()).unwrap();
        found.sort_unstable();
        assert_eq!(found, MODELLED);
    }

    #[test]
    fn a_model_that_is_left_out_fails() {
        let package = std::env::temp_dir().join(format!("xtask-models-{}", std::process::id()));
        let folder = package.join("tests/loom");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("main.rs"), "mod gate;\n").unwrap();
        fs::write(folder.join("gate.rs"), "").unwrap();
        assert!(has_models(&package).unwrap());
        fs::write(folder.join("forgotten.rs"), "").unwrap();
        let error = has_models(&package).unwrap_err().to_string();
        assert!(error.contains("forgotten.rs"), "{error}");
        fs::remove_dir_all(&package).unwrap();
        assert!(!has_models(&package).unwrap());
    }
}
