//! `watch` and `broadcast` with fibres.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::fibre::channel;
use ::fibre::sync::Semaphore;
use anyhow::ensure;

use super::Fibre;
use crate::measure::{Sample, Stopwatch};
use crate::peer::blocking::Blocking as _;
use crate::peer::calibrate::calibrate;
use crate::peer::workloads::fanout::{Fanout, ROOM};

/// A number that some change and all follow.
pub(super) fn watch(asked: Fanout) -> anyhow::Result<Sample> {
    Fibre::enter(asked.processors, move || {
        calibrate(asked.seconds, asked.senders, |operations| {
            let changes = operations.div_ceil(asked.senders);
            let (sender, receiver) = channel::watch(0);
            let follow = |_| {
                let mut receiver = receiver.clone();
                ::fibre::spawn(move || {
                    while receiver.changed().is_ok() {
                        drop(receiver.read_and_update());
                    }
                    receiver.get()
                })
            };
            let followers: Vec<_> = (0..asked.followers).map(follow).collect();
            let change = |_| {
                let sender = sender.clone();
                ::fibre::spawn(move || {
                    for _ in 0..changes {
                        sender.modify(|number| {
                            *number += 1;
                            true
                        });
                        ::fibre::yield_now();
                    }
                })
            };
            let watch = Stopwatch::start()?;
            let senders: Vec<_> = (0..asked.senders).map(change).collect();
            senders.into_iter().for_each(Fibre::join);
            drop(sender);
            for follower in followers {
                ensure!(
                    Fibre::join(follower) == changes * asked.senders,
                    "a change is lost"
                );
            }
            Ok(watch.stop(changes * asked.senders)?)
        })
    })
}

/// Values that all receive.
pub(super) fn broadcast(asked: Fanout) -> anyhow::Result<Sample> {
    Fibre::enter(asked.processors, move || {
        let burst = ROOM * asked.followers;
        calibrate(asked.seconds, burst, |operations| {
            let bursts = operations.div_ceil(burst);
            let (sender, receiver) = channel::broadcast(ROOM as usize);
            let shared = Arc::new((AtomicU64::new(0), Semaphore::new(0)));
            let follow = |_| {
                let (mut receiver, shared) = (receiver.clone(), Arc::clone(&shared));
                ::fibre::spawn(move || {
                    let mut missed = 0;
                    while let Ok(received) = receiver.recv() {
                        missed += received.missed;
                        let last = received.value % ROOM == ROOM - 1;
                        if last && shared.0.fetch_sub(1, Ordering::AcqRel) == 1 {
                            shared.1.release();
                        }
                    }
                    missed
                })
            };
            let followers: Vec<_> = (0..asked.followers).map(follow).collect();
            drop(receiver);
            let watch = Stopwatch::start()?;
            for _ in 0..bursts {
                shared.0.store(asked.followers, Ordering::Release);
                for value in 0..ROOM {
                    sender.send(value)?;
                }
                shared.1.acquire();
            }
            let sample = watch.stop(bursts * burst)?;
            drop(sender);
            for follower in followers {
                ensure!(Fibre::join(follower) == 0, "a value was missed");
            }
            Ok(sample)
        })
    })
}
