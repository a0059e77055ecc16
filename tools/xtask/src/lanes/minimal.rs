//! `minimal`: what is published, with the lowest versions that its manifests permit.
//!
//! A manifest that says `1.0` and needs what came with 1.4 fails for a program that has locked an
//! older one. The packages are unpacked as `package` does it, their direct dependencies are locked
//! at the lowest versions, and all of it is compiled. What these depend on in turn is as new as it
//! may be: manifests of others often permit more than they should. To lock so is an instrument of
//! cargo that is not stable; the compiler that compiles is.
//!
//! It needs the registry, for versions that nothing else here uses, and so is not in CI.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use toml::{Table, Value};

use crate::lanes::package;
use crate::steps::Steps;
use crate::workspace::{Workspace, cargo, read_manifest};

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    let place = workspace.target_dir("minimal");
    package::pack(steps)?;
    steps.check("minimal: unpack", || {
        let unpacked = place.join("unpacked");
        for folder in package::unpack_workspace(workspace, &unpacked)? {
            let manifest = unpacked.join(folder).join("Cargo.toml");
            let needed = without_development(read_manifest(&manifest)?);
            fs::write(&manifest, toml::to_string(&needed)?)?;
        }
        let lock = place.join("unpacked/Cargo.lock");
        if lock.exists() {
            fs::remove_file(lock)?;
        }
        Ok(String::new())
    })?;
    let manifest = place.join("unpacked/Cargo.toml");
    steps.run("minimal: lock", lock(&manifest))?;
    steps.check("minimal: what is locked", || {
        let locked = fs::read_to_string(manifest.with_extension("lock"))?;
        let ours = fs::read_to_string(workspace.root().join("Cargo.lock"))?;
        let older = older(&locked, &ours);
        ensure!(older > 0, "nothing is older than in Cargo.lock");
        Ok(format!("{older} packages are not as in Cargo.lock"))
    })?;
    steps.run("minimal: compile", compile(&manifest, &place))
}

/// The manifest without what only tests and examples need: no program locks that.
fn without_development(mut manifest: Table) -> Table {
    manifest.remove("dev-dependencies");
    let targets = manifest.get_mut("target").and_then(Value::as_table_mut);
    for (_, target) in targets.into_iter().flatten() {
        target
            .as_table_mut()
            .and_then(|target| target.remove("dev-dependencies"));
    }
    manifest
}

/// Locks direct dependencies at the lowest versions.
fn lock(manifest: &Path) -> Command {
    let mut command = cargo(["generate-lockfile", "-Zdirect-minimal-versions"]);
    command.arg("--manifest-path").arg(manifest);
    command.env("RUSTC_BOOTSTRAP", "1");
    command
}

/// Compiles what is locked.
fn compile(manifest: &Path, place: &Path) -> Command {
    let mut command = cargo(["check", "--workspace", "--lib", "--locked"]);
    command.arg("--manifest-path").arg(manifest);
    command.arg("--target-dir").arg(place.join("target"));
    command
}

/// How many packages a lock file has in a version that another one does not have.
fn older(locked: &str, other: &str) -> usize {
    let read = |text: &str| -> Result<Vec<(String, String)>> {
        let file: Table = text.parse()?;
        let packages = file["package"].as_array().context("no packages")?;
        let field = |package: &Value, name: &str| package[name].as_str().map(str::to_owned);
        Ok(packages
            .iter()
            .filter_map(|package| Some((field(package, "name")?, field(package, "version")?)))
            .collect())
    };
    let (Ok(locked), Ok(other)) = (read(locked), read(other)) else {
        return 0;
    };
    locked
        .iter()
        .filter(|package| !other.contains(package))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tests_need_is_left_out() {
        let manifest = "[dependencies]\na = \"1\"\n[dev-dependencies]\nb = \"1\"\n\
            [target.'cfg(loom)'.dependencies]\nc = \"1\"\n\
            [target.'cfg(loom)'.dev-dependencies]\nd = \"1\"\n";
        let text = toml::to_string(&without_development(manifest.parse().unwrap())).unwrap();
        assert!(text.contains("a = ") && text.contains("c = "), "{text}");
        assert!(!text.contains("b = ") && !text.contains("d = "), "{text}");
    }

    #[test]
    fn other_versions_are_counted() {
        let lock = |version: &str| {
            format!(
                "[[package]]\nname = \"a\"\nversion = \"{version}\"\n[[package]]\nname = \"b\"\nversion = \"1.0.0\"\n"
            )
        };
        assert_eq!(older(&lock("0.9.0"), &lock("1.0.0")), 1);
        assert_eq!(older(&lock("1.0.0"), &lock("1.0.0")), 0);
        assert_eq!(older("nonsense", &lock("1.0.0")), 0);
    }
}
