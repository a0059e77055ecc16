//! What cargo says of packages: each with its licence and its source, and which needs which.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::commands::cannot_start;
use crate::workspace::cargo;

/// All packages of a workspace, ours and others', as they are locked.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    /// The packages, by what cargo identifies them with.
    pub(crate) packages: BTreeMap<String, Package>,
}

/// A package.
#[derive(Debug, Default)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
    /// The expression that it gives for its licence.
    pub(crate) licence: Option<String>,
    /// Where it is from. None: from this tree.
    pub(crate) source: Option<String>,
    /// The features that programs choose, with what each has switched on.
    pub(crate) features: BTreeMap<String, Vec<String>>,
    /// What programs with it are made of, too, not what its tests need.
    needs: BTreeSet<String>,
}

impl Graph {
    /// Asks cargo for all packages that Linux needs.
    pub(crate) fn of_workspace() -> Result<Self> {
        let mut command = cargo(["metadata", "--format-version=1", "--locked"]);
        command.arg("--filter-platform=x86_64-unknown-linux-gnu");
        let output = command.output().with_context(|| cannot_start(&command))?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "cargo metadata fails: {said}");
        Self::parse(&serde_json::from_slice(&output.stdout)?)
    }

    /// Reads what `cargo metadata` prints.
    pub(crate) fn parse(metadata: &Value) -> Result<Self> {
        let mut graph = Self::default();
        for package in array(&metadata["packages"], "packages")? {
            let id = text(&package["id"]).context("a package without an id")?;
            graph.packages.insert(id, Package::parse(package)?);
        }
        for node in array(&metadata["resolve"]["nodes"], "nodes")? {
            let id = text(&node["id"]).context("a node without an id")?;
            let package = graph.packages.get_mut(&id);
            let package = package.with_context(|| format!("no package {id}"))?;
            for needed in array(&node["deps"], "dependencies")? {
                let kinds = array(&needed["dep_kinds"], "kinds")?;
                if kinds.iter().any(|kind| kind["kind"] != "dev") {
                    package.needs.extend(text(&needed["pkg"]));
                }
            }
        }
        Ok(graph)
    }

    /// The packages of these names in this tree, and all that programs with them are made of.
    pub(crate) fn closure(&self, names: &[&str]) -> Vec<&Package> {
        let ours = self.packages.iter().filter(|(_, package)| {
            package.source.is_none() && names.contains(&package.name.as_str())
        });
        let mut left: Vec<&String> = ours.map(|(id, _)| id).collect();
        let mut found = BTreeMap::new();
        while let Some(id) = left.pop() {
            let Some(package) = self.packages.get(id) else {
                continue;
            };
            if found.insert(id, package).is_none() {
                left.extend(&package.needs);
            }
        }
        found.into_values().collect()
    }
}

impl Package {
    /// Reads an element of `packages`.
    fn parse(package: &Value) -> Result<Self> {
        let features = package["features"].as_object().into_iter().flatten();
        Ok(Self {
            name: text(&package["name"]).context("a package without a name")?,
            version: text(&package["version"]).context("a package without a version")?,
            licence: text(&package["license"]),
            source: text(&package["source"]),
            features: features
                .map(|(name, has)| {
                    let has = has.as_array().into_iter().flatten();
                    (name.clone(), has.filter_map(text).collect())
                })
                .collect(),
            needs: BTreeSet::new(),
        })
    }
}

/// The elements of an array, an error with its name if there is none.
fn array<'a>(value: &'a Value, name: &str) -> Result<&'a Vec<Value>> {
    value
        .as_array()
        .with_context(|| format!("cargo says nothing of {name}"))
}

/// A string.
fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A program of this tree that needs one crate; the tests of that need another.
    pub(crate) fn graph() -> Graph {
        let node = |id: &str, needs: &[(&str, Value)]| {
            let deps: Vec<Value> = needs
                .iter()
                .map(|(id, kind)| serde_json::json!({"pkg": id, "dep_kinds": [{"kind": kind}]}))
                .collect();
            serde_json::json!({"id": id, "deps": deps})
        };
        let package = |id: &str, source: Value| {
            serde_json::json!({
                "id": id, "name": id, "version": "1.0.0", "license": "MIT", "source": source,
                "features": {"default": ["one"], "one": []},
            })
        };
        let metadata = serde_json::json!({
            "packages": [
                package("ours", Value::Null),
                package("needed", "registry".into()),
                package("tested-with", "registry".into()),
            ],
            "resolve": {"nodes": [
                node("ours", &[("needed", Value::Null)]),
                node("needed", &[("tested-with", "dev".into())]),
                node("tested-with", &[]),
            ]},
        });
        Graph::parse(&metadata).unwrap()
    }

    #[test]
    fn programs_are_made_of_what_they_need() {
        let graph = graph();
        let names = |of: &[&str]| -> Vec<String> {
            let packages = graph.closure(of).into_iter();
            packages.map(|package| package.name.clone()).collect()
        };
        assert_eq!(names(&["ours"]), ["needed", "ours"]);
        // It is not of this tree.
        assert!(names(&["needed"]).is_empty());
        assert_eq!(graph.packages["ours"].features["default"], ["one"]);
    }

    #[test]
    fn this_workspace_is_read() {
        let graph = Graph::of_workspace().unwrap();
        let facade = graph.closure(&["fibre-rt"]);
        assert!(facade.iter().any(|package| package.name == "rustix"));
        assert!(facade.iter().all(|package| package.name != "xtask"));
    }
}
