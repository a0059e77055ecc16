//! `kit`: faults planted in fibre, and how many schedules of the test kit find each.
//!
//! Not a part of `ci`, where the scenarios pass on sources without faults.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Result, anyhow};
use clap::Args;

use crate::kit::history::History;
use crate::kit::page::{self, Row, Tables};
use crate::kit::tree;
use crate::kit::trial::{self, Choice, Scenario};
use crate::mutants::scratch::{Binary, Scratch};
use crate::steps::Steps;
use crate::workspace::Workspace;

/// What to try.
#[derive(Args)]
pub(crate) struct Options {
    /// How many schedules of a kind try a fault
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// How many mutants are tried, evenly over those that scenarios come to
    #[arg(long, default_value_t = 100)]
    mutants: usize,
    /// How many faults are tried at a time
    #[arg(long, default_value_t = 2)]
    workers: usize,
    /// Writes the page docs/results/kit.md
    #[arg(long)]
    report: bool,
    /// Parts of the names and places of the faults to try; all, if none is named
    faults: Vec<String>,
}

/// A fault that is to be tried.
struct Fault {
    choice: Choice,
    name: String,
    place: String,
}

/// Runs the lane.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, options: &Options) -> Result<()> {
    let root = workspace.root();
    let folder = root.join(workspace.target_dir("kit"));
    std::fs::create_dir_all(&folder)?;
    let history = History::read(root)?;
    let mut scratch = tree::make(root, &folder.join("tree"), &history)?;
    let mut program = None;
    steps.check("kit: build", || {
        program = Some(tree::build(&mut scratch, &folder.join("build"))?);
        Ok(format!("{} mutants", scratch.count() - 1))
    })?;
    let program = program.ok_or_else(|| anyhow!("no program"))?;
    let mut scenarios = Vec::new();
    steps.check("kit: what scenarios come to", || {
        scenarios = trial::look(&program, scratch.count(), &folder)?;
        let planted = trial::all_planted(&scenarios).len();
        Ok(format!(
            "{} scenarios, {planted} planted faults",
            scenarios.len()
        ))
    })?;
    let mut tables = Tables::default();
    let lists = [
        of_history(&history),
        of_models(&history, &scenarios),
        of_mutants(&scratch, &scenarios, options.mutants),
    ];
    let all = [&mut tables.history, &mut tables.models, &mut tables.mutants];
    for ((faults, rows), title) in lists
        .into_iter()
        .zip(all)
        .zip(["history", "models", "mutants"])
    {
        let is_named = |fault: &Fault| {
            let mut parts = options.faults.iter();
            let has = |part: &String| fault.name.contains(part) || fault.place.contains(part);
            options.faults.is_empty() || parts.any(has)
        };
        let faults: Vec<_> = faults.into_iter().filter(is_named).collect();
        steps.check(&format!("kit: {title}"), || {
            *rows = try_all(&program, &scenarios, &faults, options)?;
            Ok(format!("{} found", page::found(rows)))
        })?;
    }
    if options.report {
        let text = page::page(&tables, &history.unseen, options.seeds)?;
        std::fs::write(root.join(page::PAGE), text)?;
    }
    Ok(())
}

/// The faults of the past.
fn of_history(history: &History) -> Vec<Fault> {
    let fault = |past: &crate::kit::history::Past| Fault {
        choice: Choice::Planted(past.planted_by()),
        name: past.name.clone(),
        place: past.test.clone(),
    };
    history.history.iter().map(fault).collect()
}

/// The faults that models plant, as far as scenarios come to them.
fn of_models(history: &History, scenarios: &[Scenario]) -> Vec<Fault> {
    let past: Vec<_> = history
        .history
        .iter()
        .map(|past| past.planted_by())
        .collect();
    let planted = trial::all_planted(scenarios).into_iter();
    let others = planted.filter(|name| !past.iter().any(|past| past == name));
    let fault = |name: &str| Fault {
        choice: Choice::Planted(name.to_owned()),
        name: name.to_owned(),
        // What it is about: `once::WAKES_NOBODY`, or `gate: …`.
        place: name.split(':').next().unwrap_or_default().to_owned(),
    };
    others.map(fault).collect()
}

/// So many mutants of those that scenarios come to.
fn of_mutants(scratch: &Scratch, scenarios: &[Scenario], count: usize) -> Vec<Fault> {
    let mut all = Vec::new();
    for file in &scratch.files {
        for (index, mutant) in file.mutants.iter().enumerate() {
            let choice = Choice::Mutant(file.first + index);
            if !file.out.contains(&index) && trial::is_reached(scenarios, &choice) {
                all.push(Fault {
                    choice,
                    name: format!("{}: {}", mutant.function, mutant.what),
                    place: format!("{}:{}", file.subject.file, mutant.line),
                });
            }
        }
    }
    let (len, count) = (all.len(), count.min(all.len()));
    let mut number = 0;
    all.retain(|_| {
        number += 1;
        number * count / len.max(1) > (number - 1) * count / len.max(1)
    });
    all
}

/// Tries faults, some at a time.
fn try_all(
    program: &Binary,
    scenarios: &[Scenario],
    faults: &[Fault],
    options: &Options,
) -> Result<Vec<Row>> {
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || -> Result<()> {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(fault) = faults.get(index) else {
                return Ok(());
            };
            let verdict = trial::judge(program, scenarios, &fault.choice, options.seeds)?;
            println!("{} {}: {verdict:?}", fault.place, fault.name);
            let row = Row {
                name: fault.name.clone(),
                place: fault.place.clone(),
                verdict,
            };
            let mut rows = rows
                .lock()
                .map_err(|_| anyhow!("another worker has failed"))?;
            rows.push((index, row));
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..options.workers).map(|_| scope.spawn(work)).collect();
        let mut ends = workers.into_iter().map(|worker| worker.join());
        ends.try_for_each(|end| end.map_err(|_| anyhow!("a worker panicked"))?)
    })?;
    let mut rows = rows
        .into_inner()
        .map_err(|_| anyhow!("a worker panicked"))?;
    rows.sort_by_key(|(index, _)| *index);
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}
