//! `wait` with tasks and tokio's own mutex.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;
use tokio::sync::Mutex;
use tokio::{task, time};

use super::{Choice, run};
use crate::measure::Sample;
use crate::peer::workloads::contend::{self, Contender, Contest};
use crate::peer::workloads::wait::{Visits, Waits};

/// What all want.
type Wanted = Arc<CachePadded<Mutex<()>>>;

/// The guest among tasks.
pub(super) fn tasks<C: Choice>(asked: Waits) -> anyhow::Result<Sample> {
    run(&C::start(asked.crowd.processors)?, async move {
        let contest = Contest::new(asked.crowd);
        let lock = Wanted::default();
        let (visited, theirs) = (Arc::clone(&contest), Arc::clone(&lock));
        let guest = tokio::spawn(visit(asked.pause, visited, theirs, Visits::begin()));
        let start = |index| tokio::spawn(barge(asked, contest.contender(index), Arc::clone(&lock)));
        let joins: Vec<_> = (0..asked.crowd.threads).map(start).collect();
        let referee = contest.begin()?;
        for join in joins {
            join.await?;
        }
        let seen = guest.await?;
        seen.evaluate(contend::outcome(referee)?)
    })
}

/// The life of one of the crowd.
async fn barge(asked: Waits, mut contender: Contender, lock: Wanted) {
    for iteration in 1_u64.. {
        if !contender.goes_on() {
            break;
        }
        let held = lock.lock().await;
        contender.work_held();
        if asked.yields_at(iteration) {
            task::yield_now().await;
        }
        drop(held);
        contender.count();
    }
}

/// The life of the guest; returns what it has seen, at least one visit.
async fn visit(pause: Duration, contest: Arc<Contest>, lock: Wanted, mut visits: Visits) -> Visits {
    loop {
        time::sleep(pause).await;
        let asked = Instant::now();
        let held = lock.lock().await;
        visits.acquired(asked);
        drop(held);
        if !contest.goes_on() {
            return visits;
        }
    }
}
