//! `sleep` with a task.

use std::time::Instant;

use tokio::time;

use super::{Choice, run};
use crate::measure::{Sample, Stopwatch};
use crate::peer::workloads::sleep::{Sleeps, evaluate};

/// Sleeps of one task.
pub(super) fn task<C: Choice>(sleeps: Sleeps) -> anyhow::Result<Sample> {
    run(&C::start(sleeps.processors)?, async move {
        let mut late = Vec::with_capacity(sleeps.count as usize);
        let watch = Stopwatch::start()?;
        for _ in 0..sleeps.count {
            let before = Instant::now();
            time::sleep(sleeps.asked).await;
            late.push(before.elapsed().saturating_sub(sleeps.asked));
        }
        evaluate(watch.stop(sleeps.count)?, late)
    })
}
