//! The programs of tests that cargo has built.
//!
//! `cargo test` runs them one after the other. Here they are found, so that a few of them run side
//! by side. To have cargo run parts of them by choosing targets would not do: it makes a set of
//! features for each choice, and builds much of what is below anew.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value as Json;
use toml::{Table, Value};

use crate::workspace::read_manifest;

/// A program of tests.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Program {
    /// Its package.
    pub(crate) package: String,
    /// The folder of the package; it runs there.
    folder: PathBuf,
    /// The target that it tests, or is.
    pub(crate) target: String,
    /// Whether tests must run in it: it is no library, and has a harness.
    pub(crate) has_tests: bool,
    /// The file.
    path: PathBuf,
    /// The first of its sources.
    source: PathBuf,
}

/// How a program names a suite that is a module of it.
const SUITE: &str = "mod suite_";

/// The suites that the main source of a program names.
pub(crate) fn suites_in(source: &str) -> impl Iterator<Item = &str> {
    let lines = source.lines();
    lines.filter_map(|line| line.strip_prefix(SUITE)?.strip_suffix(';'))
}

impl Program {
    /// The command that runs it, in the surroundings that cargo would give it.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.folder);
        command.env("CARGO_MANIFEST_DIR", &self.folder);
        command.env("CARGO_PKG_NAME", &self.package);
        // Programs that tests start are there, and need not be built once more.
        command.env("XTASK_EXAMPLES_ARE_BUILT", "1");
        command
    }

    /// The suites that are modules of it.
    pub(crate) fn suites(&self) -> Result<Vec<String>> {
        let source = fs::read_to_string(&self.source)
            .with_context(|| format!("cannot read {}", self.source.display()))?;
        Ok(suites_in(&source).map(str::to_owned).collect())
    }

    /// What it is called.
    pub(crate) fn title(&self) -> String {
        format!("{}, {}", self.package, self.target)
    }
}

/// Builds tests by a command of cargo, and returns the programs.
pub(crate) fn build(command: &mut Command) -> Result<Vec<Program>> {
    command.args(["--no-run", "--message-format=json-render-diagnostics"]);
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take().context("the child has no output")?;
    let mut found = BTreeSet::new();
    for line in BufReader::new(output).lines() {
        let message = serde_json::from_str(&line?)?;
        found.extend(program_of(&message)?);
    }
    let status = child.wait()?;
    ensure!(status.success(), "the command failed: {status}");
    Ok(found.into_iter().collect())
}

/// The program that a message of cargo tells of, if it does.
fn program_of(message: &Json) -> Result<Option<Program>> {
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return Ok(None);
    }
    let Some(path) = message["executable"].as_str() else {
        return Ok(None);
    };
    let target = &message["target"];
    let (Some(manifest), Some(name)) = (message["manifest_path"].as_str(), target["name"].as_str())
    else {
        bail!("cargo does not say what {path} is");
    };
    let manifest = Path::new(manifest);
    let table = read_manifest(manifest)?;
    let package = table.get("package").and_then(|package| package.get("name"));
    let package = package.and_then(Value::as_str);
    let (Some(package), Some(folder)) = (package, manifest.parent()) else {
        bail!("{} names no package", manifest.display());
    };
    Ok(Some(Program {
        package: package.to_owned(),
        folder: folder.to_owned(),
        target: name.to_owned(),
        has_tests: target["kind"][0] == "test" && is_told_of(&table, name),
        path: path.into(),
        source: target["src_path"].as_str().unwrap_or_default().into(),
    }))
}

/// Whether the suite says of each test how it has ended: it has a harness, and in this build tests.
fn is_told_of(manifest: &Table, suite: &str) -> bool {
    let declared = manifest.get("test").and_then(Value::as_array);
    let named = |table: &&Value| table.get("name").and_then(Value::as_str) == Some(suite);
    let its = declared.and_then(|tables| tables.iter().find(named));
    let harness = its.and_then(|its| its.get("harness")?.as_bool());
    harness != Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What cargo says of this program of the package of xtask.
    fn said(executable: Option<&str>, is_test: bool) -> Json {
        json!({
            "reason": "compiler-artifact",
            "manifest_path": concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
            "target": { "kind": ["test"], "name": "some", "src_path": file!() },
            "profile": { "test": is_test },
            "executable": executable,
        })
    }

    #[test]
    fn programs_of_tests_are_found() {
        let found = program_of(&said(Some("/some"), true)).unwrap().unwrap();
        assert_eq!(found.title(), "xtask, some");
        assert!(found.has_tests);
        let command = found.command();
        assert_eq!(command.get_program(), "/some");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(command.get_current_dir(), Some(folder));
    }

    #[test]
    fn suites_without_a_harness_tell_of_no_tests() {
        let manifest = "[[test]]\nname = 'plain'\nharness = false\n[[test]]\nname = 'usual'";
        let manifest = manifest.parse().unwrap();
        for (suite, is_told_of_it) in [("plain", false), ("usual", true), ("found", true)] {
            assert_eq!(is_told_of(&manifest, suite), is_told_of_it, "{suite}");
        }
    }

    #[test]
    fn suites_are_modules_with_such_names() {
        let source = "mod support;\n#[path = \"a/mod.rs\"]\nmod suite_a;\nmod suite_b;\nmod c;\n";
        assert!(suites_in(source).eq(["a", "b"]));
    }

    #[test]
    fn what_is_no_program_of_tests_is_not() {
        assert_eq!(program_of(&said(Some("/some"), false)).unwrap(), None);
        assert_eq!(program_of(&said(None, true)).unwrap(), None);
        let other = json!({ "reason": "build-finished", "success": true });
        assert_eq!(program_of(&other).unwrap(), None);
    }
}
