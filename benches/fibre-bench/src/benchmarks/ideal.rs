//! What algorithm 1 could reach at best.
//!
//! An iteration works `free` units outside and `held` units inside a critical
//! section. `P` processors can do no more than `P` iterations in the time of
//! both, and `L` locks no more than `L` in the time of the held part. What a
//! unit costs is measured with each peer's own program, right before.

use crate::peers::{Job, Peer};
use fibre_measure::Cores;

/// Length of the measurement of a unit.
const SECONDS: f64 = 0.02;

/// The parameters that bound the rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shape {
    processors: f64,
    threads: f64,
    locks: f64,
    held: f64,
    free: f64,
}

impl Shape {
    /// The shape of a job of the workload `contend`; `None` for others.
    pub(crate) fn of(job: &Job<'_>) -> Option<Self> {
        if job.workload != "contend" {
            return None;
        }
        let value = |name: &str| {
            job.parameters
                .split_whitespace()
                .find_map(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
        };
        Some(Self {
            processors: job.processors as f64,
            threads: value("threads")?,
            locks: value("locks")?,
            held: value("held")?,
            free: value("free")?,
        })
    }

    /// Wall nanoseconds per iteration, at best.
    pub(crate) fn ideal_ns(&self, unit_ns: f64) -> f64 {
        let at_once = self.processors.min(self.threads);
        let by_processors = (self.held + self.free) / at_once;
        let by_locks = self.held / self.locks;
        by_processors.max(by_locks) * unit_ns
    }
}

/// What a unit of work costs in a peer's program, in nanoseconds.
pub(crate) fn unit_ns(peer: &Peer, cores: &Cores) -> anyhow::Result<f64> {
    let job = Job {
        workload: "work",
        parameters: "units=1000",
        processors: 1,
        seconds: SECONDS,
    };
    Ok(peer.measure(&job, cores)?.cpu_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(parameters: &str, processors: usize) -> Option<Shape> {
        Shape::of(&Job {
            workload: "contend",
            parameters,
            processors,
            seconds: 1.0,
        })
    }

    #[test]
    fn processors_or_locks_are_the_bound() {
        let ideal =
            |parameters, processors| shape(parameters, processors).map(|shape| shape.ideal_ns(2.0));
        assert_eq!(
            ideal("threads=64 locks=1 held=100 free=100", 2),
            Some(200.0)
        );
        assert_eq!(
            ideal("threads=64 locks=1 held=100 free=100", 4),
            Some(200.0)
        );
        assert_eq!(
            ideal("threads=64 locks=64 held=100 free=100", 4),
            Some(100.0)
        );
        assert_eq!(
            ideal("threads=1 locks=64 held=100 free=100", 4),
            Some(400.0)
        );
        assert_eq!(ideal("threads=1 locks=64", 4), None);
    }
}
