//! `yield` with tasks.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task;

use super::{Choice, run};
use crate::measure::{Sample, Stopwatch};
use crate::peer::calibrate::calibrate;
use crate::peer::workloads::yielding::Yields;

/// Yields of tasks.
pub(super) fn tasks<C: Choice>(asked: Yields) -> anyhow::Result<Sample> {
    let runtime = C::start(asked.processors)?;
    calibrate(asked.seconds, asked.fewest(), |operations| {
        run(&runtime, round(asked.fibres, asked.each(operations)))
    })
}

/// So many tasks which yield `each` times.
async fn round(fibres: u64, each: u64) -> anyhow::Result<Sample> {
    let started = Arc::new(Semaphore::new(0));
    let gate = Arc::new(Semaphore::new(0));
    let start = |_| {
        let (started, gate) = (Arc::clone(&started), Arc::clone(&gate));
        tokio::spawn(async move {
            started.add_permits(1);
            gate.acquire().await?.forget();
            for _ in 0..each {
                task::yield_now().await;
            }
            anyhow::Ok(())
        })
    };
    let joins: Vec<_> = (0..fibres).map(start).collect();
    for _ in 0..fibres {
        started.acquire().await?.forget();
    }
    let watch = Stopwatch::start()?;
    (0..fibres).for_each(|_| gate.add_permits(1));
    for join in joins {
        join.await??;
    }
    Ok(watch.stop(each * fibres)?)
}
