//! `blocked` with tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::ensure;
use tokio::sync::Semaphore;

use super::{Choice, run};
use crate::measure::{Sample, Stopwatch};
use crate::peer::memory;
use crate::peer::workloads::blocked::{Multitude, Occupied, cheapest};

/// What the tasks share.
struct Shared {
    /// How many have not announced themselves.
    missing: AtomicU64,
    /// Gets a permit when all have.
    complete: Semaphore,
    /// What they block on.
    gate: Semaphore,
}

/// The life of tasks that block once.
pub(super) fn tasks<C: Choice>(asked: Multitude) -> anyhow::Result<Sample> {
    ensure!(asked.stack.is_none(), "a task has no stack");
    let runtime = C::start(asked.processors)?;
    cheapest(asked.passes, || run(&runtime, block_all(asked.fibres)))
}

/// Creates so many, looks at the memory, and wakes them.
async fn block_all(fibres: u64) -> anyhow::Result<Sample> {
    let shared = Arc::new(Shared {
        missing: AtomicU64::new(fibres),
        complete: Semaphore::new(0),
        gate: Semaphore::new(0),
    });
    let mut joins = Vec::with_capacity(fibres as usize);
    let before = memory::resident()?;

    let watch = Stopwatch::start()?;
    joins.extend((0..fibres).map(|_| tokio::spawn(block(Arc::clone(&shared)))));
    shared.complete.acquire().await?.forget();
    let created = watch.stop(fibres)?;

    let occupied = Occupied::since(before)?;

    let watch = Stopwatch::start()?;
    (0..fibres).for_each(|_| shared.gate.add_permits(1));
    for join in joins {
        join.await??;
    }
    let ended = watch.stop(fibres)?;
    Ok(occupied.evaluate(&created, &ended))
}

/// The life of a task.
async fn block(shared: Arc<Shared>) -> anyhow::Result<()> {
    if shared.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
        shared.complete.add_permits(1);
    }
    shared.gate.acquire().await?.forget();
    Ok(())
}
