//! `semver`: whether the published crates break what programs may rely on, since a commit.
//!
//! cargo-semver-checks compares the documentation of two trees: this one, and that of the last tag
//! or of another commit. Nothing has been released yet, so nothing is promised; with the first tag
//! the lane begins to judge. It builds both trees, and so is not in CI.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::lanes::package::PUBLISHED;
use crate::steps::Steps;
use crate::workspace::require_program;

/// What is published, and has nothing that Rust programs call.
const WITHOUT_INTERFACE: [&str; 2] = ["fibre-capi", "fibre-test-macros"];

/// What is compared.
#[derive(Args)]
pub(crate) struct Options {
    /// A commit that this tree is compared with. Default: the last tag
    #[arg(long)]
    since: Option<String>,
    /// One package only
    #[arg(long)]
    package: Option<String>,
}

/// Runs the lane.
pub(crate) fn run(steps: &mut Steps, options: &Options) -> Result<()> {
    let install = "cargo install --locked cargo-semver-checks";
    require_program("cargo-semver-checks", install)?;
    let since = match &options.since {
        Some(since) => since.clone(),
        None => last_tag()?,
    };
    for name in chosen(options.package.as_deref())? {
        let mut check = Command::new("cargo-semver-checks");
        check.args(["semver-checks", "--package", name, "--baseline-rev", &since]);
        steps.run(&format!("semver: {name} since {since}"), check)?;
    }
    Ok(())
}

/// The packages to compare.
fn chosen(package: Option<&str>) -> Result<Vec<&'static str>> {
    let judged = PUBLISHED.iter().copied();
    let judged = judged.filter(|name| !WITHOUT_INTERFACE.contains(name));
    let chosen: Vec<&str> = judged
        .filter(|name| package.is_none_or(|wanted| wanted == *name))
        .collect();
    ensure!(!chosen.is_empty(), "no such package has an interface");
    Ok(chosen)
}

/// The last tag before this commit.
fn last_tag() -> Result<String> {
    let mut describe = Command::new("git");
    describe.args(["describe", "--tags", "--abbrev=0"]);
    let said = describe.output().context("cannot start git")?;
    ensure!(
        said.status.success(),
        "nothing has a tag yet: name a commit with --since"
    );
    Ok(String::from_utf8(said.stdout)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_rust_are_compared() {
        let all = chosen(None).unwrap();
        assert_eq!(all.len(), PUBLISHED.len() - WITHOUT_INTERFACE.len());
        assert_eq!(chosen(Some("fibre-rt")).unwrap(), ["fibre-rt"]);
        assert!(chosen(Some("fibre-capi")).is_err());
        assert!(chosen(Some("no-such-crate")).is_err());
    }
}
