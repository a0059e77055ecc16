//! `mutex` and `contend` with tasks and tokio's own mutex. A waiter of that gives its worker to
//! other tasks.

use std::hint::black_box;
use std::sync::Arc;

use crossbeam_utils::CachePadded;
use tokio::sync::Mutex;

use super::{Choice, run};
use crate::measure::{Sample, Stopwatch};
use crate::peer::calibrate::calibrate;
use crate::peer::workloads::contend::{self, Contender, Contention, Contest};
use crate::peer::workloads::lock::{Alone, Sleeper};

/// Locks and unlocks of one task.
pub(super) fn alone<C: Choice>(asked: Alone) -> anyhow::Result<Sample> {
    let _sleeper = Sleeper::start()?;
    let runtime = C::start(asked.processors)?;
    let lock = Arc::new(Mutex::new(()));
    calibrate(asked.seconds, asked.operations, |operations| {
        let lock = Arc::clone(&lock);
        run(&runtime, async move {
            let lock = black_box(&*lock);
            let watch = Stopwatch::start()?;
            for _ in 0..operations {
                drop(lock.lock().await);
            }
            Ok(watch.stop(operations)?)
        })
    })
}

/// The same of one task that never waits.
pub(super) fn tries<C: Choice>(asked: Alone) -> anyhow::Result<Sample> {
    let _sleeper = Sleeper::start()?;
    let runtime = C::start(asked.processors)?;
    let lock = Arc::new(Mutex::new(()));
    calibrate(asked.seconds, asked.operations, |operations| {
        let lock = Arc::clone(&lock);
        run(&runtime, async move {
            let lock = black_box(&*lock);
            let watch = Stopwatch::start()?;
            for _ in 0..operations {
                drop(lock.try_lock()?);
            }
            Ok(watch.stop(operations)?)
        })
    })
}

/// The contest of tasks.
pub(super) fn tasks<C: Choice>(asked: Contention) -> anyhow::Result<Sample> {
    run(&C::start(asked.processors)?, async move {
        let contest = Contest::new(asked);
        let locks: Arc<[_]> = (0..asked.locks)
            .map(|_| CachePadded::new(Mutex::new(())))
            .collect();
        let start =
            |index| tokio::spawn(contend_task(contest.contender(index), Arc::clone(&locks)));
        let joins: Vec<_> = (0..asked.threads).map(start).collect();
        let referee = contest.begin()?;
        for join in joins {
            join.await?;
        }
        contend::outcome(referee)
    })
}

/// The life of a contender.
async fn contend_task(mut contender: Contender, locks: Arc<[CachePadded<Mutex<()>>]>) {
    while contender.goes_on() {
        contender.work_free();
        let held = contender.choose(&locks).lock().await;
        contender.work_held();
        drop(held);
        contender.count();
    }
}
