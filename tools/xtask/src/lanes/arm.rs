//! `arm`: the published crates for 64-bit ARM, their suites and the web server, emulated.
//!
//! No ARM machine is at hand. `qemu-aarch64` runs programs for ARM on this machine's kernel, and
//! some twenty times slower: it shows that the code is right where orders of memory do not matter.
//! It keeps x86's order, so it shows nothing of ARM's: that is for the models (`loom`).
//!
//! [`ROWS`] are the suites that run. [`LEFT_OUT`] are tests that cannot pass there, each with the
//! reason.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::lanes::package::PUBLISHED;
use crate::programs::Program;
use crate::side_by_side::Tests;
use crate::steps::Steps;
use crate::workspace::{OPTIONAL, Workspace, cargo, require_program};

/// What is built for.
const TARGET: &str = "aarch64-unknown-linux-gnu";

/// What links, and where its libraries are.
const LINKER: &str = "aarch64-linux-gnu-gcc";
const LIBRARIES: &str = "/usr/aarch64-linux-gnu";

/// What runs the programs.
const EMULATOR: &str = "qemu-aarch64";

/// The published crate that is for x86-64 only.
const NOT_FOR_ARM: &str = "fibre-capi";

/// A program of tests and a part of its tests, and the size of pages, where it is another one.
type Row = (&'static str, &'static str, Option<u32>);

/// What runs: code that is written for the CPU, and fibres that wait, move, panic and end.
const ROWS: [Row; 13] = [
    ("fibre_core", "stack::", None),
    ("fibre_core", "sys::", None),
    ("fibre_core", "frames::", None),
    ("fibre_core", "stack::context::", Some(16 << 10)),
    ("fibre_core", "stack::context::", Some(64 << 10)),
    (
        "fibre_core",
        "pool::tests::stacks_are_apart",
        Some(64 << 10),
    ),
    ("running", "suite_local::", None),
    ("running", "suite_migration::", None),
    ("running", "suite_panics::", None),
    ("running", "suite_switch_hooks::", None),
    ("waiting", "suite_futures::", None),
    ("waiting", "suite_sync_stress::", None),
    ("waiting", "suite_time::", None),
];

/// Tests of these rows that cannot pass under emulation, and why.
const LEFT_OUT: [(&str, &str); 10] = [
    (
        "some_guards_are_for_as_many_stacks",
        "qemu has no process_vm_readv, by which it looks at guards",
    ),
    (
        "a_promise_outlives_a_refusal_of_its_guard",
        "it wants guards of MADV_GUARD_INSTALL, which qemu accepts and does not make",
    ),
    (
        "unused_mappings_are_given_up",
        "it makes a thousand mappings with guards by mprotect, in minutes",
    ),
    (
        "what_is_only_reserved_is_not_looked_at",
        "it computes for a minute",
    ),
    (
        "values_move_along",
        "it sleeps for 20 µs at a time, and sleeps that are over before they begin move nobody",
    ),
    (
        "a_hook_that",
        "it starts its own program, which the kernel does not know to be for the emulator",
    ),
    (
        "hooks_of_the_process_are_called_everywhere",
        "it starts its own program, too",
    ),
    (
        "suite_time::crowds::many_deadlines",
        "its crowds take minutes",
    ),
    (
        "suite_time::sleeping::many_sleepers",
        "it allows its crowd half a minute",
    ),
    (
        "a_walk_ends_at_the_root",
        "std's backtraces crash with other pages than the machine's; with these it runs",
    ),
];

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    steps.check("arm: tools", check_tools)?;
    let mut build = for_arm("build");
    for package in PUBLISHED.iter().filter(|name| **name != NOT_FOR_ARM) {
        build.args(["--package", package]);
    }
    build.args(OPTIONAL);
    build.args(["--lib", "--example", "webserver"]);
    steps.run("arm: published crates", build)?;
    steps.check("arm: web server, asked by curl", || {
        ask_web_server(workspace.root())
    })?;
    let mut build = for_arm("test");
    build.args(["--package", "fibre-core", "--package", "fibre-tests"]);
    build.args(["--lib", "--test", "running", "--test", "waiting"]);
    let programs = steps.build_tests("arm: build", build)?;
    let rows = ROWS.map(|row| row_of(&programs, row));
    steps.run_side_by_side(rows.into_iter().collect::<Result<Vec<_>>>()?)?;
    let left_out = LEFT_OUT.map(|(test, why)| format!("{test} ({why})"));
    steps.note(format!("not under emulation: {}", left_out.join("; ")));
    Ok(())
}

/// Fails, with advice, if something is not installed.
fn check_tools() -> Result<String> {
    for (tool, package) in [
        (EMULATOR, "qemu-user"),
        (LINKER, "gcc-aarch64-linux-gnu and libc6-dev-arm64-cross"),
        ("curl", "curl"),
    ] {
        require_program(tool, &format!("Debian has it in {package}"))?;
    }
    let mut asks = Command::new("rustc");
    asks.args(["--print", "target-libdir", "--target", TARGET]);
    let folder = String::from_utf8(asks.output()?.stdout)?;
    ensure!(
        Path::new(folder.trim()).is_dir(),
        "there is no std for ARM: `rustup target add {TARGET}` installs it"
    );
    Ok(format!("{EMULATOR}, {LINKER}, std"))
}

/// Cargo for ARM.
fn for_arm(command: &str) -> Command {
    let mut cargo = cargo([command, "--target", TARGET]);
    cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER);
    cargo
}

/// A command that runs a program for ARM, with pages of this size.
fn emulated(program: &Path, pages: Option<u32>) -> Command {
    let mut command = Command::new(EMULATOR);
    command.args(["-L", LIBRARIES]);
    if let Some(pages) = pages {
        command.args(["-p", &pages.to_string()]);
    }
    command.arg(program);
    // The emulator says that it has done what it does not know of: guards would be missing.
    command.env("FIBRE_GUARD", "mprotect");
    command
}

/// The tests of a row.
fn row_of(programs: &[Program], (name, filter, pages): Row) -> Result<Tests> {
    let program = programs.iter().find(|program| program.target == name);
    let own = program.with_context(|| format!("no program `{name}` has been built"))?;
    let own = own.command();
    let mut command = emulated(Path::new(own.get_program()), pages);
    command.current_dir(own.get_current_dir().unwrap_or(Path::new(".")));
    command.envs(
        own.get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    // With one processor and with two: emulated, four take four times as long on two CPUs.
    command.env("FIBRE_TEST_PROCESSORS", "1,2");
    // What a watchdog takes for a hang is a minute elsewhere.
    command.env("FIBRE_TEST_SLOWNESS", "5");
    // Each takes seconds to be written.
    command.env("RUST_BACKTRACE", "0");
    command.arg(filter);
    for (test, _) in LEFT_OUT {
        if pages.is_some() || test != "a_walk_ends_at_the_root" {
            command.args(["--skip", test]);
        }
    }
    let pages = pages.map_or(String::new(), |pages| format!(", pages of {pages}"));
    Ok(Tests {
        title: format!("arm: {name}, {filter}{pages}"),
        command,
        least: 1,
    })
}

/// Starts the web server, and has curl ask it from outside.
fn ask_web_server(root: &Path) -> Result<String> {
    /// Ends the server.
    struct Server(Child);
    impl Drop for Server {
        fn drop(&mut self) {
            // One that has ended by itself is as good here.
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
    let program = root
        .join("target")
        .join(TARGET)
        .join("debug/examples/webserver");
    let mut command = emulated(&program, None);
    command
        .args(["--addr", "127.0.0.1:0"])
        .stdout(Stdio::piped());
    let mut server = Server(command.spawn().context("cannot start the web server")?);
    let output = server.0.stdout.take().context("the server has no output")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    let Some(address) = line.trim().strip_prefix("listening on ") else {
        bail!("the web server says `{}`", line.trim());
    };
    for _ in 0..20 {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--fail", "--max-time", "20"]);
        let answer = curl.arg(format!("{address}/plaintext")).output()?;
        let text = String::from_utf8_lossy(&answer.stdout);
        ensure!(
            answer.status.success() && text == "Hello, World!",
            "it answers `{text}`"
        );
    }
    Ok("20 answers".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source::read_all;

    /// A name that has gone would leave out nothing, and nobody would notice.
    #[test]
    fn what_is_left_out_exists() {
        let sources = read_all(Workspace::find().unwrap().root()).unwrap();
        for (test, _) in LEFT_OUT {
            let name = test.rsplit("::").next().unwrap();
            let is_it = |line: &str| line.trim_start().starts_with(&format!("fn {name}"));
            let exists = |text: &str| text.lines().any(is_it);
            assert!(sources.iter().any(|source| exists(&source.text)), "{test}");
        }
    }

    /// A program that has not been built is no row that passes.
    #[test]
    fn a_row_without_a_program_fails() {
        let error = row_of(&[], ROWS[0]).err().unwrap();
        assert!(error.to_string().contains("fibre_core"), "{error}");
    }

    #[test]
    fn every_published_crate_but_one_is_built() {
        assert!(PUBLISHED.contains(&NOT_FOR_ARM));
    }
}
