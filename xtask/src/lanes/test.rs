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

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use clap::Args;

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
const PROGRAMS: [&str; 3] = [TOGETHER[0].0, TOGETHER[1].0, TOGETHER[2].0];

/// The programs that are also tested with link-time optimisation, and under each policy: those in
/// which fibres wait, and may go on elsewhere. Of locks and channels they have `sync_stress`, which
/// uses them all, and of I/O a part.
pub(super) const OPTIMISED: [&str; 2] = ["running", "waiting"];

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

    /// Of how many programs tests must run, if without a filter it is so many.
    fn least(&self, programs: usize) -> usize {
        if self.some_must_run() { programs } else { 0 }
    }
}

/// The crates with tests of their own that the facade's do not stand for.
const BESIDE: [&str; 10] = [
    "fibre-inspect",
    "fibre-observe",
    "fibre-actors",
    "fibre-events",
    "fibre-tasks",
    "fibre-trace",
    "fibre-hyper",
    "fibre-rustls",
    "fibre-ureq",
    "fibre-libc",
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
    Together::all("test: release,").run(steps, options, suites)
}

/// Runs the rest in release: the suites that are programs of their own, the crates beside, and
/// the examples in documents.
pub(crate) fn release(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    // Suites start examples, which cargo does not build for tests by name.
    let mut examples = in_release("build");
    examples.arg("--examples");
    steps.run("release: examples build", examples)?;
    let mut alone = suites();
    for suite in ALONE {
        alone.args(["--test", suite]);
    }
    let least = options.least(ALONE.len());
    let alone = options.complete(alone);
    steps.run_programs("release: suites by themselves", alone, least)?;
    let mut beside = suites();
    beside.args(["--lib", "--bins"]);
    let suites_beside = suites_beside(workspace)?;
    for suite in suites_beside.iter().collect::<BTreeSet<_>>() {
        beside.args(["--test", suite]);
    }
    let least = options.least(suites_beside.len());
    let beside = options.complete(beside);
    steps.run_programs("release: crates beside", beside, least)?;
    let mut documents = suites();
    documents.arg("--doc");
    let (documents, least) = (options.complete(documents), options.least(1));
    steps.run_programs("release: examples in documents", documents, least)
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
        found.extend(suites_of(&workspace.root().join(package))?);
    }
    let is_left = |suite: &String| !suite.starts_with("loom_") && !ALONE.contains(&suite.as_str());
    Ok(found.into_iter().filter(is_left).collect())
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

/// Runs all suites of the facade as this command builds them.
pub(super) fn facade(steps: &mut Steps, lane: &str, suites: impl Fn() -> Command) -> Result<()> {
    let mut alone = suites();
    for suite in ALONE {
        alone.args(["--test", suite]);
    }
    steps.run_programs(&format!("{lane}: suites by themselves"), alone, ALONE.len())?;
    let lane = format!("{lane}:");
    Together::all(&lane).run(steps, &Options::default(), suites)
}

/// Runs the suites with link-time optimisation, which shows what is wrong with thread-locals that
/// are kept across a switch.
pub(crate) fn optimised(steps: &mut Steps, options: &Options) -> Result<()> {
    let together = Together {
        lane: "test: lto,",
        programs: &OPTIMISED,
        but_for: &[],
    };
    let suites = || cargo(["test", "--profile", "lto", "--package", "fibre-rt"]);
    together.run(steps, options, suites)
}

/// Suites that are built together.
struct Together<'a> {
    /// The beginning of the titles.
    lane: &'a str,
    /// The programs.
    programs: &'a [&'a str],
    /// Suites in these that are run elsewhere.
    but_for: &'a [&'a str],
}

impl<'a> Together<'a> {
    /// All that are not programs of their own: the whole suite of I/O is.
    const fn all(lane: &'a str) -> Self {
        Self {
            lane,
            programs: &PROGRAMS,
            but_for: &ALONE,
        }
    }

    /// Builds and runs them, each suite in a process of its own: some count what is open or alive
    /// in all of it.
    fn run(
        &self,
        steps: &mut Steps,
        options: &Options,
        suites: impl Fn() -> Command,
    ) -> Result<()> {
        let lane = self.lane;
        // All of them in one go, as cargo then builds them side by side.
        let mut build = suites();
        for program in self.programs {
            build.args(["--test", &name_of(program)]);
        }
        build.arg("--no-run");
        steps.run(&format!("{lane} build"), build)?;
        for (program, suites_of_it) in TOGETHER {
            if !self.programs.contains(&program) {
                continue;
            }
            let command = || {
                let mut command = suites();
                command.args(["--test", &name_of(program)]);
                command
            };
            if !options.some_must_run() {
                let title = format!("{lane} {program}");
                steps.run_tests(&title, options.complete(command()), false)?;
                continue;
            }
            let here = |suite: &&&str| !self.but_for.contains(*suite);
            for suite in suites_of_it.iter().filter(here) {
                let mut command = command();
                command.args(["--", &format!("suite_{suite}::")]);
                steps.run_tests(&format!("{lane} {suite}"), command, true)?;
            }
        }
        Ok(())
    }
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
    fn every_suite_is_run_in_release() {
        let root = crate::workspace::Workspace::find().unwrap();
        let suites = suites_of(root.root()).unwrap();
        let together = TOGETHER.iter().flat_map(|(_, suites)| *suites);
        let mut run: Vec<&str> = together.chain(&ALONE).chain(&ELSEWHERE).copied().collect();
        run.sort_unstable();
        run.dedup();
        assert_eq!(suites, run);
    }
}
