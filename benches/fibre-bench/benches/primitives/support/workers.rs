//! What runs the loops: fibres of a cluster made for the benchmark, or threads pinned to as
//! many cores as the fibres have processors.
//!
//! Pinning makes the comparison fair in both directions. On one core threads have to be
//! switched as fibres have to; and on a large machine they do not get more cores.

use super::must::must;
use fibre::Cluster;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;
use std::panic::resume_unwind;
use std::thread;

/// One kind of worker, and what it runs on.
pub(crate) enum Workers {
    /// Fibres of this cluster.
    Fibres(Cluster),
    /// Threads, all pinned to the first so many cores.
    Threads(usize),
}

impl Workers {
    /// Fibres of a new cluster.
    pub(crate) fn fibres(processors: usize) -> io::Result<Self> {
        Cluster::builder()
            .processors(processors)
            .build()
            .map(Self::Fibres)
    }

    /// How many kernel threads can run at once.
    pub(crate) fn processors(&self) -> usize {
        match self {
            Self::Fibres(cluster) => cluster.processors(),
            Self::Threads(cores) => *cores,
        }
    }

    /// Whether a worker of `self` and one of `other` have to take turns on one core.
    pub(crate) fn take_turns_with(&self, other: &Self) -> bool {
        let alike = matches!(
            (self, other),
            (Self::Fibres(_), Self::Fibres(_)) | (Self::Threads(_), Self::Threads(_))
        );
        alike && self.processors() == 1
    }

    /// Starts a worker.
    pub(crate) fn start<T: Send + 'static>(
        &self,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Running<T> {
        match self {
            Self::Fibres(cluster) => Running::Fibre(cluster.spawn(body)),
            Self::Threads(cores) => {
                let cores = *cores;
                Running::Thread(thread::spawn(move || {
                    must(pin(cores));
                    body()
                }))
            }
        }
    }

    /// Runs one worker to its end.
    pub(crate) fn run<T: Send + 'static>(&self, body: impl FnOnce() -> T + Send + 'static) -> T {
        self.start(body).join()
    }

    /// Ends the cluster, if it is one.
    pub(crate) fn stop(self) {
        if let Self::Fibres(cluster) = self {
            cluster.stop();
        }
    }
}

/// A worker that has been started.
pub(crate) enum Running<T> {
    /// A fibre.
    Fibre(fibre::JoinHandle<T>),
    /// A thread.
    Thread(thread::JoinHandle<T>),
}

impl<T> Running<T> {
    /// Waits for its end; its panic goes on here.
    pub(crate) fn join(self) -> T {
        let result = match self {
            Self::Fibre(handle) => handle.join(),
            Self::Thread(handle) => handle.join(),
        };
        result.unwrap_or_else(|payload| resume_unwind(payload))
    }
}

/// Restricts the calling thread to the first `cores` of the cores it may use.
fn pin(cores: usize) -> io::Result<()> {
    let allowed = sched_getaffinity(None)?;
    let mut first = CpuSet::new();
    for core in (0..CpuSet::MAX_CPU)
        .filter(|core| allowed.is_set(*core))
        .take(cores)
    {
        first.set(core);
    }
    Ok(sched_setaffinity(None, &first)?)
}
