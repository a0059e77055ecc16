//! `test`: the tests in every build that matters.
//!
//! `test` is the debug build, with everything in the workspace. The suites that matter most when
//! they are optimised are in two others. `lto` has those that make fibres wait and move: with fat
//! link-time optimisation the compiler keeps thread-local addresses over calls, where debug builds
//! hide it. (In `tests/running/migration.rs` every wake lands on another processor.) `release` has
//! the rest; one of those has its turn in `lto`, too.
//!
//! A program takes longer to build than to run, and a good part of it is the same in all. So most
//! suites of the facade are modules `suite_…` of a few programs, `tests/*/main.rs`, and run each in
//! a process of its own: some count what is open or alive in all of it. That line of `main.rs` is
//! all that a new suite needs. Tests wait more than they compute, so a few processes run side by
//! side.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;

use crate::lanes::part::Part;
use crate::programs::{Program, suites_in};
use crate::side_by_side::Tests;
use crate::steps::Steps;
use crate::workspace::{OPTIONAL, Workspace, cargo};

/// The package of the facade's tests.
const FACADE: &str = "fibre-tests";

/// The programs that are tested with link-time optimisation, and under each policy: those that make
/// fibres wait, and perhaps go on elsewhere. Of locks and channels they have `sync_stress`, which
/// uses them all.
pub(super) const OPTIMISED: [&str; 2] = ["running", "waiting"];

/// One that is tested in release, and with link-time optimisation on its days: it takes as long to
/// optimise as these two. It waits by way of what a processor's thread keeps, which is what such
/// builds show.
const BY_TURNS: &str = "descriptors";

/// The others, which are tested in release: to optimise one and the same twice takes minutes. What
/// is linked otherwise, or has an allocator of its own, is among them.
const IN_RELEASE: [&str; 8] = [
    "allocation",
    "bounds",
    "descriptors",
    "footprint",
    "names",
    "objects",
    "observed",
    "servers",
];

/// A program that is empty in release: builds without debug assertions do not tell what it hears
/// of.
const IN_DEBUG: &str = "short_locks";

/// A program that a lane of its own runs: it needs what tests do without otherwise.
#[cfg(test)]
const ELSEWHERE: &str = "gdb";

/// Which tests to run.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Goes on after a program of tests that has failed
    #[arg(long)]
    no_fail_fast: bool,
    /// Passed to the test binaries: a name filter, --test-threads=1, …
    #[arg(last = true)]
    arguments: Vec<String>,
}

impl Options {
    /// A command of cargo as a step. A name filter may leave it without tests; without one, some
    /// must run.
    fn step(&self, title: &str, mut command: Command) -> Tests {
        if self.chooses() {
            command.arg("--").args(&self.arguments);
        }
        Tests {
            title: title.to_owned(),
            command,
            least: usize::from(!self.chooses()),
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

/// The packages of the programs that the lane `bench` measures, besides those.
const MEASURED: [&str; 2] = ["fibre-bench", "fibre-top"];

/// The command that tests the whole workspace but this task: what that needs would be a set of
/// features of its own for some of these commands, and more than half of everything built anew.
pub(super) fn everything() -> Command {
    cargo(["test", "--workspace", "--exclude", "xtask"])
}

/// Runs the lane.
pub(crate) fn run(steps: &mut Steps, options: &Options) -> Result<()> {
    let mut build = everything();
    // `fibre-examples` tests the look for mixups; it takes CPU time that other suites count.
    build.args(OPTIONAL).env("FIBRE_MIXUPS", "off");
    let all = processes(steps, "test", options, build, |_, _| true)?;
    steps.run_as_one("test: workspace, debug", all)?;
    // Not beside those, as some of them call cargo, and would wait until it has built.
    let mut documents = everything();
    documents.args(OPTIONAL).arg("--doc");
    steps.run_one(options.step("test: documents", documents))?;
    let tasks = cargo(["test", "--package", "xtask"]);
    steps.run_one(options.step("test: xtask", tasks))
}

/// Runs the lane in release.
pub(crate) fn release(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    suites_in_release(workspace, steps, options)?;
    documents_in_release(steps, options)
}

/// Runs the suites in release.
pub(crate) fn suites_in_release(
    workspace: &Workspace,
    steps: &mut Steps,
    options: &Options,
) -> Result<()> {
    // Suites start examples, which cargo does not build for tests by name.
    let mut examples = in_release("build");
    examples.arg("--examples");
    steps.run("release: examples build", examples)?;
    let mut build = suites();
    build.arg("--lib");
    let beside = programs_beside(workspace)?;
    let beside = beside.iter().map(String::as_str);
    build.args(targets(IN_RELEASE.into_iter().chain(beside)));
    programs(steps, "release", options, build, |_, _| true)
}

/// Runs the examples in documents in release.
pub(crate) fn documents_in_release(steps: &mut Steps, options: &Options) -> Result<()> {
    let mut documents = suites();
    documents.arg("--doc");
    steps.run_one(options.step("release: documents", documents))
}

/// A command of cargo for everything that is tested or measured in release. What it builds has the
/// same features whatever is chosen of it, so that nothing is built twice: of each selection of
/// packages cargo makes a set of features, and builds what they have in common for each set anew.
pub(super) fn of_release(command: &str) -> Command {
    let mut command = cargo([command, "--package", "fibre-rt"]);
    for package in [FACADE].iter().chain(&BESIDE).chain(&MEASURED) {
        command.args(["--package", package]);
    }
    command.args(OPTIONAL);
    command
}

/// Such a command in release.
fn in_release(command: &str) -> Command {
    let mut command = of_release(command);
    command.arg("--release");
    command
}

/// The command that runs suites in release.
pub(super) fn suites() -> Command {
    in_release("test")
}

/// The programs of the crates beside, but for models, and for what is empty in release.
fn programs_beside(workspace: &Workspace) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for package in BESIDE {
        let folder = workspace.folder_of(package).join("tests");
        if folder.is_dir() {
            found.extend(programs_of(&folder)?);
        }
    }
    found.retain(|program| !["loom", IN_DEBUG].contains(&program.as_str()));
    found.sort();
    found.dedup();
    Ok(found)
}

/// The programs in a folder of tests.
fn programs_of(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_program = match path.extension() {
            Some(extension) => extension == "rs",
            None => path.join("main.rs").exists(),
        };
        let name = path.file_stem().filter(|_| is_program);
        found.extend(name.map(|name| name.to_string_lossy().into_owned()));
    }
    found.sort();
    Ok(found)
}

/// The suites of a program of the facade's tests.
pub(crate) fn suites_of(root: &Path, program: &str) -> Result<Vec<String>> {
    let source = root.join("tests").join(program).join("main.rs");
    let text = fs::read_to_string(&source);
    let text = text.with_context(|| format!("cannot read {}", source.display()))?;
    Ok(suites_in(&text).map(str::to_owned).collect())
}

/// The program of the facade's tests that has this suite.
pub(crate) fn program_with(root: &Path, suite: &str) -> Option<String> {
    let programs = programs_of(&root.join("tests")).ok()?;
    let has_it = |program: &String| {
        suites_of(root, program).is_ok_and(|suites| suites.iter().any(|one| one == suite))
    };
    programs.into_iter().find(has_it)
}

/// Builds programs by this command, and runs them: each suite that is to be run, by its program and
/// its name, in a process of its own.
pub(super) fn programs(
    steps: &mut Steps,
    lane: &str,
    options: &Options,
    build: Command,
    is_run: impl Fn(&str, &str) -> bool,
) -> Result<()> {
    let all = processes(steps, lane, options, build, is_run)?;
    steps.run_side_by_side(all)
}

/// Builds programs by this command; returns the processes to run of them.
fn processes(
    steps: &mut Steps,
    lane: &str,
    options: &Options,
    build: Command,
    is_run: impl Fn(&str, &str) -> bool,
) -> Result<Vec<Tests>> {
    if options.no_fail_fast {
        steps.keep_going();
    }
    let environment = environment_of(&build);
    let mut programs = steps.build_tests(&format!("{lane}: build"), build)?;
    // Suites take longest.
    programs.sort_by_key(|program| !program.has_tests);
    let mut all = Vec::new();
    for program in &programs {
        for (title, filter) in parts(program, options, &is_run)? {
            let mut command = program.command();
            command.envs(environment.iter().cloned());
            command.args(filter).args(&options.arguments);
            all.push(Tests {
                title: format!("{lane}: {title}"),
                command,
                least: usize::from(program.has_tests && !options.chooses()),
            });
        }
    }
    Ok(all)
}

/// The processes that a program is run in: what each is called, and its filter. If tests are chosen
/// by their names, it is one.
fn parts(
    program: &Program,
    options: &Options,
    is_run: impl Fn(&str, &str) -> bool,
) -> Result<Vec<(String, Option<String>)>> {
    let suites = match options.chooses() {
        true => Vec::new(),
        false => program.suites()?,
    };
    if suites.is_empty() {
        return Ok(vec![(program.title(), None)]);
    }
    let chosen = suites.iter().filter(|suite| is_run(&program.target, suite));
    let part = |suite: &String| {
        let filter = format!("suite_{suite}::");
        (format!("{}, {suite}", program.title()), Some(filter))
    };
    Ok(chosen.map(part).collect())
}

/// What the environment of a command adds.
fn environment_of(command: &Command) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    let added = command
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    added
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// The arguments that make cargo test these targets.
pub(super) fn targets<'a>(
    names: impl IntoIterator<Item = &'a str>,
) -> impl Iterator<Item = &'a str> {
    names.into_iter().flat_map(|name| ["--test", name])
}

/// Runs the suites with link-time optimisation, which shows what is wrong with thread-locals that
/// are kept across a switch.
pub(crate) fn optimised(steps: &mut Steps, options: &Options, part: Part) -> Result<()> {
    let mut build = optimised_programs();
    if part.has(0) {
        build.args(targets([BY_TURNS]));
    }
    programs(steps, "lto", options, build, |_, _| true)
}

/// The command that runs the programs that are [`OPTIMISED`], with link-time optimisation.
pub(super) fn optimised_programs() -> Command {
    let mut command = cargo(["test", "--profile", "lto", "--package", FACADE]);
    command.args(targets(OPTIMISED));
    command
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
    use crate::workspace::read_manifest;
    use std::collections::BTreeSet;

    /// The folder of the facade's tests, and the programs in it.
    fn all() -> (std::path::PathBuf, Vec<String>) {
        let folder = Workspace::find().unwrap().root().join("tests");
        let programs = programs_of(&folder).unwrap();
        (folder, programs)
    }

    #[test]
    fn each_program_is_built() {
        let (folder, programs) = all();
        let manifest = read_manifest(&folder.join("Cargo.toml")).unwrap();
        let declared = manifest["test"].as_array().unwrap().iter();
        let declared: BTreeSet<&str> = declared.map(|one| one["name"].as_str().unwrap()).collect();
        assert!(programs.iter().map(String::as_str).eq(declared));
    }

    #[test]
    fn each_program_is_run_optimised_once() {
        let run = OPTIMISED.iter().chain(&IN_RELEASE);
        let run: BTreeSet<&str> = run.chain(&[IN_DEBUG, ELSEWHERE]).copied().collect();
        assert_eq!(run.len(), OPTIMISED.len() + IN_RELEASE.len() + 2);
        assert!(all().1.iter().map(String::as_str).eq(run));
        assert!(IN_RELEASE.contains(&BY_TURNS));
    }

    /// Whatever lies beside the main source of a program of suites is one of them.
    #[test]
    fn each_suite_is_in_its_program() {
        let (folder, programs) = all();
        let root = folder.parent().unwrap();
        for program in programs {
            let suites = suites_of(root, &program).unwrap_or_default();
            if suites.is_empty() {
                continue;
            }
            let mut there = Vec::new();
            for entry in fs::read_dir(folder.join(&program)).unwrap() {
                let name = entry.unwrap().path().file_stem().unwrap().to_owned();
                there.push(name.into_string().unwrap());
            }
            there.retain(|name| name != "main");
            there.sort();
            assert_eq!(there, suites, "{program}");
        }
    }

    #[test]
    fn suites_have_their_programs() {
        let (folder, _) = all();
        let root = folder.parent().unwrap();
        assert_eq!(program_with(root, "io").as_deref(), Some("descriptors"));
        assert_eq!(program_with(root, "nothing"), None);
    }
}
