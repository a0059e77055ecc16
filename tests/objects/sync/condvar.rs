//! The condition variable.

use super::crowd;
use crate::support::{
    Latch, eventually, for_clusters, for_each_cluster, let_others_block, spawn_in_turn,
};
use fibre::sync::lock::Exchange;
use fibre::sync::{Condvar, Mutex, Semaphore};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// One notification wakes one, in the order of waiting; a broadcast wakes the rest.
#[test]
fn notifications_are_counted() {
    for_clusters(&[1], |_| {
        let shared = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
        let handles: Vec<_> = (0..10)
            .map(|i| {
                let shared = Arc::clone(&shared);
                spawn_in_turn(move || {
                    let mut woken = shared.0.lock();
                    shared.1.wait(&mut woken);
                    woken.push(i);
                })
            })
            .collect();
        for count in 1..=3 {
            shared.1.notify_one();
            let_others_block();
            assert_eq!(*shared.0.lock(), (0..count).collect::<Vec<_>>());
        }
        shared.1.notify_all();
        handles
            .into_iter()
            .for_each(|handle| handle.join().unwrap());
        assert_eq!(shared.0.lock().len(), 10);
        shared.1.notify_one();
        shared.1.notify_all();
    });
}

/// A wait with a deadline says which of the two came, and has the mutex again in both cases.
#[test]
fn condvar_deadlines() {
    for_each_cluster(|_| {
        let shared = Arc::new((Mutex::new(0), Condvar::new()));
        let mut value = shared.0.lock();
        let deadline = Instant::now() + Duration::from_millis(2);
        while shared.1.wait_within(&mut value, deadline).is_ok() {}
        assert!(Instant::now() >= deadline);
        let other = Arc::clone(&shared);
        let notifier = fibre::spawn(move || {
            *other.0.lock() = 1;
            other.1.notify_one();
        });
        let late = Instant::now() + Duration::from_secs(30);
        while *value == 0 {
            assert!(shared.1.wait_within(&mut value, late).is_ok());
        }
        *value = 2;
        drop(value);
        notifier.join().unwrap();
        assert_eq!(*shared.0.lock(), 2);
    });
}

/// A notification is not spent on a waiter whose deadline has already won.
#[test]
fn notifications_survive_deadlines() {
    for_each_cluster(|_| {
        let shared = Arc::new((Mutex::new(0_usize), Condvar::new(), AtomicUsize::new(0)));
        let inside = Arc::clone(&shared);
        // Every second one gives up quickly; each token wakes somebody who takes it.
        crowd(10, 2, move |me| {
            let (tokens, changed, taken) = &*inside;
            if me == 0 {
                for _ in 0..1000 {
                    *tokens.lock() += 1;
                    changed.notify_one();
                    fibre::yield_now();
                }
                return;
            }
            let mut left = tokens.lock();
            while taken.load(Ordering::SeqCst) < 1000 {
                if *left > 0 {
                    *left -= 1;
                    if taken.fetch_add(1, Ordering::SeqCst) + 1 == 1000 {
                        changed.notify_all();
                    }
                } else if me % 2 == 0 {
                    changed.wait(&mut left);
                } else {
                    let soon = Instant::now() + Duration::from_micros(20);
                    let _ = changed.wait_within(&mut left, soon);
                }
            }
        });
        assert_eq!(*shared.0.lock(), 0);
    });
}

/// What stands in a bounded buffer, and two conditions on it.
#[derive(Default)]
struct Buffer {
    items: Mutex<VecDeque<usize>>,
    not_full: Condvar,
    not_empty: Condvar,
}

/// Producers and consumers over a bounded buffer, fibres and threads on both sides.
#[test]
fn bounded_buffer() {
    for_each_cluster(|_| {
        let buffer = Arc::new(Buffer::default());
        let sum = Arc::new(AtomicUsize::new(0));
        let (shared, total) = (Arc::clone(&buffer), Arc::clone(&sum));
        crowd(8, 4, move |me| {
            for i in 0..500 {
                let mut items = shared.items.lock();
                if me % 2 == 0 {
                    shared
                        .not_full
                        .wait_while(&mut items, |items| items.len() == 4);
                    items.push_back(i);
                    shared.not_empty.notify_one();
                } else {
                    shared
                        .not_empty
                        .wait_while(&mut items, |items| items.is_empty());
                    total.fetch_add(items.pop_front().unwrap(), Ordering::SeqCst);
                    shared.not_full.notify_one();
                }
            }
        });
        assert!(buffer.items.lock().is_empty());
        assert_eq!(sum.load(Ordering::SeqCst), 6 * 499 * 250);
    });
}

/// Objects may go away as soon as their last user has let them go.
#[test]
fn objects_die_right_after_use() {
    for_each_cluster(|_| {
        for _ in 0..300 {
            let shared = Arc::new((Mutex::new(false), Condvar::new(), Semaphore::new(0)));
            let other = Arc::clone(&shared);
            let latch = Latch::new();
            let opened = Arc::clone(&latch);
            fibre::spawn(move || {
                *other.0.lock() = true;
                other.1.notify_all();
                other.2.release();
                drop(other);
                opened.open();
            });
            shared.2.acquire();
            let mut set = shared.0.lock();
            shared.1.wait_while(&mut set, |set| !*set);
            drop(set);
            eventually(|| Arc::strong_count(&shared) == 1);
            drop(shared);
            latch.wait();
        }
    });
}

/// A waiter can be notified as soon as it unlocks: so it must not let others run before it has left
/// its stack for good, even if its mutex hands the processor over.
#[test]
fn a_mutex_that_hands_the_processor_over_lets_one_wait_first() {
    /// Fibres that take turns.
    const FIBRES: usize = 8;
    for_each_cluster(|_| {
        let shared = Arc::new((Mutex::<usize, Exchange>::with_lock(0), Condvar::new()));
        let handles: Vec<_> = (0..FIBRES)
            .map(|me| {
                let shared = Arc::clone(&shared);
                fibre::spawn(move || {
                    for _ in 0..200 {
                        let mut turn = shared.0.lock();
                        shared.1.wait_while(&mut turn, |turn| *turn % FIBRES != me);
                        *turn += 1;
                        shared.1.notify_all();
                        fibre::yield_now();
                    }
                })
            })
            .collect();
        handles
            .into_iter()
            .for_each(|handle| handle.join().unwrap());
        assert_eq!(*shared.0.lock(), 200 * FIBRES);
    });
}
