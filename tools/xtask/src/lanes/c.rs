//! `c`: the C programs of the C library, with the system's threads and with ours.
//!
//! Each of them shows one clause of POSIX and must hold with the system's threads, and with ours on
//! 1, 2 and 4 processors. What they are: docs/c/conformance.md.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use clap::Args;

use crate::conformance::program::Program;
use crate::conformance::queue::{self, Extent, Record};
use crate::conformance::trial::{self, Bench, SETTINGS, Setting};
use crate::conformance::{mutants, table};
use crate::lanes::capi;
use crate::lanes::part::Part;
use crate::steps::Steps;
use crate::workspace::Workspace;

/// Which programs, how, and what to do with the results.
#[derive(Args)]
pub(crate) struct Options {
    /// Writes the table of results; for that it also shows of each program that it can fail
    #[arg(long)]
    report: bool,
    /// Shows of each program that it can fail: runs mutants of it
    #[arg(long)]
    mutants: bool,
    /// Only with the system's threads
    #[arg(long)]
    system: bool,
    /// Only with fibres that have thread-locals of their own
    #[arg(long, conflicts_with_all = ["system", "report"])]
    own: bool,
    /// The programs that run with such fibres
    #[arg(skip)]
    part: Part,
    /// How often each program runs in each setting
    #[arg(long, default_value_t = 1)]
    runs: usize,
    /// How many programs run at a time
    #[arg(long, default_value_t = 4)]
    workers: usize,
    /// The library is there already: does not build it
    #[arg(long)]
    built: bool,
    /// Parts of the paths of the programs to run; all, if none is named
    programs: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            report: false,
            mutants: false,
            system: false,
            own: false,
            part: Part::default(),
            runs: 1,
            workers: 4,
            built: false,
            programs: Vec::new(),
        }
    }
}

impl Options {
    /// Options that run a part of the programs with fibres that have thread-locals of their own.
    pub(crate) fn of(part: Part) -> Self {
        Self {
            part,
            ..Self::default()
        }
    }

    /// The settings to run in.
    fn settings(&self) -> Vec<Setting> {
        let settings = SETTINGS.into_iter();
        settings
            .filter(|setting| !self.system || *setting == Setting::System)
            .filter(|setting| !self.own || matches!(setting, Setting::Own(_)))
            .collect()
    }
}

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    let programs = Program::find(workspace.root(), &options.programs)?;
    ensure!(!programs.is_empty(), "no C program is named so");
    let bench = prepare(workspace, steps, options)?;
    let mut records = Vec::new();
    let ran = steps.check("c: programs", || {
        let extent = Extent {
            workers: options.workers,
            runs: options.runs,
            settings: options.settings(),
            own: options.part,
        };
        records = queue::work(&bench, &programs, &extent)?;
        verdict(&records)
    });
    if !options.report && !options.mutants {
        return ran;
    }
    let mut verdicts = Vec::new();
    let judged = steps.check("c: mutants", || {
        let judge = |program: &Program| mutants::judge(&bench, workspace.root(), program);
        verdicts = queue::each(&programs, options.workers, judge)?;
        can_fail(&programs, &verdicts)
    });
    if let Err(error) = &judged {
        println!("{error:#}");
    }
    if options.report {
        ensure!(options.programs.is_empty(), "the table is of all programs");
        steps.check("c: table", || write(workspace.root(), &records, &verdicts))?;
    }
    ran.and(judged)
}

/// Builds the library and makes room for compiled programs.
fn prepare(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<Bench> {
    let folder = workspace.target_dir("c");
    let installed = workspace.target_dir("capi");
    if options.system {
        std::fs::create_dir_all(&folder)?;
        return Ok(Bench { installed, folder });
    }
    if !options.built {
        capi::run(workspace, steps, &capi::Options::default())?;
    }
    trial::prepare(installed, folder)
}

/// A word on all results; an error if one is a failure.
fn verdict(records: &[Record]) -> Result<String> {
    let failed = records.iter().flat_map(|record| {
        let failures = record.failures().into_iter();
        failures.map(|(_, settings)| format!("{} ({settings})", record.program.title()))
    });
    let failed: Vec<String> = failed.collect();
    if !failed.is_empty() {
        bail!("{} fail:\n{}", failed.len(), failed.join("\n"));
    }
    let runs = records.iter().flat_map(|record| &record.outcomes).flatten();
    Ok(format!(
        "{} programs in {} settings",
        records.len(),
        runs.count()
    ))
}

/// A word on the mutants; an error if a program did not notice any of its own.
fn can_fail(programs: &[Program], verdicts: &[mutants::Verdict]) -> Result<String> {
    let mut caught = 0;
    let mut blind = Vec::new();
    for (program, verdict) in programs.iter().zip(verdicts) {
        caught += verdict.caught.len();
        if !verdict.survived.is_empty() {
            println!(
                "{}: not noticed: {}",
                program.title(),
                verdict.survived.join(", ")
            );
        }
        if verdict.caught.is_empty() {
            blind.push(program.title());
        }
    }
    ensure!(
        blind.is_empty(),
        "no mutant was caught by:\n{}",
        blind.join("\n")
    );
    Ok(format!("{caught} mutants caught"))
}

/// Writes the table.
fn write(root: &Path, records: &[Record], verdicts: &[mutants::Verdict]) -> Result<String> {
    std::fs::write(root.join(table::PAGE), table::page(records, verdicts))?;
    Ok(format!("{} written", table::PAGE))
}
