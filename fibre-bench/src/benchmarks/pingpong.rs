//! `pingpong`: two fibres of one processor which wake each other in turn.
//!
//! With semaphores each release hands one permit over. With a mutex and a
//! condition variable the two take turns on a flag, as a program would. One
//! operation is a round trip: two wakes, two blocks.

use std::sync::Arc;

use super::micro::{self, Case, Family, Subject};
use crate::measure::{Sample, Stopwatch};
use crate::peers::{Blocking, Fibre, May, Semaphore, Thread, Turns, tokio};
use crate::plan::Benchmark;

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: FAMILY.name,
    about: "CPU time of a round trip between two fibres of one processor",
    run: |plan, report| micro::run(&FAMILY, plan, report),
};

pub(crate) static FAMILY: Family = Family {
    name: "pingpong",
    cases: &[
        Case {
            name: "semaphore",
            operation: "round trip",
            to_reach: 90.0,
            fewest: 1000,
            subjects: &[
                Subject {
                    name: "fibre",
                    run: semaphores::<Fibre>,
                },
                Subject {
                    name: "may",
                    run: semaphores::<May>,
                },
                Subject {
                    name: "tokio",
                    run: |n| permits(tokio::Flavour::CurrentThread, n),
                },
                Subject {
                    name: "tokio-worker",
                    run: |n| permits(tokio::Flavour::OneWorker, n),
                },
                Subject {
                    name: "thread",
                    run: semaphores::<Thread>,
                },
            ],
        },
        Case {
            name: "mutex and condvar",
            operation: "round trip",
            to_reach: 90.0,
            fewest: 1000,
            subjects: &[
                Subject {
                    name: "fibre",
                    run: turns::<Fibre>,
                },
                Subject {
                    name: "may",
                    run: turns::<May>,
                },
                Subject {
                    name: "tokio",
                    run: |n| notified(tokio::Flavour::CurrentThread, n),
                },
                Subject {
                    name: "tokio-worker",
                    run: |n| notified(tokio::Flavour::OneWorker, n),
                },
                Subject {
                    name: "thread",
                    run: turns::<Thread>,
                },
            ],
        },
    ],
};

/// Round trips over two semaphores.
fn semaphores<P: Blocking>(operations: u64) -> anyhow::Result<Sample> {
    P::enter(move || {
        let pair = Arc::new((P::Semaphore::empty(), P::Semaphore::empty()));
        let partner = Arc::clone(&pair);
        let join = P::spawn(move || {
            for _ in 0..=operations {
                partner.0.acquire();
                partner.1.release();
            }
        });
        let round_trip = || {
            pair.0.release();
            pair.1.acquire();
        };
        round_trip(); // the partner has started
        let watch = Stopwatch::start()?;
        (0..operations).for_each(|_| round_trip());
        let sample = watch.stop(operations)?;
        P::join(join);
        Ok(sample)
    })?
}

/// Round trips over a mutex and a condition variable.
fn turns<P: Blocking>(operations: u64) -> anyhow::Result<Sample> {
    P::enter(move || {
        let turns = Arc::new(P::Turns::first());
        let partner = Arc::clone(&turns);
        let join = P::spawn(move || (0..=operations).for_each(|_| partner.take(true)));
        turns.take(false); // the partner has started after the second turn
        turns.take(false);
        let watch = Stopwatch::start()?;
        (1..operations).for_each(|_| turns.take(false));
        let sample = watch.stop(operations - 1)?;
        P::join(join);
        Ok(sample)
    })?
}

/// Round trips over two of tokio's semaphores.
fn permits(flavour: tokio::Flavour, operations: u64) -> anyhow::Result<Sample> {
    use ::tokio::sync::Semaphore;
    tokio::enter(flavour, async move {
        let pair = Arc::new((Semaphore::new(0), Semaphore::new(0)));
        let partner = Arc::clone(&pair);
        let join = ::tokio::spawn(async move {
            for _ in 0..=operations {
                partner.0.acquire().await?.forget();
                partner.1.add_permits(1);
            }
            anyhow::Ok(())
        });
        let round_trip = async || {
            pair.0.add_permits(1);
            pair.1.acquire().await.map(|permit| permit.forget())
        };
        round_trip().await?; // the partner has started
        let watch = Stopwatch::start()?;
        for _ in 0..operations {
            round_trip().await?;
        }
        let sample = watch.stop(operations)?;
        join.await??;
        Ok(sample)
    })
}

/// Round trips over tokio's mutex and `Notify`, which stands for the condition
/// variable tokio has not.
fn notified(flavour: tokio::Flavour, operations: u64) -> anyhow::Result<Sample> {
    tokio::enter(flavour, async move {
        let turns = Arc::new(tokio::Turns::default());
        let partner = Arc::clone(&turns);
        let join = ::tokio::spawn(async move {
            for _ in 0..=operations {
                partner.take(true).await;
            }
        });
        turns.take(false).await; // the partner has started after the second turn
        turns.take(false).await;
        let watch = Stopwatch::start()?;
        for _ in 1..operations {
            turns.take(false).await;
        }
        let sample = watch.stop(operations - 1)?;
        join.await?;
        Ok(sample)
    })
}
