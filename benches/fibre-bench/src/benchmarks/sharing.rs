//! `rwlocks` and `fanout`: what many read and some change.

use super::micro::{Case, Family, Layout, Metric};
use crate::report::{Goal, Read};

/// A contest for read-write locks, in every kind that a peer has; not slower than threads are.
const fn contest(name: &'static str, parameters: &'static str) -> Case {
    let metrics = const {
        &[
            Metric::RATE
                .read_as(Read::Median)
                .goal(Goal::times_of("thread", 1.0)),
            Metric::JAIN,
            Metric::CPU,
        ]
    };
    Case::wall(name, "shared")
        .with_variants()
        .with(parameters)
        .metrics(metrics)
        .sized(0.2, 5)
}

/// A channel that many follow; not dearer than tokio's.
const fn followed(name: &'static str, workload: &'static str, parameters: &'static str) -> Case {
    let metrics = const { &[Metric::WALL.goal(Goal::times_of("tokio", 1.0)), Metric::CPU] };
    Case::wall(name, workload)
        .with(parameters)
        .metrics(metrics)
        .sized(0.1, 5)
}

/// The contest of `locks` for read-write locks.
pub(crate) const RWLOCKS: Family = Family {
    name: "rwlocks",
    about: "Algorithm 1 of the thesis for read-write locks, on two processors: T fibres take one lock, 100 units of work with it \
            and 100 without, and so many percent of the turns write. Throughput in million iterations a second, with Jain's \
            index over the iterations of each fibre. Run it beside a program that computes, too: a lock that is handed over \
            suffers most when a holder's thread loses its CPU.",
    layout: Layout::Subjects,
    cases: &[
        contest("T64, 0 %", "threads=64 writes=0 free=100 held=100"),
        contest("T64, 1 %", "threads=64 writes=1 free=100 held=100"),
        contest("T64, 10 %", "threads=64 writes=10 free=100 held=100"),
        contest("T64, 50 %", "threads=64 writes=50 free=100 held=100"),
        contest("T64, 100 %", "threads=64 writes=100 free=100 held=100"),
        contest("T2, 10 %", "threads=2 writes=10 free=100 held=100"),
        contest("T1000, 10 %", "threads=1000 writes=10 free=100 held=100"),
    ],
};

/// Channels from some to all.
pub(crate) const FANOUT: Family = Family {
    name: "fanout",
    about: "A change of what many follow, on two processors: of the number in a `watch`, by one or by as many as follow it; and a \
            value that a follower of a `broadcast` receives. A follower of the former misses what it is too slow for.",
    layout: Layout::Cases,
    cases: &[
        followed("watch, 1 to 2, a change", "watch", "followers=2"),
        followed("watch, 1 to 500, a change", "watch", "followers=500"),
        followed(
            "watch, 500 to 500, a change",
            "watch",
            "followers=500 senders=500",
        ),
        Case {
            quick: "followers=50",
            ..followed("watch, 1 to 5000, a change", "watch", "followers=5000")
        },
        followed(
            "broadcast to 2, a value for one",
            "broadcast",
            "followers=2",
        ),
        followed(
            "broadcast to 500, a value for one",
            "broadcast",
            "followers=500",
        ),
        Case {
            quick: "followers=50",
            ..followed(
                "broadcast to 5000, a value for one",
                "broadcast",
                "followers=5000",
            )
        },
    ],
};
