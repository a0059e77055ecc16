//! What unmodified clients cost on fibres, beside threads, in one run.
//!
//! `cargo build --release -p fibre-clients --features libpq,libcurl`, and then `cargo run --release
//! -p fibre-clients --features libpq,libcurl --bin compare-clients`. It starts Debian's servers for
//! its own time, and writes report and readings into `docs/results`.
//!
//! Each repetition runs every case in every way, one after the other, each in a process of its own
//! that has one CPU; servers, and the load of the case that is a server, have the others. A client
//! that fails, and an answer that is wrong, end the comparison. Where each call blocks the only
//! processor, calls take as long as all of them together: so a case runs once then, with fewer of
//! them, and may hang.

mod case;
mod measured;
mod report;

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use fibre_clients::way::Way;
use fibre_measure::{Cores, Machine, raise_file_limit};
use rustix::thread::{CpuSet, sched_setaffinity};

use case::{CASES, Case, Load, Places};
use report::{Report, Row};

/// Compares clients on fibres with the same ones on threads.
#[derive(Parser)]
#[command(version)]
pub(crate) struct Options {
    /// How often each case is measured
    #[arg(long, default_value_t = 5)]
    repetitions: usize,
    /// Only these cases
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only these ways
    #[arg(long, value_delimiter = ',')]
    ways: Vec<Way>,
    /// Calls of each client where each call blocks the only processor; 0: leave these rows out
    #[arg(long, default_value_t = 1)]
    bare_calls: usize,
    /// Tiny loads: shows that all of it runs, measures nothing, and writes nothing by itself
    #[arg(long)]
    quick: bool,
    /// Where report and readings go [default: docs/results/N-cores-clients]
    #[arg(long)]
    results: Option<PathBuf>,
}

impl Options {
    /// Whether a case is to be measured.
    fn includes(&self, case: &Case) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == case.name)
    }

    /// The ways to be measured.
    fn ways(&self) -> Vec<Way> {
        let mut ways = match &self.ways[..] {
            [] => Way::ALL.to_vec(),
            chosen => chosen.to_vec(),
        };
        ways.retain(|way| *way != Way::Bare || self.bare_calls > 0);
        ways
    }

    /// The loads to be measured.
    fn loads(&self) -> Vec<Load> {
        if self.quick {
            return vec![Load::QUICK];
        }
        vec![Load::SLOW, Load::MANY]
    }

    /// Where results go, if anywhere.
    fn results(&self, cores: usize) -> Option<PathBuf> {
        let results = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results");
        let usual = PathBuf::from(results).join(format!("{cores}-cores-clients"));
        self.results.clone().or((!self.quick).then_some(usual))
    }
}

fn main() -> Result<()> {
    let options = Options::parse();
    raise_file_limit()?;
    let machine = Machine::observe();
    let cores = Cores::observe()?;
    stay_on(&cores.load(1))?;
    let cases: Vec<&Case> = CASES.iter().filter(|case| options.includes(case)).collect();
    let places = Places::start(&cases)?;
    let mut rows = Row::all(
        &cases,
        &options.loads(),
        &options.ways(),
        options.bare_calls,
    );
    for repetition in 0..options.repetitions {
        for row in &mut rows {
            if repetition > 0 && row.way == Way::Bare {
                continue;
            }
            let reading = row.case.measure(row.load, row.way, &places, &cores)?;
            eprintln!("{repetition}: {row}: {reading:?}");
            row.push(reading);
        }
    }
    let report = Report::new(machine, options.repetitions, &rows);
    println!("{report}");
    match options.results(cores.count()) {
        Some(folder) => report.write(&folder),
        None => Ok(()),
    }
}

/// Makes this process, and the servers that it will start, run on these cores.
fn stay_on(cores: &[usize]) -> Result<()> {
    let mut set = CpuSet::new();
    cores.iter().for_each(|core| set.set(*core));
    Ok(sched_setaffinity(None, &set)?)
}
