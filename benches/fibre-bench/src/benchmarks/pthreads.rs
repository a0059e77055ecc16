//! `pthreads`: what the functions of the C library cost a C program.
//!
//! The same source (`peers/c/`) compiled for the system's threads and for fibres; beside them what
//! the like costs in Rust.

use super::micro::{Case, Family, Layout, Metric};
use crate::report::Goal;

/// How much more than in Rust a call may cost in C, in nanoseconds.
const MORE: f64 = 10.0;

/// A case on one processor, with a bar where there is a figure of Rust.
const fn one(name: &'static str, workload: &'static str) -> Case {
    let metrics = const {
        &[
            Metric::CPU.goal(Goal::above("fibre, moving", MORE)),
            Metric::WALL,
        ]
    };
    Case::cpu(name, workload)
        .in_c()
        .metrics(metrics)
        .sized(0.05, 7)
}

/// A case on one processor of what there is in C alone.
const fn only(name: &'static str, workload: &'static str) -> Case {
    one(name, workload).metrics(&[Metric::CPU, Metric::WALL])
}

/// A case on two processors.
const fn two(name: &'static str, workload: &'static str) -> Case {
    Case::wall(name, workload)
        .in_c()
        .metrics(&[Metric::WALL, Metric::CPU])
        .sized(0.1, 5)
}

/// The functions of pthreads.
pub(crate) const PTHREADS: Family = Family {
    name: "pthreads",
    about: "A C program of pthread calls, compiled for the system's threads (`c-pthread`) and, by `-include \
            fibre_pthread.h`, for fibres (`c-fibre`). The C library moves started fibres, so a call may cost 10 ns more than the like in Rust in a cluster that \
            does so, too (`fibre, moving`); beside it what that costs where they stay (`fibre`). × ours \
            is how many times more it costs than with `c-fibre`. What is asked for again and again, as a key or the \
            running thread, costs the system's library a load from a thread-local, and ours a call.",
    layout: Layout::Cases,
    cases: &[
        one("create + join", "spawn"),
        one("create + join, batches of 1000", "spawn").with("batch=1000"),
        one("sched_yield, 2 threads", "yield"),
        one("mutex, lock + unlock", "mutex"),
        only("recursive mutex, lock + unlock", "recursive"),
        one("rwlock, rdlock + unlock", "rwlock"),
        only("spin lock, lock + unlock", "spin"),
        one("once, done", "once"),
        one("key, set + get", "key"),
        only("self", "self"),
        one("semaphores, a round trip", "semaphore"),
        one("mutex + condvar, a round trip", "condvar"),
        one("barrier, 2 threads, a wait", "barrier").with("fibres=2"),
        one("barrier, 64 threads, a wait", "barrier").with("fibres=64"),
        two("create + join, batches of 1000", "spawn").with("batch=1000"),
        two("semaphores, a round trip", "semaphore"),
        two("mutex + condvar, a round trip", "condvar"),
        two("barrier, 64 threads, a wait", "barrier").with("fibres=64"),
    ],
};
