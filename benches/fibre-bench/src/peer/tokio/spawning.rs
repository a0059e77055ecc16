//! `spawn` with tasks.

use super::{Choice, run};
use crate::measure::{Sample, Stopwatch};
use crate::peer::calibrate::calibrate;
use crate::peer::workloads::spawning::Spawns;

/// Spawns and joins of tasks.
pub(super) fn tasks<C: Choice>(asked: Spawns) -> anyhow::Result<Sample> {
    let runtime = C::start(asked.processors)?;
    calibrate(asked.seconds, asked.fewest(), |operations| {
        run(&runtime, rounds(asked.batch, asked.rounds(operations)))
    })
}

/// So many batches, one after the other.
async fn rounds(batch: u64, rounds: u64) -> anyhow::Result<Sample> {
    let mut joins = Vec::with_capacity(batch as usize);
    let watch = Stopwatch::start()?;
    for _ in 0..rounds {
        joins.extend((0..batch).map(|_| tokio::spawn(async {})));
        for join in joins.drain(..) {
            join.await?;
        }
    }
    Ok(watch.stop(rounds * batch)?)
}
