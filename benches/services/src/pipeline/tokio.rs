//! The pipeline on tokio: a task reads, some work, one writes.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use clap::Parser;
use fibre_services::{Pipeline, divisors};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, stdin, stdout};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::{JoinSet, spawn_blocking};

/// Jobs between two stages.
const BETWEEN: usize = 16;

/// What several workers receive from.
type Jobs = Arc<Mutex<Receiver<(usize, String)>>>;

/// Reads lines until they end, or SIGTERM comes.
async fn read(jobs: Sender<(usize, String)>) -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut lines = BufReader::new(stdin()).lines();
    for number in 0.. {
        let line = tokio::select! {
            line = lines.next_line() => line,
            _ = terminate.recv() => return Ok(()),
        };
        let Ok(Some(line)) = line else { return Ok(()) };
        if jobs.send((number, line)).await.is_err() {
            return Ok(());
        }
    }
    Ok(())
}

/// Computes, beside the tasks that wait.
async fn work(jobs: Jobs, results: Sender<(usize, u64)>) -> io::Result<()> {
    loop {
        let job = jobs.lock().await.recv().await;
        let Some((number, line)) = job else {
            return Ok(());
        };
        let count = spawn_blocking(move || divisors(&line)).await??;
        if results.send((number, count)).await.is_err() {
            return Ok(());
        }
    }
}

/// Writes results in the order of their lines.
async fn write(mut results: Receiver<(usize, u64)>) -> io::Result<()> {
    let (mut early, mut next) = (BTreeMap::new(), 0);
    let mut stdout = stdout();
    while let Some((number, count)) = results.recv().await {
        early.insert(number, count);
        while let Some(count) = early.remove(&next) {
            stdout.write_all(format!("{count}\n").as_bytes()).await?;
            next += 1;
        }
    }
    stdout.flush().await
}

/// Reads, works and writes. The first error ends it.
async fn run(options: Pipeline) -> io::Result<()> {
    let (jobs, from_reader) = channel(BETWEEN);
    let (results, from_workers) = channel(BETWEEN);
    let from_reader = Arc::new(Mutex::new(from_reader));
    let mut stages = JoinSet::new();
    stages.spawn(read(jobs));
    for _ in 0..options.workers {
        stages.spawn(work(Arc::clone(&from_reader), results.clone()));
    }
    drop(results);
    stages.spawn(write(from_workers));
    while let Some(ended) = stages.join_next().await {
        ended??;
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let options = Pipeline::parse();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(options.threads.count());
    let runtime = runtime.enable_all().build()?;
    let ran = runtime.block_on(run(options));
    // A thread may be reading from standard input, which nothing ends.
    runtime.shutdown_background();
    ran
}
