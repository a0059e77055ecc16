//! Clusters with thread-locals of their own, and processors that others have to help: what is
//! counted, and told.

use super::alone;
use crate::support::sockets::pair;
use crate::support::{eventually, processor_counts};
use fibre::sync::Semaphore;
use fibre::{Cluster, ClusterBuilder, Counters, Metrics, metrics};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A builder of clusters with this name, and with thread-locals of fibres' own.
fn own(name: &str) -> ClusterBuilder {
    // SAFETY: the fibres of these tests tie no memory to a kernel thread by a system call.
    unsafe { Cluster::builder().name(name).own_thread_locals() }
}

/// What the processors of the cluster with this name have counted.
fn totals(metrics: &Metrics, name: &str) -> Counters {
    let mut clusters = metrics.clusters.iter();
    clusters.find(|it| it.name == name).unwrap().totals()
}

/// Begins so many fibres, waits until all have begun, calls `meanwhile`, and has them end.
fn crowd(cluster: &Cluster, count: usize, meanwhile: impl FnOnce()) {
    let (begun, over) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let fibres: Vec<_> = (0..count)
        .map(|_| {
            let (begun, over) = (Arc::clone(&begun), Arc::clone(&over));
            cluster.spawn(move || {
                begun.release();
                over.acquire();
            })
        })
        .collect();
    (0..count).for_each(|_| begun.acquire());
    meanwhile();
    over.release_many(count);
    fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
}

/// Keeps its processor, again and again: it is chance what others do when it begins.
fn keep(over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let until = Instant::now() + Duration::from_millis(100);
        while !over.load(Ordering::Relaxed) && Instant::now() < until {
            std::hint::spin_loop();
        }
        fibre::sleep(Duration::from_millis(5));
    }
}

/// Blocks that fibres have, blocks for those to come, and blocks that were used again.
#[test]
fn thread_blocks_are_counted() {
    const FIBRES: u64 = 20;
    alone(&[], || {
        assert_eq!(metrics().thread_blocks.born, 0);
        for processors in processor_counts() {
            let name = format!("own{processors}");
            let cluster = own(&name).processors(processors).build().unwrap();
            crowd(&cluster, FIBRES as usize, || {
                let now = metrics();
                let blocks = now.thread_blocks;
                assert_eq!(blocks.in_fibres, FIBRES, "{blocks:?}");
                assert_eq!(blocks.existing() - blocks.free(), FIBRES, "{blocks:?}");
                assert_eq!(totals(&now, &name).blocks_taken, FIBRES);
                let is_own = |it: &fibre::ClusterMetrics| it.own_thread_locals == (it.name == name);
                assert!(now.clusters.iter().all(is_own), "{:?}", now.clusters);
                let words = format!("  thread-locals of their own: {FIBRES} thread blocks taken, ");
                assert!(now.to_string().contains(&words), "{now}");
            });
            eventually(|| metrics().thread_blocks.in_fibres == 0);
            assert!(metrics().thread_blocks.free() > 0);
            eventually(|| {
                crowd(&cluster, FIBRES as usize, || ());
                totals(&metrics(), &name).blocks_renewed > 0
            });
            let taken = totals(&metrics(), &name).blocks_taken;
            assert!(
                taken >= 2 * FIBRES && taken.is_multiple_of(FIBRES),
                "{taken}"
            );
            cluster.stop();
        }
        // What a cluster that is gone has counted is not lost.
        eventually(|| metrics().gone.blocks_taken > 0);
        assert_eq!(metrics().thread_blocks.in_fibres, 0);
    });
}

/// Where stacks are wiped, each block is ended with its fibre.
#[test]
fn ended_thread_blocks_are_counted() {
    alone(&[], || {
        let cluster = own("wiped")
            .processors(2)
            .wipe_stacks(true)
            .build()
            .unwrap();
        let before = metrics().thread_blocks;
        crowd(&cluster, 20, || ());
        eventually(|| metrics().thread_blocks.ended - before.ended == 20);
        let after = metrics().thread_blocks;
        assert_eq!(after.in_fibres, 0);
        assert!(
            after.existing() <= before.existing(),
            "{before:?} {after:?}"
        );
        assert_eq!(totals(&metrics(), "wiped").blocks_taken, 20);
    });
}

/// Fibres, deadlines and events that one fibre keeps its processor from are others' work, and
/// counted at that processor.
#[test]
fn what_others_do_for_a_processor_is_counted() {
    alone(&[], || {
        for processors in processor_counts() {
            let name = format!("kept{processors}");
            let cluster = own(&name).processors(processors).build().unwrap();
            let over = Arc::new(AtomicBool::new(false));
            let mut fibres = Vec::new();
            for _ in 0..20 {
                let over = Arc::clone(&over);
                fibres.push(cluster.spawn(move || {
                    while !over.load(Ordering::Relaxed) {
                        fibre::sleep(Duration::from_micros(500));
                    }
                }));
            }
            let (near, mut far) = pair();
            fibres.push(cluster.spawn(move || assert_eq!(far.read(&mut [0]).unwrap(), 0)));
            // Idle clusters have nobody to help.
            eventually(|| totals(&metrics(), &name).started == 21);
            for _ in 0..processors {
                let over = Arc::clone(&over);
                fibres.push(cluster.spawn(move || keep(&over)));
            }
            eventually(|| {
                let now = totals(&metrics(), &name);
                now.rescued_fibres > 0 && now.rescued_timers > 0 && now.rescue_polls > 0
            });
            let now = metrics();
            let words = "  done for processors that did not switch: ";
            assert!(now.to_string().contains(words), "{now}");
            over.store(true, Ordering::Relaxed);
            drop(near);
            fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
            cluster.stop();
        }
    });
}

/// A cluster that nobody has to help has none of it, nor thread blocks.
#[test]
fn what_has_not_happened_is_not_told() {
    alone(&[("FIBRE_THREAD_LOCALS", "shared")], || {
        let cluster = Cluster::builder().name("plain").build().unwrap();
        cluster.spawn(|| ()).join().unwrap();
        let now = metrics();
        let text = now.to_string();
        for words in ["did not switch", "thread-locals", "thread block"] {
            assert!(!text.contains(words), "{text}");
        }
        assert_eq!(totals(&now, "plain").blocks_taken, 0);
    });
}
