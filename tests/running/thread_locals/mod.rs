//! Clusters with fibres that have thread-locals of their own: to the language, to std and to the C
//! library they are threads.
//!
//! Unless a test says otherwise, it runs on one, two and four processors, once with moves as they
//! come and once with a move at every turn.
//!
//! * `values`: `thread_local!` values and their destructors;
//! * `std_library`: what std keeps for a thread;
//! * `c_library`: `errno`, keys, mutexes with owners, signals, children;
//! * `stuck`: fibres that keep their processors;
//! * `turns`: which fibre comes next;
//! * `blocks`: how blocks are made, renewed and kept; other kinds of clusters beside these.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod blocks;
mod c_library;
mod std_library;
mod stuck;
mod turns;
mod values;

use crate::support;

use fibre::{Cluster, ClusterBuilder};
use std::sync::Arc;

/// A builder of such clusters.
fn builder() -> ClusterBuilder {
    // SAFETY: the fibres of these tests tie no memory to a kernel thread by a system call.
    unsafe { Cluster::builder().own_thread_locals() }
}

/// A builder of such clusters with a move at every turn.
fn moving() -> ClusterBuilder {
    // SAFETY: as in `builder`.
    unsafe { builder().force_migration() }
}

/// Runs `body` as a fibre of each of the clusters that the module text names.
fn for_each_kind(body: impl Fn(&Cluster) + Send + Sync + 'static) {
    let body = Arc::new(body);
    for processors in support::processor_counts() {
        for builder in [builder(), moving()] {
            let cluster = builder.processors(processors).build().unwrap();
            support::run_in(cluster, Arc::clone(&body));
        }
    }
}

/// Runs `body` in so many fibres at once, in each of these clusters.
fn for_crowds(count: usize, body: impl Fn(usize) + Send + Sync + 'static) {
    let body = Arc::new(body);
    for_each_kind(move |_| crowd(count, &body));
}

/// Spawns fibres and joins them.
fn crowd(count: usize, body: &Arc<impl Fn(usize) + Send + Sync + 'static>) {
    let fibres: Vec<_> = (0..count)
        .map(|number| {
            let body = Arc::clone(body);
            fibre::spawn(move || body(number))
        })
        .collect();
    fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
}
