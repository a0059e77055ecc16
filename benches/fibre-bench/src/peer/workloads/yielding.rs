//! `yield`: giving the processor to the next in line and getting it back.
//!
//! All fibres have started and wait at a gate before the clock starts, so the
//! figure holds switches alone: neither first runs nor stacks touched for the
//! first time. They wait by blocking: one that waited by yielding would keep
//! `may` from ever running the others.

use std::sync::Arc;

use crate::measure::{Sample, Stopwatch};
use crate::peer::blocking::{Blocking, Semaphore as _};
use crate::peer::calibrate::calibrate;
use crate::peer::protocol::{Arguments, Parameters, Refusal};

/// What the workload can be told.
#[derive(Clone, Copy)]
pub(crate) struct Yields {
    /// Kernel threads for fibres.
    pub(crate) processors: usize,
    /// CPU time of the last round.
    pub(crate) seconds: f64,
    /// Fibres that take turns.
    pub(crate) fibres: u64,
}

impl Parameters for Yields {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        Ok(Self {
            processors: arguments.processors,
            seconds: arguments.seconds(0.1),
            fibres: arguments.count("fibres", 2)?,
        })
    }
}

impl Yields {
    /// Operations of the first round.
    pub(crate) fn fewest(&self) -> u64 {
        100 * self.fibres
    }

    /// Yields of each fibre in a round of so many operations.
    pub(crate) fn each(&self, operations: u64) -> u64 {
        operations.div_ceil(self.fibres)
    }
}

/// Yields of fibres.
pub(crate) fn blocking<B: Blocking>(asked: Yields) -> anyhow::Result<Sample> {
    B::enter(asked.processors, move || {
        calibrate(asked.seconds, asked.fewest(), |operations| {
            round::<B>(asked.fibres, asked.each(operations))
        })
    })
}

/// So many fibres which yield `each` times.
fn round<B: Blocking>(fibres: u64, each: u64) -> anyhow::Result<Sample> {
    let started = Arc::new(B::Semaphore::empty());
    let gate = Arc::new(B::Semaphore::empty());
    let start = |_| {
        let (started, gate) = (Arc::clone(&started), Arc::clone(&gate));
        B::spawn(move || {
            started.release();
            gate.acquire();
            (0..each).for_each(|_| B::yield_now());
        })
    };
    let joins: Vec<_> = (0..fibres).map(start).collect();
    (0..fibres).for_each(|_| started.acquire());
    let watch = Stopwatch::start()?;
    (0..fibres).for_each(|_| gate.release());
    joins.into_iter().for_each(B::join);
    Ok(watch.stop(each * fibres)?)
}
