//! `test`: the tests in every build that matters.
//!
//! `test` is the debug build, with everything in the workspace. The suites that matter most when
//! they are optimised are in two others. `lto` has those that make fibres wait and move: with fat
//! link-time optimisation the compiler keeps thread-local addresses over calls, where debug builds
//! hide it. (In `tests/migration.rs` every wake lands on another processor.) `release` has the
//! rest.
//!
//! An optimised program takes longer to build than to run, and a good part of it is the same in
//! all. So most suites are built together, as the programs of `tests/together/`, and run each in a
//! process of its own. Tests wait more than they compute, so a few programs run side by side.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::side_by_side::Tests;
use crate::steps::Steps;
use crate::workspace::{OPTIONAL, Workspace, cargo};

/// Suites that are built together, as the modules `suite_…` of a program. Each program keeps one
/// CPU busy for as long as it is linked.
pub(super) const TOGETHER: [(&str, &[&str]); 3] = [
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
            "privileges",
            "sandbox",
            "shutdown",
            "soundness",
            "spares",
            "spreading",
            "threads",
            "topology",
        ],
    ),
];

/// The names of these programs.
pub(super) const PROGRAMS: [&str; 3] = [TOGETHER[0].0, TOGETHER[1].0, TOGETHER[2].0];

/// The programs that are tested with link-time optimisation, and under each policy: those that make
/// fibres wait, and perhaps go on elsewhere. Of locks and channels they have `sync_stress`, which
/// uses them all, and of I/O a part.
pub(super) const OPTIMISED: [&str; 2] = ["running", "waiting"];

/// The others, which are tested in release: to optimise one and the same twice takes minutes.
const IN_RELEASE: [&str; 1] = [TOGETHER[2].0];

/// Suites that are programs of their own in release, too: their allocator, their symbols or their
/// number of processes is part of what they test, or they are as large as a program.
const ALONE: [&str; 20] = [
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
    "names",
    "panic_hook",
    "pool",
    "select",
    "sync",
    "trace",
    "tracing",
    "watch",
    "webserver",
];

/// Suites that are empty in release: builds without debug assertions do not tell what they hear of.
const IN_DEBUG: [&str; 1] = ["short_locks"];

/// Suites that a lane of their own runs: they need a program that tests do without otherwise.
#[cfg(test)]
const ELSEWHERE: [&str; 1] = ["gdb"];

/// How many commands share the suites that are programs of their own.
const SHARES: usize = 3;

/// Which tests to run.
#[derive(Args, Default)]
pub(crate) struct Options {
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

    /// Such a command as a step. A name filter may leave a build without tests; without one, tests
    /// of so many programs must run.
    fn step(&self, title: String, command: Command, programs: usize) -> Tests {
        Tests {
            title,
            command: self.complete(command),
            least: if self.chooses() { 0 } else { programs },
        }
    }

    /// Whether something may be chosen.
    fn chooses(&self) -> bool {
        !self.arguments.is_empty()
    }
}

/// The crates that are tested in release, too, besides those that the facade's suites test: those
/// with atomics or waits of their own.
const BESIDE: [&str; 5] = [
    "fibre-inspect",
    "fibre-actors",
    "fibre-events",
    "fibre-tasks",
    "fibre-libc",
];

/// The command that tests the whole workspace but this task: what that needs would be a set of
/// features of its own for some of these commands, and more than half of everything built anew.
pub(super) fn everything() -> Command {
    cargo(["test", "--workspace", "--exclude", "xtask"])
}

/// Runs the lane.
pub(crate) fn run(steps: &mut Steps, options: &Options) -> Result<()> {
    let mut build = everything();
    build.args(OPTIONAL);
    let mut programs = steps.build_tests("test: build", build)?;
    // Suites take longest.
    programs.sort_by_key(|program| !program.has_tests);
    let programs = programs.iter().map(|program| {
        let mut command = program.command();
        command.args(&options.arguments);
        Tests {
            title: program.title(),
            command,
            least: usize::from(program.has_tests && !options.chooses()),
        }
    });
    steps.run_as_one("test: workspace, debug", programs.collect())?;
    // Not beside those, as some of them call cargo, and would wait until it has built.
    let mut documents = everything();
    documents.args(OPTIONAL).arg("--doc");
    steps.run_one(options.step("test: documents".to_owned(), documents, 1))?;
    let tasks = cargo(["test", "--package", "xtask"]);
    steps.run_one(options.step("test: xtask".to_owned(), tasks, 1))
}

/// Runs the lane in release.
pub(crate) fn release(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    // Suites start examples, which cargo does not build for tests by name.
    let mut examples = in_release("build");
    examples.arg("--examples");
    steps.run("release: examples build", examples)?;
    facade(steps, "release", options, (&IN_RELEASE, &ALONE), suites)?;
    let mut beside = suites();
    beside.args(["--lib", "--bins"]);
    let suites_beside = suites_beside(workspace)?;
    let names: BTreeSet<&str> = suites_beside.iter().map(String::as_str).collect();
    beside.args(targets(names));
    let title = "release: crates beside".to_owned();
    steps.run_one(options.step(title, beside, suites_beside.len()))?;
    let mut documents = suites();
    documents.arg("--doc");
    steps.run_one(options.step("release: documents".into(), documents, 1))
}

/// A command of cargo for everything that is tested in release. What it builds has the same
/// features whatever is chosen of it, so that nothing is built twice: of each selection of packages
/// cargo makes a set of features, and builds what they have in common for each set anew.
fn in_release(command: &str) -> Command {
    let mut command = cargo([command, "--release", "--package", "fibre-rt"]);
    for package in BESIDE {
        command.args(["--package", package]);
    }
    command.args(OPTIONAL);
    command
}

/// The command that runs suites in release.
pub(super) fn suites() -> Command {
    in_release("test")
}

/// The suites of the crates beside, of each the name, but for models, and for those that a suite of
/// the facade of the same name brings along.
fn suites_beside(workspace: &Workspace) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for package in BESIDE {
        found.extend(suites_of(&workspace.folder_of(package))?);
    }
    let is_left = |suite: &String| {
        let is_elsewhere = ALONE.iter().chain(&IN_DEBUG).any(|other| other == suite);
        !suite.starts_with("loom_") && !is_elsewhere
    };
    found.retain(is_left);
    Ok(found)
}

/// The suites of a package: the programs in its folder of tests.
fn suites_of(package: &Path) -> Result<Vec<String>> {
    let folder = package.join("tests");
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        let is_suite = match path.extension() {
            Some(extension) => extension == "rs",
            None => path.join("main.rs").exists(),
        };
        let name = path.file_stem().filter(|_| is_suite);
        found.extend(name.map(|name| name.to_string_lossy().into_owned()));
    }
    found.sort();
    Ok(found)
}

/// Builds suites of the facade by this command, the programs of those that are built together and
/// those that are alone, and runs them.
pub(super) fn facade(
    steps: &mut Steps,
    lane: &str,
    options: &Options,
    (together, alone): (&[&str], &[&str]),
    suites: impl Fn() -> Command,
) -> Result<()> {
    // In one go, as cargo then builds them side by side.
    let programs: Vec<String> = together.iter().copied().map(name_of).collect();
    let mut build = suites();
    build.args(targets(programs.iter().map(String::as_str)));
    build.args(targets(alone.iter().copied()));
    build.arg("--no-run");
    steps.run(&format!("{lane}: build"), build)?;
    steps.run_side_by_side((0..SHARES).map(|share| {
        let its: Vec<&str> = alone.iter().copied().skip(share).step_by(SHARES).collect();
        let mut command = suites();
        command.args(targets(its.iter().copied()));
        let title = format!("{lane}: suites by themselves, {} of {SHARES}", share + 1);
        options.step(title, command, its.len())
    }))?;
    run_together(steps, lane, options, together, &ALONE, suites)
}

/// The arguments that make cargo test these targets.
fn targets<'a>(names: impl IntoIterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    names.into_iter().flat_map(|name| ["--test", name])
}

/// Runs the suites with link-time optimisation, which shows what is wrong with thread-locals that
/// are kept across a switch.
pub(crate) fn optimised(steps: &mut Steps, options: &Options) -> Result<()> {
    let mut build = optimised_programs();
    build.arg("--no-run");
    steps.run("lto: build", build)?;
    run_together(steps, "lto", options, &OPTIMISED, &[], optimised_suites)
}

/// The command that runs suites with link-time optimisation.
fn optimised_suites() -> Command {
    let mut command = cargo(["test", "--profile", "lto", "--package", "fibre-rt"]);
    command.args(OPTIONAL);
    command
}

/// That of all programs that are [`OPTIMISED`].
pub(super) fn optimised_programs() -> Command {
    let mut command = optimised_suites();
    let programs = OPTIMISED.map(name_of);
    command.args(targets(programs.iter().map(String::as_str)));
    command
}

/// Runs suites that are built together, but for some that run elsewhere, each in a process of its
/// own: some count what is open or alive in all of it.
fn run_together(
    steps: &mut Steps,
    lane: &str,
    options: &Options,
    programs: &[&str],
    but_for: &[&str],
    suites: impl Fn() -> Command,
) -> Result<()> {
    let command = |program: &str| {
        let mut command = suites();
        command.args(["--test", &name_of(program)]);
        command
    };
    let chosen = TOGETHER.iter().filter(|(name, _)| programs.contains(name));
    if options.chooses() {
        return steps.run_side_by_side(
            chosen.map(|(program, _)| {
                options.step(format!("{lane}: {program}"), command(program), 1)
            }),
        );
    }
    let all = chosen.flat_map(|(program, suites)| suites.iter().map(move |suite| (program, suite)));
    let left = all.filter(|(_, suite)| !but_for.contains(suite));
    steps.run_side_by_side(left.map(|(program, suite)| {
        let mut command = command(program);
        command.args(["--", &format!("suite_{suite}::")]);
        options.step(format!("{lane}: {suite}"), command, 1)
    }))
}

/// The test target of a program.
pub(super) fn name_of(program: &str) -> String {
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
    fn each_program_is_run_optimised_once() {
        let mut run: Vec<&str> = OPTIMISED.iter().chain(&IN_RELEASE).copied().collect();
        let mut all: Vec<&str> = TOGETHER.iter().map(|(program, _)| *program).collect();
        run.sort_unstable();
        all.sort_unstable();
        assert_eq!(run, all);
    }

    #[test]
    fn every_suite_is_run_optimised() {
        let root = crate::workspace::Workspace::find().unwrap();
        let suites = suites_of(root.root()).unwrap();
        let together = TOGETHER.iter().flat_map(|(_, suites)| *suites);
        let others = ALONE.iter().chain(&IN_DEBUG).chain(&ELSEWHERE);
        let mut run: Vec<&str> = together.chain(others).copied().collect();
        run.sort_unstable();
        run.dedup();
        assert_eq!(suites, run);
    }
}
