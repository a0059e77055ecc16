//! `sanitize`: the behaviour suites, and random calls from C, under AddressSanitizer; C++ programs
//! with the C library under AddressSanitizer and valgrind.
//!
//! The sanitizer is an unstable compiler flag; `RUSTC_BOOTSTRAP=1` opens it on the stable
//! toolchain. The `sanitizer` feature makes each stack switch tell the sanitizer which stack is in
//! use. A *canary*, a small program with a planted use after free, runs first: a sanitizer that
//! does not report it would pass everything.
//!
//! What is switched off, and why:
//!
//! * `detect_stack_use_after_return`: it moves locals to a shadow stack per stack, which is given
//!   back before a fibre's last function has returned. Its addresses lie outside the bounds that
//!   our stack checks know.
//! * `detect_leaks`: the leak checker searches thread stacks and the heap, but not stacks that
//!   were mapped by us, so everything held only by a suspended fibre would count as leaked.
//! * `use_sigaltstack`: at the end of a thread the sanitizer unmaps whatever alternate signal
//!   stack is installed, and that is the one the runtime gave its processor.
//! * `handle_segv`: the runtime's own handler reports overflows, and tests look at what it says.
//!   The bugs that the sanitizer is for are found by its checks, not by faults.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::lanes::{capi, test};
use crate::steps::Steps;
use crate::workspace::{OPTIONAL, Workspace, add_rustflags, cargo};

/// See the module's text.
const ASAN_OPTIONS: &str =
    "detect_stack_use_after_return=0:detect_leaks=0:use_sigaltstack=0:handle_segv=0";

/// The compiler flag of this lane.
const FLAG: &str = "-Zsanitizer=address";

/// A program that reads a freed byte, if the sanitizer lets it.
const CANARY: &str = "\
fn main() {
    let freed = Box::into_raw(Box::new(1_u8));
    drop(unsafe { Box::from_raw(freed) });
    std::process::exit(i32::from(unsafe { freed.read_volatile() }) & 0);
}
";

/// The packages that are tested.
const PACKAGES: [&str; 6] = [
    "fibre-rt",
    "fibre-tests",
    "fibre-actors",
    "fibre-events",
    "fibre-tasks",
    "fibre-capi",
];

/// The programs of the facade's tests, but for those with an allocator of their own, or that only
/// count.
const PROGRAMS: [&str; 7] = [
    "bounds",
    "descriptors",
    "objects",
    "observed",
    "running",
    "servers",
    "waiting",
];

/// Suites of these that are left out: those that only count or print, and those without tests in
/// this build.
const LEFT_OUT: [&str; 9] = [
    "dump",
    "exit",
    "hangs",
    "limits",
    "metrics",
    "panic_hook",
    "stuck",
    "tracing",
    "watch",
];

/// The programs of those but the facade: each has one.
const BESIDE: [&str; 2] = ["behaviour", "sequences"];

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    let host = host_triple()?;
    let target_dir = workspace.target_dir("sanitize");
    steps.check("sanitize: canary", || canary(&target_dir, &host))?;

    let instrumented = |command| instrumented(command, &host, &target_dir);
    // The suite of the web server starts it; cargo does not build examples for tests by name.
    let mut example = instrumented("build");
    example.args(["--example", "webserver"]);
    steps.run("sanitize: web server", example)?;
    let mut suites = instrumented("test");
    suites.args(test::targets(PROGRAMS.into_iter().chain(BESIDE)));
    let is_run = |_: &str, suite: &str| !LEFT_OUT.contains(&suite);
    test::programs(steps, "sanitize", &test::Options::default(), suites, is_run)?;
    capi::run(workspace, steps, &capi::Options::sanitizer())?;
    capi::run(workspace, steps, &capi::Options::valgrind())
}

/// A command of cargo for all that is tested here, with the sanitizer switched on. What it builds
/// has the same features whatever is chosen of it, so that nothing is built twice.
fn instrumented(command: &str, host: &str, target_dir: &Path) -> Command {
    let mut command = cargo([command, "--features", "sanitizer", "--target", host]);
    for package in PACKAGES {
        command.args(["--package", package]);
    }
    command.args(OPTIONAL);
    command.arg("--target-dir").arg(target_dir);
    command.env("RUSTC_BOOTSTRAP", "1");
    command.env("ASAN_OPTIONS", ASAN_OPTIONS);
    add_rustflags(&mut command, FLAG);
    command
}

/// Builds and runs the canary; an error unless the sanitizer reports it.
fn canary(target_dir: &Path, host: &str) -> Result<String> {
    fs::create_dir_all(target_dir)?;
    let source = target_dir.join("canary.rs");
    let program = target_dir.join("canary");
    fs::write(&source, CANARY)?;
    let build = Command::new("rustc")
        .args(["--edition=2024", "--target", host, FLAG, "-o"])
        .args([&program, &source])
        .env("RUSTC_BOOTSTRAP", "1")
        .output()
        .context("cannot start rustc")?;
    ensure!(
        build.status.success(),
        "AddressSanitizer is not supported by this toolchain for {host}:\n{}",
        String::from_utf8_lossy(&build.stderr)
    );
    let ran = Command::new(&program)
        .env("ASAN_OPTIONS", ASAN_OPTIONS)
        .output()
        .context("cannot start the canary")?;
    let report = String::from_utf8_lossy(&ran.stderr);
    if ran.status.success() || !report.contains("heap-use-after-free") {
        bail!("AddressSanitizer did not report a planted use after free:\n{report}");
    }
    Ok("a planted use after free is reported".into())
}

/// The target the compiler builds for by default.
fn host_triple() -> Result<String> {
    let output = Command::new("rustc")
        .arg("-vV")
        .output()
        .context("cannot start rustc")?;
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .context("`rustc -vV` names no host")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_there() {
        let root = Workspace::find().unwrap();
        let suites = PROGRAMS.map(|program| test::suites_of(root.root(), program).unwrap());
        for suite in LEFT_OUT {
            assert!(suites.concat().contains(&suite.to_owned()), "{suite}");
        }
    }

    #[test]
    fn the_host_is_a_triple() {
        assert!(host_triple().unwrap().split('-').count() >= 3);
    }
}
