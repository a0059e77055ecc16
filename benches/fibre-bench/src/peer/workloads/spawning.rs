//! `spawn`: making a fibre that does nothing, and joining it.
//!
//! One at a time the spawner waits for each before it makes the next, so the
//! same few lines of memory serve them all; in batches all of a batch exist
//! before the first is joined.

use crate::measure::{Sample, Stopwatch};
use crate::peer::blocking::Blocking;
use crate::peer::calibrate::calibrate;
use crate::peer::protocol::{Arguments, Parameters, Refusal};

/// What the workload can be told.
#[derive(Clone, Copy)]
pub(crate) struct Spawns {
    /// Kernel threads for fibres.
    pub(crate) processors: usize,
    /// CPU time of the last round.
    pub(crate) seconds: f64,
    /// Fibres spawned before the first of them is joined.
    pub(crate) batch: u64,
}

impl Parameters for Spawns {
    fn read(arguments: &mut Arguments) -> Result<Self, Refusal> {
        Ok(Self {
            processors: arguments.processors,
            seconds: arguments.seconds(0.1),
            batch: arguments.count("batch", 1)?,
        })
    }
}

impl Spawns {
    /// Operations of the first round: not less than a batch.
    pub(crate) fn fewest(&self) -> u64 {
        self.batch.max(100)
    }

    /// Batches in a round of so many operations.
    pub(crate) fn rounds(&self, operations: u64) -> u64 {
        operations.div_ceil(self.batch)
    }
}

/// Spawns and joins of fibres.
pub(crate) fn blocking<B: Blocking>(asked: Spawns) -> anyhow::Result<Sample> {
    B::enter(asked.processors, move || {
        let mut joins = Vec::with_capacity(asked.batch as usize);
        calibrate(asked.seconds, asked.fewest(), |operations| {
            let rounds = asked.rounds(operations);
            let watch = Stopwatch::start()?;
            for _ in 0..rounds {
                joins.extend((0..asked.batch).map(|_| B::spawn(|| ())));
                joins.drain(..).for_each(B::join);
            }
            Ok(watch.stop(rounds * asked.batch)?)
        })
    })
}
