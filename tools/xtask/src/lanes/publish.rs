//! `publish`: a release up to the point where the registry would get it. Nothing is published.
//!
//! Everything happens in a clean clone below `target/publish`, so what is not committed is not
//! there. The clone gets the version, the changelog's heading with its date, a commit and a tag.
//! Then cargo packs all published crates, lowest first, compiles each from what it has packed, and
//! stops before it would send them. `git pull` takes commit and tag over, and a person publishes by
//! hand.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::lanes::package::PUBLISHED;
use crate::steps::Steps;
use crate::workspace::{Workspace, cargo, read_manifest};

/// The page with what users notice.
const CHANGELOG: &str = "CHANGELOG.md";

/// The heading of what no release has yet.
const UNRELEASED: &str = "## [Unreleased]\n";

/// What to release.
#[derive(Args)]
pub(crate) struct Options {
    /// The version. Default: that of the manifests
    #[arg(long)]
    version: Option<String>,
    /// Leaves out the compilation of what is packed, which `package` does as well
    #[arg(long)]
    no_verify: bool,
}

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    let place = workspace.root().join(workspace.target_dir("publish"));
    let clone = place.join("clone");
    let old = version_of(workspace.root())?;
    let version = options.version.as_deref().unwrap_or(&old);
    let tag = format!("v{version}");
    steps.check("publish: what is committed", || check_tree(&tag))?;
    steps.check("publish: clean clone", || {
        if clone.exists() {
            fs::remove_dir_all(&clone)?;
        }
        fs::create_dir_all(&place)?;
        let from = workspace.root().display().to_string();
        git(
            &place,
            &["clone", "--quiet", "--no-hardlinks", &from, "clone"],
        )?;
        git(&clone, &["log", "-1", "--format=%h %s"])
    })?;
    steps.check("publish: version and changelog", || {
        write_release(&clone, &old, version)?;
        Ok(tag.clone())
    })?;
    steps.check("publish: commit and tag", || {
        let message = format!("release: {version}");
        git(
            &clone,
            &["commit", "--quiet", "--all", "--message", &message],
        )?;
        git(&clone, &["tag", "--annotate", "--message", &message, &tag])?;
        git(&clone, &["describe", "--tags"])
    })?;
    steps.run(
        "publish: dry run",
        dry_run(&clone, &place, options.no_verify),
    )?;
    steps.note(format!(
        "nothing is published; `git pull --tags {}` takes commit and tag",
        clone.display()
    ));
    Ok(())
}

/// Fails if something is not committed, or the tag is there already.
fn check_tree(tag: &str) -> Result<String> {
    let here = Path::new(".");
    let changed = git(here, &["status", "--porcelain"])?;
    ensure!(changed.is_empty(), "not committed:\n{changed}");
    let tags = git(here, &["tag", "--list", tag])?;
    ensure!(tags.is_empty(), "{tag} has been released");
    git(here, &["rev-parse", "--short", "HEAD"])
}

/// Writes the version and the heading of a release.
fn write_release(clone: &Path, old: &str, version: &str) -> Result<()> {
    let manifest = clone.join("Cargo.toml");
    let text = fs::read_to_string(&manifest)?;
    fs::write(&manifest, with_version(&text, old, version)?)?;
    let lock = clone.join("Cargo.lock");
    let text = fs::read_to_string(&lock)?;
    fs::write(&lock, locked_with(&text, old, version))?;
    let page = clone.join(CHANGELOG);
    let text = fs::read_to_string(&page)?;
    fs::write(&page, with_heading(&text, version, &today()?)?)?;
    Ok(())
}

/// The workspace's manifest with another version of all that is ours.
fn with_version(manifest: &str, old: &str, new: &str) -> Result<String> {
    let [before, after] = [old, new].map(|version| format!("version = \"{version}\""));
    let is_ours = |line: &str| line == before || line.contains("path = ");
    let lines = manifest.lines().map(|line| match is_ours(line) {
        true => line.replace(&before, &after),
        false => line.to_owned(),
    });
    let text = lines.collect::<Vec<_>>().join("\n") + "\n";
    ensure!(text.contains(&after), "the manifest has no {before}");
    Ok(text)
}

/// The lock file with another version of all that is ours: what has no source.
fn locked_with(lock: &str, old: &str, new: &str) -> String {
    let [before, after] = [old, new].map(|version| format!("version = \"{version}\"\n"));
    let packages = lock.split("[[package]]").map(|package| {
        if package.contains("\nsource = ") {
            return package.to_owned();
        }
        package.replace(&before, &after)
    });
    packages.collect::<Vec<_>>().join("[[package]]")
}

/// The changelog with a heading for what has had none.
fn with_heading(changelog: &str, version: &str, date: &str) -> Result<String> {
    let heading = format!("## [{version}]");
    ensure!(
        !changelog.contains(&heading),
        "{CHANGELOG} has {version} already"
    );
    let Some((before, after)) = changelog.split_once(UNRELEASED) else {
        bail!("{CHANGELOG} has no heading for what is not released");
    };
    let news = after.split("\n## ").next().unwrap_or_default();
    ensure!(!news.trim().is_empty(), "{CHANGELOG} has nothing new");
    Ok(format!("{before}{UNRELEASED}\n{heading} - {date}\n{after}"))
}

/// Packs and compiles what is published, lowest first, and sends nothing.
fn dry_run(clone: &Path, place: &Path, no_verify: bool) -> Command {
    let mut publish = cargo(["publish", "--dry-run", "--locked"]);
    for name in PUBLISHED {
        publish.args(["--package", name]);
    }
    if no_verify {
        publish.arg("--no-verify");
    }
    publish.arg("--target-dir").arg(place.join("target"));
    publish.current_dir(clone);
    publish
}

/// The version of the manifests.
fn version_of(root: &Path) -> Result<String> {
    let manifest = read_manifest(&root.join("Cargo.toml"))?;
    let version = manifest["workspace"]["package"]["version"].as_str();
    Ok(version.context("the workspace has no version")?.to_owned())
}

/// The day, as changelogs have it.
fn today() -> Result<String> {
    let said = Command::new("date").args(["-u", "+%Y-%m-%d"]).output()?;
    Ok(String::from_utf8(said.stdout)?.trim().to_owned())
}

/// Runs git; what it prints.
fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    let mut git = Command::new("git");
    let folder: PathBuf = folder.into();
    let said = git
        .args(arguments)
        .current_dir(folder)
        .output()
        .context("cannot start git")?;
    let errors = String::from_utf8_lossy(&said.stderr);
    ensure!(
        said.status.success(),
        "git {}: {errors}",
        arguments.join(" ")
    );
    Ok(String::from_utf8(said.stdout)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_ours_get_the_version() {
        let manifest = "[workspace.package]\nversion = \"0.1.0\"\n[workspace.dependencies]\n\
            fibre-rt = { path = \".\", version = \"0.1.0\" }\nother = \"0.1.0\"\n\
            another = { version = \"0.1.0\" }\n";
        let expected = manifest.replacen("version = \"0.1.0\"", "version = \"0.2.0\"", 2);
        assert_eq!(with_version(manifest, "0.1.0", "0.2.0").unwrap(), expected);
        assert!(with_version(manifest, "0.3.0", "0.2.0").is_err());
    }

    #[test]
    fn packages_of_others_stay_locked_as_they_are() {
        let lock = "version = 4\n\n[[package]]\nname = \"fibre-rt\"\nversion = \"0.1.0\"\n\n\
            [[package]]\nname = \"other\"\nversion = \"0.1.0\"\nsource = \"registry\"\n";
        let expected = lock.replacen("\"0.1.0\"", "\"0.2.0\"", 1);
        assert_eq!(locked_with(lock, "0.1.0", "0.2.0"), expected);
    }

    #[test]
    fn what_is_new_gets_a_heading() {
        let page = "# Changelog\n\n## [Unreleased]\n\n- A.\n\n## [0.1.0] - 2026-01-01\n\n- B.\n";
        let released = with_heading(page, "0.2.0", "2026-02-01").unwrap();
        let expected = "## [Unreleased]\n\n## [0.2.0] - 2026-02-01\n\n- A.\n\n## [0.1.0]";
        assert!(released.contains(expected), "{released}");
        assert!(
            with_heading(page, "0.1.0", "2026-02-01").is_err(),
            "released"
        );
        assert!(
            with_heading("# Changelog\n", "0.2.0", "").is_err(),
            "no heading"
        );
        let nothing = "## [Unreleased]\n\n## [0.1.0]\n\n- B.\n";
        assert!(with_heading(nothing, "0.2.0", "").is_err(), "nothing new");
    }
}
