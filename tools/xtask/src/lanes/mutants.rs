//! `mutants`: mistakes made on purpose in protocol code, and whether the tests see them.
//!
//! Not a part of `ci`: all of it takes hours. Results are kept below the build directory, so that a
//! run that was interrupted goes on, and one after a change tries the changed files only.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use clap::Args;

use crate::mutants::listed::{self, Lists};
use crate::mutants::mutant::Kind;
use crate::mutants::programs::{self, Program};
use crate::mutants::results::{Results, Verdict};
use crate::mutants::scratch::{Binary, File, Scratch};
use crate::mutants::subjects::{SUBJECTS, Subject};
use crate::mutants::{page, trial};
use crate::steps::Steps;
use crate::workspace::Workspace;

/// What to try.
#[derive(Args)]
pub(crate) struct Options {
    /// Only weakened memory orderings: needs no cargo-mutants
    #[arg(long)]
    orderings: bool,
    /// Only models: builds no other tests
    #[arg(long, conflicts_with_all = ["narrow", "suites"])]
    models: bool,
    /// Only models and unit tests: builds no suites
    #[arg(long, conflicts_with = "suites")]
    narrow: bool,
    /// Only suites, as when all else has been tried
    #[arg(long)]
    suites: bool,
    /// Tries those again that survived, or that no test came to
    #[arg(long)]
    again: bool,
    /// How many are tried at a time
    #[arg(long, default_value_t = 2)]
    workers: usize,
    /// Begins none after so many minutes
    #[arg(long)]
    minutes: Option<u64>,
    /// Writes the page docs/results/mutants.md of all results there are, and tries none
    #[arg(long)]
    report: bool,
    /// Parts of the paths of the files to try; all, if none is named
    files: Vec<String>,
}

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    let root = workspace.root();
    let folder = root.join(workspace.target_dir("mutants"));
    std::fs::create_dir_all(&folder)?;
    let mut lists = Lists::new();
    if !options.orderings {
        steps.check("mutants: list of cargo-mutants", || {
            lists = listed::ask()?;
            Ok(format!("{} files", lists.len()))
        })?;
    }
    let kept = folder.join("results.jsonl");
    let mut results = Results::read(&kept)?;
    let mut scratch = Scratch::make(root, &folder.join("tree"), &lists)?;
    if options.report {
        return steps.check("mutants: page", || {
            std::fs::write(
                root.join(page::PAGE),
                page::page(root, &scratch.files, &results)?,
            )?;
            Ok(format!("{} written", page::PAGE))
        });
    }
    forget_unviable(&mut scratch, &results);
    let mut binaries = Vec::new();
    steps.check("mutants: build", || {
        binaries = build(&mut scratch, &folder, options)?;
        Ok(format!(
            "{} programs, {} mutants",
            binaries.len(),
            scratch.count() - 1
        ))
    })?;
    keep_unviable(&scratch, &mut results)?;
    let mut known = Vec::new();
    steps.check("mutants: which tests come to which", || {
        known = look_at(binaries, scratch.count(), &folder, options.workers)?;
        Ok(format!(
            "{} tests",
            known
                .iter()
                .map(|program| program.tests.len())
                .sum::<usize>()
        ))
    })?;
    // Another run may have come further meanwhile.
    let results = Results::read(&kept)?;
    steps.check("mutants: trials", || {
        try_all(&scratch, &known, results, options)
    })
}

/// Builds the test programs that are to try them.
fn build(scratch: &mut Scratch, folder: &Path, options: &Options) -> Result<Vec<Binary>> {
    let subjects = SUBJECTS.iter().filter(|file| is_named(options, file));
    let subjects: Vec<&Subject> = subjects.collect();
    let (models, tests) = (folder.join("models"), folder.join("tests"));
    let mut binaries = Vec::new();
    if !options.models && !options.suites {
        binaries.extend(scratch.build_units(&tests, &subjects)?);
    }
    if !options.models && !options.narrow {
        binaries.extend(scratch.build_suites(&tests, &subjects)?);
    }
    if !options.suites {
        binaries.extend(scratch.build_models(&models, &subjects)?);
    }
    Ok(binaries)
}

/// Whether a file is one of those that are to be tried.
fn is_named(options: &Options, subject: &Subject) -> bool {
    let parts = &options.files;
    parts.is_empty() || parts.iter().any(|part| subject.file.contains(part))
}

/// Looks at the tests of all programs, some at a time.
fn look_at(
    binaries: Vec<Binary>,
    count: usize,
    folder: &Path,
    workers: usize,
) -> Result<Vec<Program>> {
    let (next, known) = (Mutex::new(binaries.into_iter()), Mutex::new(Vec::new()));
    let failed = || anyhow!("another worker has failed");
    let work = || -> Result<()> {
        loop {
            let binary = next.lock().map_err(|_| failed())?.next();
            let Some(binary) = binary else { break Ok(()) };
            let program = programs::look(binary, count, folder)?;
            known.lock().map_err(|_| failed())?.push(program);
        }
    };
    all_work(workers, work).context("looking at the tests")?;
    known.into_inner().map_err(|_| failed())
}

/// Runs so many workers until all have ended.
fn all_work(workers: usize, work: impl Fn() -> Result<()> + Sync) -> Result<()> {
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(&work)).collect();
        let mut ends = workers.into_iter().map(|worker| worker.join());
        ends.try_for_each(|end| end.map_err(|_| anyhow!("a worker panicked"))?)
    })
}

/// Leaves those out from the beginning that are known not to compile.
fn forget_unviable(scratch: &mut Scratch, results: &Results) {
    for file in &mut scratch.files {
        let unviable = |index: &usize| results.of(file, *index) == Some(&Verdict::Unviable);
        file.out = (0..file.mutants.len()).filter(unviable).collect();
    }
}

/// Keeps which ones do not compile.
fn keep_unviable(scratch: &Scratch, results: &mut Results) -> Result<()> {
    for file in &scratch.files {
        for &index in &file.out {
            if results.of(file, index).is_none() {
                results.keep(file, index, Verdict::Unviable)?;
            }
        }
    }
    Ok(())
}

/// Whether a mutant is to be tried.
fn is_wanted(options: &Options, results: &Results, file: &File, index: usize) -> bool {
    let kind = !options.orderings || file.mutants[index].kind == Kind::Ordering;
    let fresh = match results.of(file, index) {
        None => true,
        Some(Verdict::Survived | Verdict::Unreached) => options.again,
        Some(Verdict::Killed(_) | Verdict::Unviable) => false,
    };
    is_named(options, file.subject) && kind && fresh
}

/// Tries all that are wanted, some at a time.
fn try_all(
    scratch: &Scratch,
    programs: &[Program],
    results: Results,
    options: &Options,
) -> Result<String> {
    let mut wanted = Vec::new();
    for file in &scratch.files {
        let indices = 0..file.mutants.len();
        let indices = indices.filter(|&index| is_wanted(options, &results, file, index));
        wanted.extend(indices.map(|index| (file, index)));
    }
    // These are what only few tests can see.
    wanted.sort_by_key(|(file, index)| file.mutants[*index].kind != Kind::Ordering);
    let end = options
        .minutes
        .map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    let (next, results) = (AtomicUsize::new(0), Mutex::new(results));
    let (killed, tried) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || -> Result<()> {
        while end.is_none_or(|end| Instant::now() < end) {
            let Some((file, index)) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) else {
                break;
            };
            let verdict = trial::judge(programs, file, file.first + index)?;
            let mutant = &file.mutants[*index];
            let mut results = results
                .lock()
                .map_err(|_| anyhow!("another worker has failed"))?;
            tried.fetch_add(1, Ordering::Relaxed);
            match &verdict {
                Verdict::Killed(_) => drop(killed.fetch_add(1, Ordering::Relaxed)),
                lives => println!(
                    "{lives:?}: {}:{} {}: {}",
                    file.subject.file, mutant.line, mutant.function, mutant.what
                ),
            }
            // That suites do not come to it says nothing of other tests.
            if !(options.suites && verdict == Verdict::Unreached) {
                results.keep(file, *index, verdict)?;
            }
        }
        Ok(())
    };
    all_work(options.workers, work).context("the trials")?;
    let (killed, tried) = (killed.into_inner(), tried.into_inner());
    Ok(format!(
        "{killed} of {tried} killed, {} wanted",
        wanted.len()
    ))
}
