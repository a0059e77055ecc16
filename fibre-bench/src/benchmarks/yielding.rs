//! `yield`: giving the processor to the next in line and getting it back.
//!
//! All fibres have started and wait at a gate before the clock starts, so the
//! figure holds switches alone: neither first runs nor stacks touched for the
//! first time. They wait by blocking: one that waited by yielding would keep
//! `may` from ever running the others.

use std::sync::Arc;

use ::tokio::sync::Semaphore;

use super::micro::{self, Case, Family, Subject};
use crate::measure::{Sample, Stopwatch};
use crate::peers::{Blocking, Fibre, May, Semaphore as _, Thread, corosensei, tokio};
use crate::plan::Benchmark;

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: FAMILY.name,
    about: "CPU time of a yield between 2 and between 1000 fibres of one processor",
    run: |plan, report| micro::run(&FAMILY, plan, report),
};

pub(crate) static FAMILY: Family = Family {
    name: "yield",
    cases: &[
        Case {
            name: "2 fibres",
            operation: "yield",
            to_reach: 15.0,
            fewest: 10_000,
            subjects: &[
                Subject {
                    name: "fibre",
                    run: |n| blocking::<Fibre>(2, n),
                },
                Subject {
                    name: "may",
                    run: |n| blocking::<May>(2, n),
                },
                Subject {
                    name: "tokio",
                    run: |n| tasks(tokio::Flavour::CurrentThread, 2, n),
                },
                Subject {
                    name: "tokio-worker",
                    run: |n| tasks(tokio::Flavour::OneWorker, 2, n),
                },
                Subject {
                    name: "thread",
                    run: |n| blocking::<Thread>(2, n),
                },
                Subject {
                    name: "corosensei",
                    run: |n| corosensei::leave_and_return(2, n),
                },
            ],
        },
        Case {
            name: "1000 fibres",
            operation: "yield",
            to_reach: 16.0,
            fewest: 50_000,
            subjects: &[
                Subject {
                    name: "fibre",
                    run: |n| blocking::<Fibre>(1000, n),
                },
                Subject {
                    name: "may",
                    run: |n| blocking::<May>(1000, n),
                },
                Subject {
                    name: "tokio",
                    run: |n| tasks(tokio::Flavour::CurrentThread, 1000, n),
                },
                Subject {
                    name: "tokio-worker",
                    run: |n| tasks(tokio::Flavour::OneWorker, 1000, n),
                },
                Subject {
                    name: "thread",
                    run: |n| blocking::<Thread>(1000, n),
                },
                Subject {
                    name: "corosensei",
                    run: |n| corosensei::leave_and_return(1000, n),
                },
            ],
        },
    ],
};

/// `fibres` fibres which yield `operations` times in all.
fn blocking<P: Blocking>(fibres: u64, operations: u64) -> anyhow::Result<Sample> {
    let each = operations / fibres;
    P::enter(move || {
        let started = Arc::new(P::Semaphore::empty());
        let gate = Arc::new(P::Semaphore::empty());
        let start = |_| {
            let (started, gate) = (Arc::clone(&started), Arc::clone(&gate));
            P::spawn(move || {
                started.release();
                gate.acquire();
                (0..each).for_each(|_| P::yield_now());
            })
        };
        let joins: Vec<_> = (0..fibres).map(start).collect();
        (0..fibres).for_each(|_| started.acquire());
        let watch = Stopwatch::start()?;
        (0..fibres).for_each(|_| gate.release());
        joins.into_iter().for_each(P::join);
        Ok(watch.stop(each * fibres)?)
    })?
}

/// The same with tokio's tasks.
fn tasks(flavour: tokio::Flavour, fibres: u32, operations: u64) -> anyhow::Result<Sample> {
    let each = operations / u64::from(fibres);
    tokio::enter(flavour, async move {
        let started = Arc::new(Semaphore::new(0));
        let gate = Arc::new(Semaphore::new(0));
        let start = |_| {
            let (started, gate) = (Arc::clone(&started), Arc::clone(&gate));
            ::tokio::spawn(async move {
                started.add_permits(1);
                gate.acquire().await?.forget();
                for _ in 0..each {
                    ::tokio::task::yield_now().await;
                }
                anyhow::Ok(())
            })
        };
        let joins: Vec<_> = (0..fibres).map(start).collect();
        started.acquire_many(fibres).await?.forget();
        let watch = Stopwatch::start()?;
        gate.add_permits(fibres as usize);
        for join in joins {
            join.await??;
        }
        Ok(watch.stop(each * u64::from(fibres))?)
    })
}
