//! `spawn`: making a fibre that does nothing, and joining it.
//!
//! One at a time the spawner waits for each before it makes the next, so the
//! same few lines of memory serve them all; in batches a thousand exist
//! together before the first is joined.

use super::micro::{self, Case, Family, Subject};
use crate::measure::{Sample, Stopwatch};
use crate::peers::{Blocking, Fibre, May, Thread, corosensei, tokio};
use crate::plan::Benchmark;

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: FAMILY.name,
    about: "CPU time of spawn and join, one at a time and in batches of 1000, on one processor",
    run: |plan, report| micro::run(&FAMILY, plan, report),
};

pub(crate) static FAMILY: Family = Family {
    name: "spawn",
    cases: &[
        Case {
            name: "one at a time",
            operation: "spawn and join",
            to_reach: 46.0,
            fewest: 100,
            subjects: &[
                Subject {
                    name: "fibre",
                    run: |n| blocking::<Fibre>(1, n),
                },
                Subject {
                    name: "may",
                    run: |n| blocking::<May>(1, n),
                },
                Subject {
                    name: "tokio",
                    run: |n| tasks(tokio::Flavour::CurrentThread, 1, n),
                },
                Subject {
                    name: "tokio-worker",
                    run: |n| tasks(tokio::Flavour::OneWorker, 1, n),
                },
                Subject {
                    name: "thread",
                    run: |n| blocking::<Thread>(1, n),
                },
                Subject {
                    name: "corosensei",
                    run: |n| corosensei::create_and_run(1, n),
                },
            ],
        },
        Case {
            name: "batches of 1000",
            operation: "spawn and join",
            to_reach: 53.0,
            fewest: 1000,
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
                    run: |n| corosensei::create_and_run(1000, n),
                },
            ],
        },
    ],
};

/// Spawns and joins `operations` empty fibres, `batch` at a time.
fn blocking<P: Blocking>(batch: u64, operations: u64) -> anyhow::Result<Sample> {
    let rounds = operations.div_ceil(batch);
    P::enter(move || {
        let mut joins = Vec::with_capacity(batch as usize);
        let watch = Stopwatch::start()?;
        for _ in 0..rounds {
            joins.extend((0..batch).map(|_| P::spawn(|| ())));
            joins.drain(..).for_each(P::join);
        }
        Ok(watch.stop(rounds * batch)?)
    })?
}

/// The same with tokio's tasks.
fn tasks(flavour: tokio::Flavour, batch: u64, operations: u64) -> anyhow::Result<Sample> {
    let rounds = operations.div_ceil(batch);
    tokio::enter(flavour, async move {
        let mut joins = Vec::with_capacity(batch as usize);
        let watch = Stopwatch::start()?;
        for _ in 0..rounds {
            joins.extend((0..batch).map(|_| ::tokio::spawn(async {})));
            for join in joins.drain(..) {
                join.await?;
            }
        }
        Ok(watch.stop(rounds * batch)?)
    })
}
