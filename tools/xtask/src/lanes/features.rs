//! `features`: published crates with every combination of their features.
//!
//! A crate is looked at once for each set of features that differs in what it switches on. Warnings
//! fail: what is used by one feature only must be there with it only. Features that need a library
//! of the system, or another build of everything, are left out ([`LEFT_OUT`]).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::lanes::package::PUBLISHED;
use crate::metadata::Graph;
use crate::steps::Steps;
use crate::workspace::{Workspace, cargo};

/// Features that this lane leaves as they are: the one that names others, what other lanes build
/// with, and what needs hwloc.
const LEFT_OUT: [&str; 4] = ["default", "sanitizer", "capi", "hwloc"];

/// A set of features.
type Set = BTreeSet<String>;

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    let graph = Graph::of_workspace()?;
    let manifest = workspace.root().join("Cargo.toml");
    for name in PUBLISHED {
        let mut packages = graph.packages.values();
        let package = packages.find(|package| package.name == name && package.source.is_none());
        let package = package.with_context(|| format!("there is no {name}"))?;
        let sets = combinations(&package.features);
        // With no feature to choose, other lanes build it as it is.
        for set in sets.iter().filter(|_| sets.len() > 1) {
            let title = format!("features: {name}, {}", named(set));
            steps.run(&title, command(&manifest, name, set))?;
        }
    }
    Ok(())
}

/// The features of a set, as they are printed.
fn named(set: &Set) -> String {
    match set.is_empty() {
        true => "none".to_owned(),
        false => Vec::from_iter(set.iter().map(String::as_str)).join(", "),
    }
}

/// Looks at a library with these features.
fn command(manifest: &Path, package: &str, set: &Set) -> Command {
    let mut clippy = cargo([
        "clippy",
        "--lib",
        "--no-default-features",
        "--package",
        package,
    ]);
    clippy.arg("--manifest-path").arg(manifest);
    let features = Vec::from_iter(set.iter().map(String::as_str)).join(",");
    if !set.is_empty() {
        clippy.args(["--features", &features]);
    }
    clippy.args(["--", "-D", "warnings"]);
    clippy
}

/// All sets of features that differ in what they switch on, each with all that it does.
fn combinations(features: &BTreeMap<String, Vec<String>>) -> BTreeSet<Set> {
    let mut sets = BTreeSet::from([Set::new()]);
    for name in features.keys() {
        if LEFT_OUT.contains(&name.as_str()) {
            continue;
        }
        for mut set in sets.clone() {
            switch_on(&mut set, name, features);
            sets.insert(set);
        }
    }
    sets
}

/// Adds a feature with those of the same crate that it switches on.
fn switch_on(set: &mut Set, name: &str, features: &BTreeMap<String, Vec<String>>) {
    let Some(others) = features.get(name) else {
        return;
    };
    if set.insert(name.to_owned()) {
        for other in others {
            switch_on(set, other, features);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Features, each with what it switches on.
    fn features(of: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
        let owned = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        of.iter()
            .map(|(name, on)| (name.to_string(), owned(on)))
            .collect()
    }

    #[test]
    fn each_combination_comes_once() {
        let features = features(&[
            ("default", &["metrics"]),
            ("inspect", &["dep:other"]),
            ("metrics", &["inspect", "other/metrics"]),
            ("sanitizer", &[]),
            ("tracing", &[]),
        ]);
        let sets = combinations(&features);
        let names: Vec<String> = sets.iter().map(named).collect();
        let expected = [
            "none",
            "inspect",
            "inspect, metrics",
            "inspect, metrics, tracing",
            "inspect, tracing",
            "tracing",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_combination_that_does_not_compile_fails() {
        let folder = std::env::temp_dir().join(format!("xtask-features-{}", std::process::id()));
        fs::create_dir_all(folder.join("src")).unwrap();
        let manifest = folder.join("Cargo.toml");
        let text = "[package]\nname = \"planted\"\nedition = \"2024\"\n[workspace]\n\
            [features]\none = []\nother = []\n";
        fs::write(&manifest, text).unwrap();
        // The function is used with `one` only: without `other`, it is missing there.
        let library = "#[cfg(feature = \"other\")] pub(crate) fn needed() {}\n\
            #[cfg(feature = \"one\")] pub fn call() { needed() }\n";
        fs::write(folder.join("src/lib.rs"), library).unwrap();
        let fails = |set: &[&str]| {
            let set = set.iter().map(|name| name.to_string()).collect();
            let mut command = command(&manifest, "planted", &set);
            command
                .arg("-Aclippy::all")
                .env("CARGO_TARGET_DIR", folder.join("target"));
            !command.output().unwrap().status.success()
        };
        let found = [&[][..], &["one"], &["one", "other"], &["other"]].map(fails);
        // With `other` alone, nobody uses it, which is a warning.
        assert_eq!(found, [false, true, false, true]);
        fs::remove_dir_all(folder).unwrap();
    }
}
