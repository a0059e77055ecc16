//! The programs of this crate: where they lie, and that they are as new as the
//! source.

use std::env;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A binary of this crate, by its name.
pub(crate) fn ours(name: &str) -> anyhow::Result<PathBuf> {
    Ok(directory()?.join(name))
}

/// Where this program lies, and the others beside it.
pub(crate) fn directory() -> anyhow::Result<PathBuf> {
    let mut path = env::current_exe()?;
    path.pop();
    Ok(path)
}

/// Files a program has open beside its connections, at most.
const OTHER_FILES: u64 = 200;

/// How many connections a program may have open; endless without a limit.
pub(crate) fn most_connections() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    let connections = limit.map(|files| files.saturating_sub(OTHER_FILES));
    connections.map_or(usize::MAX, |count| count.try_into().unwrap_or(usize::MAX))
}

/// Makes the programs ready to be measured: builds them, and lets them open as
/// many files as the system allows.
pub(crate) fn prepare() -> anyhow::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).context("raising the limit of open files")?;
    build()
}

/// An example of a package of this workspace, built if it can be.
pub(crate) fn example(package: &str, name: &str) -> anyhow::Result<PathBuf> {
    cargo_build(&["--package", package, "--example", name])?;
    Ok(directory()?.join("examples").join(name))
}

/// Builds every binary of this crate, and `fibre-top`, which reads of servers that are measured,
/// beside this program. A plain `cargo run` builds the harness alone, and without this a peer
/// could be older than the tree.
fn build() -> anyhow::Result<()> {
    let own = env!("CARGO_PKG_NAME");
    cargo_build(&["--package", own, "--package", "fibre-top", "--bins"])
}

/// Has cargo build something in this program's profile.
fn cargo_build(what: &[&str]) -> anyhow::Result<()> {
    let Some(cargo) = env::var_os("CARGO") else {
        return Ok(()); // started by hand: what lies there is measured
    };
    let directory = directory()?;
    let profile = match directory.file_name().and_then(OsStr::to_str) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let mut build = Command::new(cargo);
    build
        .args(["build", "--quiet", "--profile", profile])
        .args(what);
    if let Some(target) = directory.parent() {
        build.arg("--target-dir").arg(target);
    }
    if !build.status().context("starting cargo")?.success() {
        bail!("the programs under measurement do not build");
    }
    Ok(())
}
