//! The pipeline on fibres: one reads, some work, one writes.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use clap::Parser;
use fibre::channel::{Receiver, Sender, bounded};
use fibre::io::{stdin, stdout};
use fibre::signal::{SIGTERM, Signals};
use fibre::{Builder, CancelToken, Cluster, Group, GroupError};
use fibre_services::{Pipeline, divisors};

/// Jobs between two stages.
const BETWEEN: usize = 16;

/// Reads lines until they end, or reading is cancelled.
fn read(jobs: &Sender<(usize, String)>) {
    for (number, line) in stdin().lock().lines().map_while(Result::ok).enumerate() {
        if jobs.send((number, line)).is_err() {
            return;
        }
    }
}

/// Computes, beside the fibres that wait.
fn work(jobs: &Receiver<(usize, String)>, results: &Sender<(usize, u64)>) -> io::Result<()> {
    for (number, line) in jobs.iter() {
        let count = fibre::compute(|| divisors(&line))?;
        if results.send((number, count)).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

/// Writes results in the order of their lines.
fn write(results: &Receiver<(usize, u64)>) -> io::Result<()> {
    let (mut early, mut next) = (BTreeMap::new(), 0);
    for (number, count) in results.iter() {
        early.insert(number, count);
        while let Some(count) = early.remove(&next) {
            writeln!(stdout(), "{count}")?;
            next += 1;
        }
    }
    stdout().flush()
}

/// Works and writes until the jobs end. The first error ends it.
fn run(options: &Pipeline, jobs: Receiver<(usize, String)>) -> Result<(), GroupError<io::Error>> {
    let (results, from_workers) = bounded(BETWEEN);
    // Cancellation ends `send` and `recv`, too, which cannot fail otherwise.
    Group::builder().cancellable(true).run(|group| {
        for _ in 0..options.workers {
            let (jobs, results) = (jobs.clone(), results.clone());
            group.spawn(move || work(&jobs, &results));
        }
        drop((jobs, results));
        write(&from_workers)
    })
}

fn main() -> io::Result<()> {
    let options = Pipeline::parse();
    let signals = Signals::new([SIGTERM])?;
    let threads = options.threads.count();
    let cluster = Cluster::builder().processors(threads).build()?;
    let (jobs, from_reader) = bounded(BETWEEN);
    let reading = CancelToken::new();
    let reader = Builder::new().cancel_token(&reading);
    drop(reader.spawn_in(&cluster, move || read(&jobs))?);
    drop(cluster.spawn(move || signals.wait().map(|_| reading.cancel())));
    let ran = cluster.spawn(move || run(&options, from_reader)).join();
    let ran = ran.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    ran.map_err(io::Error::other)
}
