//! Large numbers of fibres.

use crate::support::{Latch, eventually, for_clusters, for_each_cluster};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A hundred thousand fibres wait to be started, and each runs once.
#[test]
fn many_that_have_not_started() {
    const COUNT: usize = 100_000;
    for_each_cluster(|cluster| {
        let ran = Arc::new(AtomicUsize::new(0));
        for _ in 0..COUNT {
            let ran = Arc::clone(&ran);
            fibre::spawn(move || ran.fetch_add(1, Ordering::Relaxed));
        }
        eventually(|| cluster.live() == 1);
        assert_eq!(ran.load(Ordering::Relaxed), COUNT);
    });
}

/// Ten thousand fibres are blocked at once, each on a stack of its own.
#[test]
fn many_that_are_blocked() {
    const COUNT: usize = 10_000;
    for_clusters(&[1, 4], |cluster| {
        let latch = Latch::new();
        let blocked = Arc::new(AtomicUsize::new(0));
        let handles: Vec<_> = (0..COUNT)
            .map(|i| {
                let (latch, blocked) = (Arc::clone(&latch), Arc::clone(&blocked));
                fibre::spawn(move || {
                    let local = std::hint::black_box([i; 64]);
                    blocked.fetch_add(1, Ordering::SeqCst);
                    latch.wait();
                    local.iter().sum::<usize>()
                })
            })
            .collect();
        eventually(|| blocked.load(Ordering::SeqCst) == COUNT);
        assert_eq!(cluster.live(), COUNT + 1);
        latch.open();
        for (i, handle) in handles.into_iter().enumerate() {
            assert_eq!(handle.join().unwrap(), i * 64);
        }
    });
}

/// A chain in which each fibre spawns the next and waits for it.
#[test]
fn a_long_chain_of_joins() {
    fn link(left: usize) -> usize {
        if left == 0 {
            return 0;
        }
        fibre::spawn(move || link(left - 1)).join().unwrap() + 1
    }
    for_each_cluster(|_| assert_eq!(link(2000), 2000));
}

/// Spawning and joining one at a time, often.
#[test]
fn one_at_a_time() {
    for_each_cluster(|_| {
        let total: usize = (0..20_000)
            .map(|i| fibre::spawn(move || i & 1).join().unwrap())
            .sum();
        assert_eq!(total, 10_000);
    });
}
