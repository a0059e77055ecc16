//! `audit`: the licences of dependencies, where they are from, and how many versions there are.
//!
//! `deny.toml` says what they may be. That is the file of cargo-deny, which takes minutes to
//! install; this lane reads the same rules in a second, from what is locked, without network. Known
//! faults are in a database that only cargo-deny gets: `--advisories` runs it.
//!
//! A rule that has become useless fails, too.

mod licence;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use toml::{Table, Value};

use crate::lanes::package::PUBLISHED;
use crate::metadata::{Graph, Package};
use crate::steps::Steps;
use crate::workspace::{Workspace, read_manifest, require_program};

/// The rules.
const RULES: &str = "deny.toml";

/// Where all that is not of this tree is from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// What to look at.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Also asks cargo-deny for known faults; it gets the database of them from the network
    #[arg(long)]
    advisories: bool,
}

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    let rules = Rules::read(workspace.root())?;
    let graph = Graph::of_workspace()?;
    steps.check("audit: licences", || rules.check_licences(&graph))?;
    steps.check("audit: sources", || check_sources(&graph))?;
    steps.check("audit: versions", || rules.check_versions(&graph))?;
    if options.advisories {
        require_program("cargo-deny", "cargo install --locked cargo-deny")?;
        let mut deny = Command::new("cargo-deny");
        deny.args(["--locked", "--workspace", "check"]);
        deny.args(["advisories", "bans", "licenses", "sources"]);
        steps.run("audit: cargo-deny", deny)?;
    }
    Ok(())
}

/// What `deny.toml` says, as far as this lane reads it.
struct Rules {
    /// Licences that every package may have.
    allowed: BTreeSet<String>,
    /// Licences that a package may have besides.
    exceptions: BTreeMap<String, BTreeSet<String>>,
    /// Packages that may be published with in two versions.
    twice: BTreeSet<String>,
}

impl Rules {
    /// Reads the file.
    fn read(root: &Path) -> Result<Self> {
        Self::parse(&read_manifest(&root.join(RULES))?)
    }

    /// Takes the rules from the file's content.
    fn parse(file: &Table) -> Result<Self> {
        let licenses = &file["licenses"];
        let named = |entry: &Value| -> Result<String> {
            let name = entry.get("crate").and_then(Value::as_str);
            Ok(name.context("an entry names no crate")?.to_owned())
        };
        let exceptions = list(licenses.get("exceptions")).iter().map(|entry| {
            let allowed = list(entry.get("allow")).iter().filter_map(text).collect();
            Ok((named(entry)?, allowed))
        });
        let skipped = file.get("bans").and_then(|bans| bans.get("skip"));
        Ok(Self {
            allowed: list(licenses.get("allow"))
                .iter()
                .filter_map(text)
                .collect(),
            exceptions: exceptions.collect::<Result<_>>()?,
            twice: list(skipped).iter().map(named).collect::<Result<_>>()?,
        })
    }

    /// Each package has a licence that it may have, and each rule is needed.
    fn check_licences(&self, graph: &Graph) -> Result<String> {
        let mut used = BTreeSet::new();
        let mut faults = Vec::new();
        for package in graph.packages.values() {
            let name = &package.name;
            let Some(expression) = &package.licence else {
                faults.push(format!("{name} names no licence"));
                continue;
            };
            let besides = self.exceptions.get(name);
            let permitted = licence::permitted(expression, &mut |one| {
                let allowed = self.allowed.contains(one);
                if allowed {
                    used.insert(one.to_owned());
                }
                allowed || besides.is_some_and(|besides| besides.contains(one))
            });
            let permitted = permitted.with_context(|| format!("{name}: `{expression}`"))?;
            if !permitted {
                faults.push(format!("{name} is under `{expression}`"));
            }
        }
        for unused in self.allowed.difference(&used) {
            faults.push(format!("no package is under {unused}"));
        }
        for name in self.exceptions.keys() {
            if !graph.packages.values().any(|package| package.name == *name) {
                faults.push(format!("there is no {name}, which has an exception"));
            }
        }
        told(faults)?;
        Ok(format!("{} packages", graph.packages.len()))
    }

    /// What is published is made of one version of each crate, but for those that are named.
    fn check_versions(&self, graph: &Graph) -> Result<String> {
        let packages = graph.closure(&PUBLISHED);
        let twice = in_versions(&packages);
        let mut faults = Vec::new();
        for (name, versions) in &twice {
            if !self.twice.contains(*name) {
                faults.push(format!("{name} is there as {}", versions.join(", ")));
            }
        }
        for name in &self.twice {
            if !twice.contains_key(name.as_str()) {
                faults.push(format!("{name} may be there twice, and is not"));
            }
        }
        told(faults)?;
        let facade = graph.closure(&["fibre-rt"]).len();
        let all = packages.len();
        Ok(format!(
            "{all} packages are published with, {facade} of the facade"
        ))
    }
}

/// All that is not of this tree is from the registry.
fn check_sources(graph: &Graph) -> Result<String> {
    let others = graph.packages.values().filter_map(|package| {
        let source = package.source.as_ref()?;
        (source != REGISTRY).then(|| format!("{} is from {source}", package.name))
    });
    told(others.collect())?;
    Ok("one registry".into())
}

/// The versions of each crate that is there in more than one.
fn in_versions<'a>(packages: &[&'a Package]) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages {
        let of_name = versions.entry(&package.name).or_default();
        of_name.push(&package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    versions
}

/// An error with all faults, if there are any.
fn told(faults: Vec<String>) -> Result<()> {
    if faults.is_empty() {
        return Ok(());
    }
    bail!("{RULES} forbids: {}", faults.join("; "))
}

/// The elements of an array that may be missing.
fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A string.
fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::tests::graph;

    /// Rules with this text before those for versions.
    fn rules(licenses: &str, skip: &str) -> Rules {
        let text = format!("[licenses]\n{licenses}\n[bans]\nskip = [{skip}]\n");
        Rules::parse(&text.parse().unwrap()).unwrap()
    }

    /// What a check says that fails.
    fn fault(result: Result<String>) -> String {
        format!("{:#}", result.unwrap_err())
    }

    #[test]
    fn a_package_with_another_licence_fails() {
        let mut graph = graph();
        let mit = rules("allow = [\"MIT\"]", "");
        mit.check_licences(&graph).unwrap();
        let planted = graph.packages.get_mut("needed").unwrap();
        planted.licence = Some("MIT AND GPL-3.0-only".into());
        let said = fault(mit.check_licences(&graph));
        assert!(
            said.contains("needed is under `MIT AND GPL-3.0-only`"),
            "{said}"
        );
        let excepted = "allow = [\"MIT\"]\n\
            exceptions = [{ crate = \"needed\", allow = [\"GPL-3.0-only\"] }]";
        rules(excepted, "").check_licences(&graph).unwrap();
        graph.packages.get_mut("needed").unwrap().licence = None;
        let said = fault(mit.check_licences(&graph));
        assert!(said.contains("needed names no licence"), "{said}");
    }

    #[test]
    fn a_rule_that_nothing_needs_fails() {
        let said = fault(rules("allow = [\"MIT\", \"ISC\"]", "").check_licences(&graph()));
        assert!(said.contains("no package is under ISC"), "{said}");
        let gone = "allow = [\"MIT\"]\nexceptions = [{ crate = \"gone\", allow = [] }]";
        let said = fault(rules(gone, "").check_licences(&graph()));
        assert!(said.contains("there is no gone"), "{said}");
        let said = fault(rules("", "{ crate = \"gone\" }").check_versions(&graph()));
        assert!(said.contains("gone may be there twice"), "{said}");
    }

    #[test]
    fn a_package_from_elsewhere_fails() {
        let mut graph = graph();
        for package in graph.packages.values_mut() {
            package.source = package.source.as_ref().map(|_| REGISTRY.to_owned());
        }
        check_sources(&graph).unwrap();
        let planted = graph.packages.get_mut("needed").unwrap();
        planted.source = Some("git+https://example.org/needed".into());
        let said = fault(check_sources(&graph));
        assert!(said.contains("needed is from git+"), "{said}");
    }

    #[test]
    fn a_second_version_in_what_is_published_fails() {
        let mut graph = graph();
        graph.packages.get_mut("ours").unwrap().name = "fibre-rt".into();
        rules("", "").check_versions(&graph).unwrap();
        let planted = graph.packages.get_mut("needed").unwrap();
        planted.name = "fibre-rt".into();
        let said = fault(rules("", "").check_versions(&graph));
        assert!(said.contains("fibre-rt is there as 1.0.0, 1.0.0"), "{said}");
        let skip = "{ crate = \"fibre-rt\" }";
        rules("", skip).check_versions(&graph).unwrap();
    }

    #[test]
    fn the_rules_of_this_tree_are_read() {
        let workspace = Workspace::find().unwrap();
        let rules = Rules::read(workspace.root()).unwrap();
        assert!(rules.allowed.contains("MIT") && rules.twice.contains("syn"));
    }
}
