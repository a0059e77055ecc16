//! Project tasks: the commands a person and the build machine run alike.
//!
//! `cargo xtask <task>` runs one *lane*: a fixed list of steps, each a command that is printed
//! before it runs. A lane stops at the first step that fails, and the account of all steps with
//! their durations is printed either way.
//!
//! [`steps`] runs commands and keeps the account, [`verdict`] what tests have said, [`workspace`]
//! knows where things lie, [`lanes`] holds one file per task, [`choices`] reads what values a
//! choice has, [`pairs`] chooses combinations to test, [`conformance`] runs C programs, [`symbols`]
//! takes what debuggers need out of libraries, [`metadata`] reads what cargo says of packages,
//! [`markdown`] reads pages, [`quotes`] holds what they
//! quote from reports to what these say, [`book`] is what makes a book of the guide, [`tidy`] holds
//! the source rules that no compiler checks, [`mutants`] what makes mistakes on purpose, [`kit`]
//! what plants faults for the test kit, and [`instructions`] what the gate on instruction counts is
//! made of.

#![deny(unreachable_pub, unnameable_types)]

mod book;
mod choices;
mod commands;
mod conformance;
mod instructions;
mod kit;
mod lanes;
mod markdown;
mod metadata;
mod mutants;
mod pairs;
mod programs;
mod quotes;
mod side_by_side;
mod steps;
mod symbols;
mod tidy;
mod verdict;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use lanes::{
    arm, audit, bench, browser, c, capi, check, ci, clients, doc, features, gdb, guide, header,
    hello, links, loom, minimal, package, policies, pollers, ports, publish, sanitize, semver,
    stress, test, threads, types,
};
use steps::Steps;
use workspace::Workspace;

/// The command line of `cargo xtask`.
#[derive(Parser)]
#[command(version, name = "cargo xtask", about = "Project tasks of fibre")]
struct Arguments {
    /// What to do.
    #[command(subcommand)]
    task: Task,
}

/// One lane each.
#[derive(Subcommand)]
enum Task {
    /// All tests, debug build
    Test(test::Options),
    /// The suites that make fibres wait and move, with link-time optimisation
    Lto(test::Options),
    /// The other suites of the facade, and those of the crates that make fibres wait, in release
    Release(test::Options),
    /// Loom models of the lock-free words, queues and slots
    Loom(loom::Options),
    /// Mistakes made on purpose in protocol code, and whether the tests see them
    Mutants(lanes::mutants::Options),
    /// Faults planted in fibre, and how many schedules of the test kit find each
    Kit(lanes::kit::Options),
    /// Behaviour tests under AddressSanitizer
    Sanitize,
    /// Randomised stress tests; prints the seed, takes it back through --seed
    Stress(stress::Options),
    /// The behaviour suite under every scheduling policy: every pair of values, or --all
    Policies(policies::Options),
    /// The tests of I/O with every poller
    Pollers(pollers::Options),
    /// The crates for 64-bit ARM, their suites and the web server under an emulator
    Arm,
    /// Benchmarks: fibre-bench beside our peers, criterion for each primitive
    Bench(bench::Options),
    /// Instructions of the hot paths, compared with the kept counts; --update writes these
    Instructions(lanes::instructions::Options),
    /// The C programs, with the system's threads and with ours; --report writes the table
    C(c::Options),
    /// The C library and its headers, under target/capi, and checks of it
    Capi(capi::Options),
    /// C programs that are linked with `fibre-threads` and not recompiled: their threads are fibres
    Threads(threads::Options),
    /// What gdb says of programs that hang: needs gdb
    Gdb(gdb::Options),
    /// The page of a process in a browser: needs Chromium; --pictures writes pictures of it
    Browser(browser::Options),
    /// Unmodified clients on fibres against Debian's servers, which have to be installed
    Clients(clients::Options),
    /// A program with the names of `fibre-libc`, linked in all ways that are promised
    Links(links::Options),
    /// The header of the C library from its sources; --check says whether it is current
    Header(header::Options),
    /// The published crates as the registry would be given them, built from that
    Package,
    /// What keeps the lower crates from being compiled for another system, by file
    Ports(ports::Options),
    /// A release in a clean clone, up to what would be sent to the registry; nothing is published
    Publish(publish::Options),
    /// Licences, sources and versions of dependencies; --advisories asks cargo-deny for faults
    Audit(audit::Options),
    /// The published crates with every combination of their features
    Features,
    /// The types of other crates that the published crates show
    Types,
    /// The published crates with the lowest versions that their manifests permit
    Minimal,
    /// What the smallest server costs to build, beside its peers; --report writes the table
    Hello(hello::Options),
    /// What has changed for programs since the last tag: needs cargo-semver-checks
    Semver(semver::Options),
    /// Documentation with private items, warnings denied
    Doc,
    /// The guide as a book, its links, and its programs in C: needs mdBook
    Guide(guide::Options),
    /// Source rules that no compiler checks; --graph draws the folders of the
    /// crates, --figures counts what the libraries amount to
    Tidy(check::Options),
    /// Writes into the pages the figures that they quote from stored reports
    Figures,
    /// Formatting, clippy, tidy and doc: what to run before a commit
    Check,
    /// Everything the build machine runs, in its order
    Ci(ci::Options),
}

impl Task {
    /// Runs the lane, entering each step into `steps`.
    fn run(&self, workspace: &Workspace, steps: &mut Steps) -> Result<()> {
        match self {
            Self::Test(options) => test::run(steps, options),
            Self::Lto(options) => test::optimised(steps, options, lanes::part::Part::default()),
            Self::Release(options) => test::release(workspace, steps, options),
            Self::Loom(options) => loom::run(workspace, steps, options),
            Self::Mutants(options) => lanes::mutants::run(workspace, steps, options),
            Self::Kit(options) => lanes::kit::run(workspace, steps, options),
            Self::Sanitize => sanitize::run(workspace, steps),
            Self::Stress(options) => stress::run(steps, options),
            Self::Policies(options) => policies::run(workspace, steps, options),
            Self::Pollers(options) => pollers::run(steps, options),
            Self::Arm => arm::run(workspace, steps),
            Self::Bench(options) => bench::run(workspace, steps, options),
            Self::Instructions(options) => lanes::instructions::run(workspace, steps, options),
            Self::C(options) => c::run(workspace, steps, options),
            Self::Capi(options) => capi::run(workspace, steps, options),
            Self::Threads(options) => threads::run(workspace, steps, options),
            Self::Gdb(options) => gdb::run(workspace, steps, options),
            Self::Browser(options) => browser::run(steps, options),
            Self::Clients(options) => clients::run(steps, options),
            Self::Links(options) => links::run(workspace, steps, options),
            Self::Header(options) => header::run(workspace, steps, options),
            Self::Package => package::run(workspace, steps),
            Self::Ports(options) => ports::run(steps, options),
            Self::Publish(options) => publish::run(workspace, steps, options),
            Self::Audit(options) => audit::run(workspace, steps, options),
            Self::Features => features::run(workspace, steps),
            Self::Types => types::run(workspace, steps),
            Self::Minimal => minimal::run(workspace, steps),
            Self::Hello(options) => hello::run(workspace, steps, options),
            Self::Semver(options) => semver::run(steps, options),
            Self::Doc => doc::run(steps),
            Self::Guide(options) => guide::run(workspace, steps, options),
            Self::Tidy(options) => check::tidy(workspace, steps, options),
            Self::Figures => steps.check("figures", || quotes::write(workspace.root())),
            Self::Check => check::run(workspace, steps),
            Self::Ci(options) => ci::run(workspace, steps, options),
        }
    }
}

/// Finds the workspace, makes it the current directory and runs the task.
fn run(task: &Task, steps: &mut Steps) -> Result<()> {
    let workspace = Workspace::find()?;
    std::env::set_current_dir(workspace.root())?;
    task.run(&workspace, steps)
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Task::Guide(options) = &arguments.task
        && options.as_preprocessor
    {
        // mdBook reads what is printed.
        return match guide::preprocess(options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("xtask: FAILED: {error:#}");
                ExitCode::FAILURE
            }
        };
    }
    let mut steps = Steps::new();
    let outcome = run(&arguments.task, &mut steps);
    steps.print_summary();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nxtask: FAILED: {error:#}");
            ExitCode::FAILURE
        }
    }
}
