//! On what clients run: threads, or fibres in three ways.

use std::io;
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result, anyhow};
use clap::ValueEnum;
use fibre::{Builder, Cluster};
use serde::{Deserialize, Serialize};

/// On what clients run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// A kernel thread for each client
    Threads,
    /// A fibre for each, in a program that has installed fibre-libc
    Names,
    /// A fibre for each, and all calls within `fibre::blocking`
    Blocking,
    /// A fibre for each, and nothing else: each call blocks the processor
    Bare,
}

/// Bytes of stack of each client, thread or fibre.
const STACK: usize = 256 << 10;

impl Way {
    /// The ways in the order of reports.
    pub const ALL: [Self; 4] = [Self::Threads, Self::Names, Self::Blocking, Self::Bare];

    /// How reports call it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Names => "fibre-libc",
            Self::Blocking => "blocking",
            Self::Bare => "bare",
        }
    }

    /// Runs something that may block as a client does, where this way has it run. Blocks the
    /// caller, fibre or thread, until it has ended.
    pub fn run<T: Send>(self, something: impl FnOnce() -> T + Send) -> T {
        match self {
            Self::Blocking => fibre::blocking(something),
            _ => something(),
        }
    }

    /// Runs a job for each number below `count`, all at once, and waits for all. Blocks the calling
    /// thread. Fibres run on a cluster with so many processors and no spare ones: a processor that
    /// is blocked stays so.
    ///
    /// # Errors
    ///
    /// The first error of a job; a panic of one; threads or processors cannot be started.
    pub fn run_all<F>(self, processors: usize, count: usize, job: F) -> Result<()>
    where
        F: Fn(usize) -> Result<()> + Send + Sync + 'static,
    {
        let job = Arc::new(job);
        let jobs = (0..count).map(|number| {
            let job = Arc::clone(&job);
            move || job(number)
        });
        let cluster = match self {
            Self::Threads => None,
            _ => Some(cluster(processors)?),
        };
        let outcomes = match &cluster {
            None => on_threads(jobs)?,
            Some(cluster) => on_fibres(cluster, jobs)?,
        };
        if let Some(cluster) = cluster {
            cluster.stop();
        }
        let outcome = outcomes.into_iter().collect::<Result<Vec<()>>>();
        outcome.map(drop)
    }
}

/// A cluster without spare processors.
///
/// # Errors
///
/// Its threads cannot be started.
pub fn cluster(processors: usize) -> io::Result<Cluster> {
    Cluster::builder()
        .processors(processors)
        .max_spare_processors(0)
        .build()
}

/// Runs each job on a thread of its own.
fn on_threads<J>(jobs: impl Iterator<Item = J>) -> Result<Vec<Result<()>>>
where
    J: FnOnce() -> Result<()> + Send + 'static,
{
    let start = |job: J| thread::Builder::new().stack_size(STACK).spawn(job);
    let started = jobs.map(start).collect::<io::Result<Vec<_>>>();
    let started = started.context("cannot start a thread")?;
    let joined = started.into_iter().map(thread::JoinHandle::join);
    Ok(joined.map(unless_panicked).collect())
}

/// Runs each job on a fibre of its own.
fn on_fibres<J>(cluster: &Cluster, jobs: impl Iterator<Item = J>) -> Result<Vec<Result<()>>>
where
    J: FnOnce() -> Result<()> + Send + 'static,
{
    let start = |job: J| Builder::new().stack_size(STACK).spawn_in(cluster, job);
    let started = jobs.map(start).collect::<io::Result<Vec<_>>>();
    let started = started.context("cannot start a fibre")?;
    let joined = started.into_iter().map(fibre::JoinHandle::join);
    Ok(joined.map(unless_panicked).collect())
}

/// What a job has returned; a panic is an error.
fn unless_panicked(joined: thread::Result<Result<()>>) -> Result<()> {
    joined.unwrap_or_else(|_| Err(anyhow!("a client has panicked")))
}
