//! `package`: what the registry would be given, built from nothing else.
//!
//! What cargo has packed of each published crate is unpacked and compiled in a workspace of its
//! own, where these crates stand for those of the registry: nothing needs to be there yet. (cargo's
//! own verification has such a stand-in, too, but unpacks a version once and for all.) Each crate
//! must bring both licences and a page about itself, say what the registry shows of it, and leave
//! at home its tests and what is made of measurements. The facade must not be among what is
//! published of the crates below it: their examples need it, and on the registry that would be a
//! cycle.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use toml::{Table, Value};

use crate::steps::Steps;
use crate::workspace::{Workspace, cargo, read_manifest};

/// What is published, lowest first.
pub(crate) const PUBLISHED: [&str; 15] = [
    "fibre-core",
    "fibre-sync",
    "fibre-io",
    "fibre-inspect",
    "fibre-rt",
    "fibre-actors",
    "fibre-events",
    "fibre-tasks",
    "fibre-hyper",
    "fibre-rustls",
    "fibre-ureq",
    "fibre-libc",
    "fibre-test-macros",
    "fibre-test",
    "fibre-capi",
];

/// The licences that each of them brings along, word for word as at the root.
const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// The page that each of them has about itself.
const PAGE: &str = "README.md";

/// The facade.
const FACADE: &str = "fibre-rt";

/// What users of a package do not need, and would have to load.
const NEEDLESS: [&str; 4] = ["tests", "benches", "docs/results", "docs/guide"];

/// What the registry shows, and finds packages by.
const SHOWN: [&str; 7] = [
    "description",
    "documentation",
    "keywords",
    "categories",
    "license",
    "readme",
    "rust-version",
];

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    steps.check("package: who is published", || check_members(workspace))?;
    pack(steps)?;
    let unpacked = workspace.target_dir("unpacked");
    steps.check("package: what is packed", || {
        let folders = unpack_workspace(workspace, &unpacked)?;
        for (name, folder) in PUBLISHED.iter().zip(&folders) {
            check_packed(&unpacked.join(folder), workspace.root())
                .with_context(|| name.to_string())?;
        }
        // So that the crates of others are those that everything else is tested with.
        fs::copy(
            workspace.root().join("Cargo.lock"),
            unpacked.join("Cargo.lock"),
        )?;
        Ok(PUBLISHED.join(", "))
    })?;
    let mut compile = cargo(["check", "--workspace", "--manifest-path"]);
    compile.arg(unpacked.join("Cargo.toml"));
    compile.arg("--target-dir").arg(workspace.target_dir(""));
    steps.run("package: compile what is packed", compile)
}

/// Packs the tree as it is, also before it is committed.
pub(crate) fn pack(steps: &mut Steps) -> Result<()> {
    let mut package = cargo(["package", "--no-verify", "--allow-dirty"]);
    for name in PUBLISHED {
        package.args(["--package", name]);
    }
    steps.run("package: pack", package)
}

/// Unpacks what cargo has packed as a workspace below `place`; the folders' names there.
pub(crate) fn unpack_workspace(workspace: &Workspace, place: &Path) -> Result<Vec<String>> {
    let folders = unpack(workspace, place)?;
    fs::write(place.join("Cargo.toml"), stand_in(&folders))?;
    Ok(folders)
}

/// Unpacks what cargo has packed below `place`; the folders' names there.
fn unpack(workspace: &Workspace, place: &Path) -> Result<Vec<String>> {
    let manifest = read_manifest(&workspace.root().join("Cargo.toml"))?;
    let version = manifest["workspace"]["package"]["version"]
        .as_str()
        .context("the workspace has no version")?;
    if place.exists() {
        fs::remove_dir_all(place)?;
    }
    fs::create_dir_all(place)?;
    let unpack_one = |name: &&str| {
        let folder = format!("{name}-{version}");
        let packed: PathBuf = workspace.target_dir("package").join(&folder);
        let mut tar = Command::new("tar");
        // In an archive all files have one age, and cargo would take what it has built of others.
        tar.arg("-xzmf").arg(format!("{}.crate", packed.display()));
        let status = tar.arg("-C").arg(place).status();
        let status = status.context("cannot start tar")?;
        ensure!(status.success(), "{folder}.crate cannot be unpacked");
        Ok(folder)
    };
    PUBLISHED.iter().map(unpack_one).collect()
}

/// The manifest of a workspace where the crates in these folders stand for those of the registry.
fn stand_in(folders: &[String]) -> String {
    let mut manifest = format!("[workspace]\nresolver = \"3\"\nmembers = {folders:?}\n\n");
    manifest.push_str("[patch.crates-io]\n");
    for (name, folder) in PUBLISHED.iter().zip(folders) {
        // A string takes it.
        let _ = writeln!(manifest, "{name} = {{ path = {folder:?} }}");
    }
    manifest
}

/// Each package is published, or says that it is not.
fn check_members(workspace: &Workspace) -> Result<String> {
    let mut published = 0;
    for folder in workspace.packages()? {
        let manifest = read_manifest(&workspace.root().join(folder).join("Cargo.toml"))?;
        published += usize::from(is_published(&manifest)?);
    }
    ensure!(published == PUBLISHED.len(), "a published package is gone");
    Ok(format!("{published} packages"))
}

/// Whether the package is published, an error if it says something else than it should.
fn is_published(manifest: &Table) -> Result<bool> {
    let package = manifest.get("package").context("no package")?;
    let name = package.get("name").and_then(Value::as_str);
    let name = name.context("a package without a name")?;
    let withheld = package.get("publish").and_then(Value::as_bool) == Some(false);
    match (PUBLISHED.contains(&name), withheld) {
        (true, true) => bail!("{name} is published, and says `publish = false`"),
        (false, false) => bail!("{name} is not published, and does not say `publish = false`"),
        (published, _) => Ok(published),
    }
}

/// Fails if something is missing in a package, or in it that must not be.
fn check_packed(folder: &Path, root: &Path) -> Result<()> {
    let packed = |file: &str| {
        let text = fs::read_to_string(folder.join(file));
        text.with_context(|| format!("{file} is missing"))
    };
    for file in LICENCES {
        let granted = fs::read_to_string(root.join(file))?;
        ensure!(
            packed(file)? == granted,
            "{file} is not the one at the root"
        );
    }
    ensure!(!packed(PAGE)?.trim().is_empty(), "{PAGE} is empty");
    for needless in NEEDLESS {
        ensure!(!folder.join(needless).exists(), "{needless} is packed");
    }
    check_manifest(&read_manifest(&folder.join("Cargo.toml"))?)
}

/// Fails if what cargo wrote into a package's manifest cannot be published.
fn check_manifest(manifest: &Table) -> Result<()> {
    let package = manifest.get("package").context("no package")?;
    for key in SHOWN {
        ensure!(package.get(key).is_some(), "its manifest has no {key}");
    }
    // Two versions of such a package cannot be in one program.
    ensure!(package.get("links").is_none(), "its manifest has `links`");
    let is_macro = manifest.get("lib").and_then(|lib| lib.get("proc-macro"));
    let docs = package
        .get("metadata")
        .and_then(|metadata| metadata.get("docs"));
    ensure!(
        is_macro.is_some() || docs.is_some(),
        "nothing is said to docs.rs"
    );
    let targets = manifest.get("target").and_then(Value::as_table);
    let targets = targets.into_iter().flat_map(Table::values);
    for table in targets.filter_map(Value::as_table).chain([manifest]) {
        let development = table.get("dev-dependencies").and_then(Value::as_table);
        let needs_facade = development.is_some_and(|table| table.contains_key(FACADE));
        ensure!(!needs_facade, "its development needs the facade");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A manifest as it has to be.
    const FINE: &str = "[package]\nname = \"fibre-io\"\ndescription = \"d\"\n\
        documentation = \"https://docs.rs/fibre-io\"\nkeywords = [\"k\"]\ncategories = [\"c\"]\n\
        license = \"MIT\"\nreadme = \"README.md\"\nrust-version = \"1.95\"\n\
        [package.metadata.docs.rs]\ntargets = []\n";

    /// A manifest with this text.
    fn manifest(text: &str) -> Table {
        text.parse().unwrap()
    }

    #[test]
    fn who_is_published_must_be_said() {
        let says = |text: &str| is_published(&manifest(text)).ok();
        assert_eq!(says("[package]\nname = \"fibre-io\"\n"), Some(true));
        let tool = "[package]\nname = \"xtask\"\n";
        assert_eq!(says(&format!("{tool}publish = false\n")), Some(false));
        assert_eq!(says(tool), None);
        let withheld = "[package]\nname = \"fibre-io\"\npublish = false\n";
        assert_eq!(says(withheld), None);
    }

    #[test]
    fn packed_crates_stand_for_those_of_the_registry() {
        let folders = PUBLISHED.map(|name| format!("{name}-0.1.0"));
        let manifest = manifest(&stand_in(&folders));
        let members = manifest["workspace"]["members"].as_array();
        assert_eq!(members.map(Vec::len), Some(PUBLISHED.len()));
        let patches = &manifest["patch"]["crates-io"];
        for (name, folder) in PUBLISHED.iter().zip(&folders) {
            assert_eq!(patches[name]["path"].as_str(), Some(folder.as_str()));
        }
    }

    #[test]
    fn a_facade_below_itself_fails() {
        let says = |more: &str| check_manifest(&manifest(&format!("{FINE}{more}")));
        says("[dev-dependencies.socket2]\nversion = \"0.6\"\n").unwrap();
        let cycle = "[target.'cfg(not(loom))'.dev-dependencies.fibre-rt]\nversion = \"0.1.0\"\n";
        assert!(says(cycle).is_err());
        assert!(says("[dev-dependencies]\nfibre-rt = \"0.1\"\n").is_err());
    }

    #[test]
    fn a_manifest_that_says_too_little_or_too_much_fails() {
        check_manifest(&manifest(FINE)).unwrap();
        for key in SHOWN {
            let line = FINE.lines().find(|line| line.starts_with(key)).unwrap();
            let error = check_manifest(&manifest(&FINE.replace(line, ""))).unwrap_err();
            assert_eq!(error.to_string(), format!("its manifest has no {key}"));
        }
        let linked = FINE.replace("readme", "links = \"x\"\nreadme");
        assert!(check_manifest(&manifest(&linked)).is_err(), "links");
        let silent = FINE.replace(".docs.rs]", ".other]");
        assert!(check_manifest(&manifest(&silent)).is_err(), "docs.rs");
    }

    #[test]
    fn a_package_without_its_files_fails() {
        let folder = std::env::temp_dir().join(format!("xtask-package-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("Cargo.toml"), FINE).unwrap();
        let workspace = Workspace::find().unwrap();
        let root = workspace.root();
        for file in LICENCES.iter().chain([&PAGE]) {
            assert!(check_packed(&folder, root).is_err(), "{file} is missing");
            fs::copy(root.join(file), folder.join(file)).unwrap();
        }
        check_packed(&folder, root).unwrap();
        for needless in NEEDLESS {
            fs::create_dir_all(folder.join(needless)).unwrap();
            assert!(check_packed(&folder, root).is_err(), "{needless} is packed");
            fs::remove_dir(folder.join(needless)).unwrap();
        }
        // What a link to the licence becomes where links are not kept.
        fs::write(folder.join(LICENCES[0]), "../LICENSE-APACHE").unwrap();
        let error = check_packed(&folder, root).unwrap_err().to_string();
        assert!(error.contains(LICENCES[0]), "{error}");
        fs::remove_dir_all(folder).unwrap();
    }
}
