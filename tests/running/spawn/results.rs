//! Results and closures are dropped once, in every order of events.

use crate::support::drops::OnDrop;
use crate::support::{Drops, Latch, eventually, for_each_cluster};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The handle goes while the fibre has yet to end.
#[test]
fn handle_dropped_before_the_end() {
    for_each_cluster(|cluster| {
        let (drops, latch) = (Drops::new(), Latch::new());
        let (captured, result) = (drops.value(), drops.value());
        let waiting = Arc::clone(&latch);
        drop(fibre::spawn(move || {
            let _captured = captured;
            waiting.wait();
            result
        }));
        assert_eq!(drops.count(), 0);
        latch.open();
        eventually(|| cluster.live() == 1);
        assert_eq!(drops.count(), 2);
    });
}

/// The handle goes after the end.
#[test]
fn handle_dropped_after_the_end() {
    for_each_cluster(|_| {
        let drops = Drops::new();
        let result = drops.value();
        let handle = fibre::spawn(move || result);
        eventually(|| handle.is_finished());
        assert_eq!(drops.count(), 0);
        drop(handle);
        assert_eq!(drops.count(), 1);
    });
}

/// The result is taken by a join, and dropped by who took it.
#[test]
fn joined_results_are_the_joiners() {
    for_each_cluster(|_| {
        let drops = Drops::new();
        let result = drops.value();
        let taken = fibre::spawn(move || result).join().unwrap();
        assert_eq!(drops.count(), 0);
        drop(taken);
        assert_eq!(drops.count(), 1);
    });
}

/// The handle goes at the moment of the end, often.
#[test]
fn handle_dropped_at_the_end() {
    for_each_cluster(|cluster| {
        let drops = Drops::new();
        for round in 0..2000 {
            let (captured, result) = (drops.value(), drops.value());
            let handle = fibre::spawn(move || {
                drop(captured);
                result
            });
            for _ in 0..round % 7 {
                fibre::yield_now();
            }
            if round % 3 == 0 {
                let _ = handle.join_within(Instant::now());
            }
        }
        eventually(|| cluster.live() == 1);
        assert_eq!(drops.count(), 4000);
    });
}

/// What a panicking closure owned is dropped, and so is the payload that nobody asks for.
#[test]
fn payloads_of_detached_fibres_are_dropped() {
    for_each_cluster(|cluster| {
        let drops = Drops::new();
        let (captured, payload) = (drops.value(), drops.value());
        drop(fibre::spawn(move || {
            let _captured = captured;
            std::panic::resume_unwind(Box::new(payload));
        }));
        eventually(|| cluster.live() == 1);
        assert_eq!(drops.count(), 2);
    });
}

/// The destructor of a result that nobody asks for may block: it runs on the fibre.
#[test]
fn unwanted_results_may_block_when_dropped() {
    for_each_cluster(|cluster| {
        let done = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&done);
        drop(fibre::spawn(move || {
            OnDrop(move || {
                assert!(fibre::in_fibre());
                fibre::sleep(Duration::from_millis(2));
                fibre::spawn(|| ()).join().unwrap();
                done.store(true, Ordering::SeqCst);
            })
        }));
        eventually(|| cluster.live() == 1);
        assert!(seen.load(Ordering::SeqCst));
    });
}

/// A fibre that ends wakes its joiner only when its captures are gone, so that what they
/// refer to can be taken back.
#[test]
fn captures_are_gone_when_join_returns() {
    for_each_cluster(|_| {
        for _ in 0..500 {
            let shared = Arc::new(5);
            let captured = Arc::clone(&shared);
            let value = fibre::spawn(move || *captured).join().unwrap();
            assert_eq!(Arc::try_unwrap(shared), Ok(value));
        }
    });
}
