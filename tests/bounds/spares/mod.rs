//! Spare processors: fibres that keep all processors without switching, while others are ready.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::support;

mod ending;
mod growing;
mod meeting;
mod places;
mod serving;
mod stress;
mod whole_process;

use fibre::{Cluster, ClusterBuilder, JoinHandle};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Numbers of processors, and whether started fibres move: what most is tried with.
fn kinds() -> impl Iterator<Item = (usize, bool)> {
    let counts = support::processor_counts();
    counts
        .into_iter()
        .flat_map(|count| [(count, true), (count, false)])
}

/// A cluster of so many processors in which started fibres move, or stay.
fn builder(processors: usize, moves: bool) -> ClusterBuilder {
    let builder = Cluster::builder().processors(processors);
    if moves {
        // SAFETY: the fibres here keep nothing of a kernel thread.
        unsafe { builder.move_started_fibres() }
    } else {
        builder
    }
}

/// Something that fibres count to, and spin for.
#[derive(Clone, Default)]
struct Count(Arc<AtomicUsize>);

impl Count {
    /// Counts one more.
    fn up(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    /// The count.
    fn get(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    /// Spins, without a call of the runtime, until there are so many.
    fn spin_for(&self, goal: usize) {
        while self.get() < goal {
            std::hint::spin_loop();
        }
    }

    /// Waits for so many on a plain thread.
    fn wait_for(&self, goal: usize) {
        support::eventually(|| self.get() >= goal);
    }
}

/// Has so many fibres that have not started spin for each other, and waits for their ends.
fn meet(cluster: &Cluster, fibres: usize) {
    let (come, ended) = (Count::default(), Count::default());
    for _ in 0..fibres {
        let (come, ended) = (come.clone(), ended.clone());
        drop(cluster.spawn(move || {
            come.up();
            come.spin_for(fibres);
            ended.up();
        }));
    }
    ended.wait_for(fibres);
}

/// Has as many fibres as there are processors spin until `count` has been counted to one; all
/// processors are kept then.
fn keep_all(cluster: &Cluster, count: &Count) -> Vec<JoinHandle<()>> {
    let kept = Count::default();
    let keepers: Vec<_> = (0..cluster.processors())
        .map(|_| {
            let (kept, count) = (kept.clone(), count.clone());
            cluster.spawn(move || {
                kept.up();
                count.spin_for(1);
            })
        })
        .collect();
    kept.wait_for(keepers.len());
    keepers
}

/// How many threads of this process are processors of clusters of this name.
fn threads(name: &str) -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    let begins = format!("{name}/");
    names.filter(|task| task.starts_with(&begins)).count()
}
