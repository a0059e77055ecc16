//! `watch` and `broadcast` with tasks, and `shared` with tokio's read-write lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::ensure;
use crossbeam_utils::CachePadded;
use tokio::sync::{RwLock, Semaphore, broadcast, watch};

use super::{Choice, run};
use crate::measure::{Sample, Stopwatch};
use crate::peer::calibrate::calibrate;
use crate::peer::workloads::contend::{self, Contender, Contest};
use crate::peer::workloads::fanout::{Fanout, ROOM};
use crate::peer::workloads::shared::Shares;

/// A number that some change and all follow.
pub(super) fn watched<C: Choice>(asked: Fanout) -> anyhow::Result<Sample> {
    let runtime = C::start(asked.processors)?;
    calibrate(asked.seconds, asked.senders, |operations| {
        run(&runtime, follow(asked, operations.div_ceil(asked.senders)))
    })
}

/// A round of so many changes by each sender.
async fn follow(asked: Fanout, changes: u64) -> anyhow::Result<Sample> {
    let (sender, receiver) = watch::channel(0);
    let follow = |_| {
        let mut receiver = receiver.clone();
        tokio::spawn(async move {
            while receiver.changed().await.is_ok() {
                drop(receiver.borrow_and_update());
            }
            let last: u64 = *receiver.borrow();
            last
        })
    };
    let followers: Vec<_> = (0..asked.followers).map(follow).collect();
    let sender = Arc::new(sender);
    let change = |_| {
        let sender = Arc::clone(&sender);
        tokio::spawn(async move {
            for _ in 0..changes {
                sender.send_modify(|number| *number += 1);
                tokio::task::yield_now().await;
            }
        })
    };
    let watch = Stopwatch::start()?;
    let senders: Vec<_> = (0..asked.senders).map(change).collect();
    for sender in senders {
        sender.await?;
    }
    drop(sender);
    for follower in followers {
        ensure!(
            follower.await? == changes * asked.senders,
            "a change is lost"
        );
    }
    Ok(watch.stop(changes * asked.senders)?)
}

/// Values that all receive.
pub(super) fn broadcasts<C: Choice>(asked: Fanout) -> anyhow::Result<Sample> {
    let runtime = C::start(asked.processors)?;
    let burst = ROOM * asked.followers;
    calibrate(asked.seconds, burst, |operations| {
        run(&runtime, receive(asked, operations.div_ceil(burst)))
    })
}

/// A round of so many bursts.
async fn receive(asked: Fanout, bursts: u64) -> anyhow::Result<Sample> {
    let (sender, _receiver) = broadcast::channel(ROOM as usize);
    let shared = Arc::new((AtomicU64::new(0), Semaphore::new(0)));
    let follow = |_| {
        let (mut receiver, shared) = (sender.subscribe(), Arc::clone(&shared));
        tokio::spawn(async move {
            // Also ends at a value that was missed; then the burst does not end well.
            while let Ok(value) = receiver.recv().await {
                if value % ROOM == ROOM - 1 && shared.0.fetch_sub(1, Ordering::AcqRel) == 1 {
                    shared.1.add_permits(1);
                }
            }
        })
    };
    let followers: Vec<_> = (0..asked.followers).map(follow).collect();
    let watch = Stopwatch::start()?;
    for _ in 0..bursts {
        shared.0.store(asked.followers, Ordering::Release);
        for value in 0..ROOM {
            sender.send(value)?;
        }
        shared.1.acquire().await?.forget();
    }
    let sample = watch.stop(bursts * ROOM * asked.followers)?;
    drop(sender);
    for follower in followers {
        follower.await?;
    }
    Ok(sample)
}

/// The contest for read-write locks.
pub(super) fn shares<C: Choice>(asked: Shares) -> anyhow::Result<Sample> {
    run(&C::start(asked.contest.processors)?, async move {
        let contest = Contest::new(asked.contest);
        let locks: Arc<[_]> = (0..asked.contest.locks)
            .map(|_| CachePadded::new(RwLock::new(())))
            .collect();
        let start = |index| {
            let (contender, locks) = (contest.contender(index), Arc::clone(&locks));
            tokio::spawn(contend_task(contender, locks, asked.writes))
        };
        let joins: Vec<_> = (0..asked.contest.threads).map(start).collect();
        let referee = contest.begin()?;
        for join in joins {
            join.await?;
        }
        contend::outcome(referee)
    })
}

/// The life of a contender.
async fn contend_task(
    mut contender: Contender,
    locks: Arc<[CachePadded<RwLock<()>>]>,
    writes: u64,
) {
    while contender.goes_on() {
        contender.work_free();
        let lock = contender.choose(&locks);
        if contender.draws(writes) {
            let held = lock.write().await;
            contender.work_held();
            drop(held);
        } else {
            let held = lock.read().await;
            contender.work_held();
            drop(held);
        }
        contender.count();
    }
}
