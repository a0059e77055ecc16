//! Where things lie: the root, the member crates, the target directory, and the commands made from
//! them.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use toml::{Table, Value};

/// The workspace this task runs in.
pub(crate) struct Workspace {
    /// The directory of the root manifest.
    root: PathBuf,
}

impl Workspace {
    /// The workspace `cargo xtask` was called in.
    pub(crate) fn find() -> Result<Self> {
        let own = env::var_os("CARGO_MANIFEST_DIR").context("run this as `cargo xtask`")?;
        let root = Path::new(&own)
            .ancestors()
            .nth(2)
            .context("xtask does not lie in tools/xtask")?;
        Ok(Self {
            root: root.to_owned(),
        })
    }

    /// The directory of the root manifest.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The directories of all packages relative to the root, the root package (`.`) first.
    pub(crate) fn packages(&self) -> Result<Vec<PathBuf>> {
        let manifest = read_manifest(&self.root.join("Cargo.toml"))?;
        let members = manifest
            .get("workspace")
            .and_then(|workspace| workspace.get("members"))
            .and_then(Value::as_array)
            .context("Cargo.toml lists no workspace members")?;
        let mut packages = vec![PathBuf::from(".")];
        for member in members {
            let Some(member) = member.as_str() else {
                bail!("a workspace member in Cargo.toml is not a string");
            };
            packages.push(member.into());
        }
        Ok(packages)
    }

    /// The directory of a library that is published, by its package's name: it lies at the root, or
    /// with the short name on the shelf of extensions.
    pub(crate) fn folder_of(&self, package: &str) -> PathBuf {
        folder_of(&self.root, package)
    }

    /// How many bytes can still be written to the disk of the target directory.
    pub(crate) fn room(&self) -> Result<u64> {
        // The directory itself may not be there yet.
        let target = self.root.join(base());
        let mut existing = target.ancestors().filter(|path| path.is_dir());
        let path = existing.next().unwrap_or(&self.root);
        let disk = rustix::fs::statvfs(path)
            .with_context(|| format!("cannot ask the disk of {}", path.display()))?;
        Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// A build directory of its own for a lane with other compiler flags, so that lanes do not
    /// rebuild each other.
    pub(crate) fn target_dir(&self, lane: &str) -> PathBuf {
        base().join(lane)
    }
}

/// The shelf of the crates that build on the facade's.
const EXTENSIONS: &str = "exts";

/// What the name of a package has before the name of its directory on a shelf.
const PREFIX: &str = "fibre-";

/// [`Workspace::folder_of`] below this root.
pub(crate) fn folder_of(root: &Path, package: &str) -> PathBuf {
    let at_root = root.join(package);
    if at_root.is_dir() {
        return at_root;
    }
    let short = package.strip_prefix(PREFIX).unwrap_or(package);
    root.join(EXTENSIONS).join(short)
}

/// The name of the package in such a directory.
pub(crate) fn package_in(folder: &str) -> String {
    let short = folder.rsplit('/').next().unwrap_or(folder);
    match short.starts_with(PREFIX) {
        true => short.to_owned(),
        false => format!("{PREFIX}{short}"),
    }
}

/// The directory that cargo builds in, relative to the root or absolute.
fn base() -> PathBuf {
    let chosen = env::var_os("CARGO_TARGET_DIR");
    chosen.map_or_else(|| PathBuf::from("target"), PathBuf::from)
}

/// Reads and parses one Cargo.toml.
pub(crate) fn read_manifest(path: &Path) -> Result<Table> {
    fs::read_to_string(path)
        .with_context(|| format!("cannot read {}", path.display()))?
        .parse()
        .with_context(|| format!("cannot parse {}", path.display()))
}

/// The features of the facade that programs choose, as arguments of cargo: without them, what they
/// add is neither tested nor looked at.
pub(crate) const OPTIONAL: [&str; 2] = ["--features", "fibre-rt/tracing,fibre-rt/futures-io"];

/// A cargo command with these arguments, by the toolchain that runs this task.
pub(crate) fn cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// Adds compiler flags to those the caller's environment already asks for.
pub(crate) fn add_rustflags(command: &mut Command, flags: &str) {
    let mut all = env::var_os("RUSTFLAGS").unwrap_or_default();
    if !all.is_empty() {
        all.push(" ");
    }
    all.push(OsString::from(flags));
    command.env("RUSTFLAGS", all);
}

/// Fails with `advice` if no program of this name is on the path.
pub(crate) fn require_program(name: &str, advice: &str) -> Result<()> {
    let path = env::var_os("PATH").unwrap_or_default();
    if env::split_paths(&path).any(|folder| folder.join(name).is_file()) {
        return Ok(());
    }
    bail!("`{name}` is not installed: {advice}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_package_and_this_one_are_found() {
        let packages = Workspace::find().unwrap().packages().unwrap();
        assert_eq!(packages[0], Path::new("."));
        assert!(packages.contains(&PathBuf::from("tools/xtask")));
    }

    #[test]
    fn libraries_are_found_by_the_names_of_their_packages() {
        let workspace = Workspace::find().unwrap();
        for (package, folder) in [
            ("fibre-core", "fibre-core"),
            ("fibre-actors", "exts/actors"),
        ] {
            let found = workspace.folder_of(package);
            assert_eq!(found, workspace.root().join(folder));
            let manifest = read_manifest(&found.join("Cargo.toml")).unwrap();
            assert_eq!(manifest["package"]["name"].as_str(), Some(package));
            assert_eq!(package_in(folder), package);
        }
    }

    #[test]
    fn a_missing_program_is_named_with_the_advice() {
        let error = require_program("no-such-program-at-all", "install it").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`no-such-program-at-all` is not installed: install it"
        );
        require_program("sh", "").unwrap();
    }
}
