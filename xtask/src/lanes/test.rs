//! `test`: the tests in every build that matters.
//!
//! Debug first, with everything in the workspace. Then the behaviour suites in release, and those
//! of them in which fibres wait and move also with fat link-time optimisation, where the compiler
//! keeps thread-local addresses over calls and debug builds hide it. An optimised program takes
//! longer to build than to run, and a good part of it is the same in all. So most suites are built
//! together, as the programs of `tests/together/`, and run one by one, each in a process of its
//! own. `tests/migration.rs`, part of all three, is where every wake lands on another processor.
//!
//! `test` is debug, and what is built together; it has to stay under ten minutes. `release` is the
//! rest of the optimised suites: those that are programs of their own, and the other crates'.

use anyhow::Result;
use clap::Args;
use std::process::Command;

use crate::steps::Steps;
use crate::workspace::{OPTIONAL, cargo};

/// Suites that are built together, as the modules `suite_…` of a program. Each program keeps one
/// CPU busy for as long as it is linked.
const TOGETHER: [(&str, &[&str]); 3] = [
    (
        "running",
        &[
            "activities",
            "local",
            "migration",
            "panics",
            "regressions",
            "scheduling",
            "spawn",
            "stress",
            "switch_hooks",
        ],
    ),
    (
        "waiting",
        &[
            "cancel",
            "futures",
            "io",
            "lifecycle",
            "sync_stress",
            "time",
        ],
    ),
    (
        "bounds",
        &[
            "emfile",
            "environment",
            "exhaustion",
            "extremes",
            "fork",
            "lints",
            "memory",
            "million",
            "naming",
            "overflow",
            "platform",
            "shutdown",
            "soundness",
            "spares",
            "spreading",
            "threads",
            "topology",
        ],
    ),
];

/// The programs that are also tested with link-time optimisation: those in which fibres wait, and
/// may go on elsewhere. Of locks and channels they have `sync_stress`, which uses them all, and of
/// I/O a part.
const OPTIMISED: [&str; 2] = ["running", "waiting"];

/// Suites that are programs of their own in release, too: their allocator, their symbols or their
/// number of processes is part of what they test, or they are as large as a program.
const ALONE: [&str; 19] = [
    "allocation",
    "async_stream",
    "compute",
    "dump",
    "exit",
    "faults",
    "footprint",
    "hangs",
    "io",
    "limits",
    "metrics",
    "panic_hook",
    "pool",
    "select",
    "sync",
    "trace",
    "tracing",
    "watch",
    "webserver",
];

/// Suites that a lane of their own runs: they need a program that tests do without otherwise.
#[cfg(test)]
const ELSEWHERE: [&str; 1] = ["gdb"];

/// How much to test.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Only the debug build
    #[arg(long)]
    quick: bool,
    /// Passed to the test binaries: a name filter, --test-threads=1, …
    #[arg(last = true)]
    arguments: Vec<String>,
}

impl Options {
    /// The command with the arguments for the test binaries at its end.
    fn complete(&self, mut command: Command) -> Command {
        if !self.arguments.is_empty() {
            command.arg("--").args(&self.arguments);
        }
        command
    }

    /// A name filter may leave a build without tests; without one that is an error.
    fn some_must_run(&self) -> bool {
        self.arguments.is_empty()
    }
}

/// The crates with tests of their own that the facade's do not stand for.
const BESIDE: [(&str, &str); 10] = [
    ("fibre-inspect", "release: dumps"),
    ("fibre-observe", "release: metrics"),
    ("fibre-actors", "release: actors"),
    ("fibre-events", "release: events"),
    ("fibre-tasks", "release: tasks"),
    ("fibre-trace", "release: traces"),
    ("fibre-hyper", "release: hyper"),
    ("fibre-rustls", "release: TLS"),
    ("fibre-ureq", "release: HTTP client"),
    ("fibre-libc", "release: names of the C library"),
];

/// Runs the lane.
pub(crate) fn run(steps: &mut Steps, options: &Options) -> Result<()> {
    let mut tests = |title: &str, command: Command| {
        steps.run_tests(title, options.complete(command), options.some_must_run())
    };
    let mut workspace = cargo(["test", "--workspace"]);
    workspace.args(OPTIONAL);
    tests("test: workspace, debug", workspace)?;
    if options.quick {
        steps.note("--quick: release was not run");
        return Ok(());
    }
    together(steps, options)
}

/// Runs the rest in release: the suites that are programs of their own, the crates beside, and
/// the examples in documents.
pub(crate) fn release(steps: &mut Steps, options: &Options) -> Result<()> {
    alone(steps, options)?;
    for (package, title) in BESIDE {
        let tests = options.complete(cargo(["test", "--release", "--package", package]));
        steps.run_tests(title, tests, options.some_must_run())?;
    }
    steps.run(
        "release: examples build",
        cargo(["build", "--release", "--examples"]),
    )
}

/// The command that runs suites of the facade in release.
fn suites() -> Command {
    cargo(["test", "--release", "--package", "fibre-rt"])
}

/// Runs in release what is built together.
fn together(steps: &mut Steps, options: &Options) -> Result<()> {
    // All of them in one go, as cargo then builds them side by side.
    let mut build = suites();
    for (program, _) in TOGETHER {
        build.args(["--test", &name_of(program)]);
    }
    build.arg("--no-run");
    steps.run("test: release, build", build)?;
    for (program, suites_of_it) in TOGETHER {
        // The whole suite of I/O is a program of its own.
        let suites_of_it = suites_of_it.iter().filter(|suite| !ALONE.contains(suite));
        one_by_one(steps, options, "release", program, suites_of_it, suites)?;
    }
    Ok(())
}

/// Runs in release the suites that are programs of their own, and the examples in documents.
fn alone(steps: &mut Steps, options: &Options) -> Result<()> {
    let mut alone = suites();
    alone.args(OPTIONAL);
    for suite in ALONE {
        alone.args(["--test", suite]);
    }
    let mut build = suites();
    build.args(alone.get_args().skip(suites().get_args().len()));
    build.arg("--no-run");
    steps.run("release: build", build)?;
    let some_must_run = options.some_must_run();
    let alone = options.complete(alone);
    steps.run_tests("release: suites by themselves", alone, some_must_run)?;
    let mut doc = suites();
    doc.arg("--doc").args(OPTIONAL);
    let doc = options.complete(doc);
    steps.run_tests("release: examples in documents", doc, some_must_run)
}

/// Runs the suites with link-time optimisation, which shows what is wrong with thread-locals that
/// are kept across a switch.
pub(crate) fn optimised(steps: &mut Steps, options: &Options) -> Result<()> {
    let suites = || cargo(["test", "--profile", "lto", "--package", "fibre-rt"]);
    let mut build = suites();
    for program in OPTIMISED {
        build.args(["--test", &name_of(program)]);
    }
    build.arg("--no-run");
    steps.run("test: lto, build", build)?;
    for (program, suites_of_it) in TOGETHER {
        if OPTIMISED.contains(&program) {
            one_by_one(steps, options, "lto", program, suites_of_it, suites)?;
        }
    }
    Ok(())
}

/// Runs the suites of a program, each in a process of its own: some count what is open or alive in
/// all of it.
fn one_by_one<'a>(
    steps: &mut Steps,
    options: &Options,
    build: &str,
    program: &str,
    suites: impl IntoIterator<Item = &'a &'a str>,
    command: impl Fn() -> Command,
) -> Result<()> {
    let command = || {
        let mut command = command();
        command.args(["--test", &name_of(program)]);
        command
    };
    if !options.some_must_run() {
        let title = format!("test: {build}, {program}");
        return steps.run_tests(&title, options.complete(command()), false);
    }
    for suite in suites {
        let mut command = command();
        command.args(["--", &format!("suite_{suite}::")]);
        steps.run_tests(&format!("test: {build}, {suite}"), command, true)?;
    }
    Ok(())
}

/// The test target of a program.
fn name_of(program: &str) -> String {
    format!("together-{program}")
}

/// Runs the tests of the optional reader of the topology, which needs the library hwloc.
pub(crate) fn hwloc(steps: &mut Steps) -> Result<()> {
    let mut command = cargo(["test", "--package", "fibre-core", "--features", "hwloc"]);
    command.args(["--lib", "topology"]);
    steps.run_tests("test: topology by hwloc", command, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_together_is_run() {
        let root = crate::workspace::Workspace::find().unwrap();
        for (program, suites) in TOGETHER {
            let source = root.root().join(format!("tests/together/{program}.rs"));
            let text = std::fs::read_to_string(source).unwrap();
            let modules = text
                .lines()
                .filter_map(|line| line.strip_prefix("mod suite_")?.strip_suffix(';'));
            assert!(modules.eq(suites.iter().copied()), "{program}");
        }
    }

    #[test]
    fn every_suite_is_run_in_release() {
        let root = crate::workspace::Workspace::find().unwrap();
        let folder = std::fs::read_dir(root.root().join("tests")).unwrap();
        let mut suites: Vec<String> = folder
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some() || path.join("main.rs").exists())
            .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        suites.sort();
        let together = TOGETHER.iter().flat_map(|(_, suites)| *suites);
        let mut run: Vec<&str> = together.chain(&ALONE).chain(&ELSEWHERE).copied().collect();
        run.sort_unstable();
        run.dedup();
        assert_eq!(suites, run);
    }
}
