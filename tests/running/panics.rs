//! Panics: who gets to know, what goes on, and what may block meanwhile.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use crate::support;

use fibre::sync::{Condvar, Mutex, Semaphore};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::panicking;
use std::time::{Duration, Instant};
use support::drops::OnDrop;
use support::{Drops, Latch, eventually, for_clusters, for_each_cluster, text_of, watched};

/// The payload of a panic comes out of `join`, whatever it is.
#[test]
fn join_delivers_the_payload() {
    for_each_cluster(|_| {
        let payload = fibre::spawn(|| panic!("number {}", 5)).join().unwrap_err();
        assert_eq!(text_of(&*payload), "number 5");
        let payload = fibre::spawn(|| panic_any(17_u64)).join().unwrap_err();
        assert_eq!(*payload.downcast::<u64>().unwrap(), 17);
        let index = std::hint::black_box(3);
        let payload = fibre::spawn(move || [0][index]).join().unwrap_err();
        assert!(text_of(&*payload).contains("out of bounds"));
    });
}

/// A plain thread gets the payload, too, and may go on with it.
#[test]
fn threads_get_the_payload() {
    watched(|| {
        let payload = fibre::spawn(|| panic!("to a thread")).join().unwrap_err();
        let again = catch_unwind(AssertUnwindSafe(|| resume_unwind(payload))).unwrap_err();
        assert_eq!(text_of(&*again), "to a thread");
        assert!(!panicking());
    });
}

/// Processors survive any number of panics, also of fibres that nobody asks for.
#[test]
fn processors_survive() {
    for_each_cluster(|cluster| {
        for round in 0..300 {
            let handle = fibre::spawn(|| resume_unwind(Box::new("quiet")));
            match round % 3 {
                0 => drop(handle),
                1 => drop(handle.join().unwrap_err()),
                _ => {
                    eventually(|| handle.is_finished());
                    drop(handle);
                }
            }
        }
        eventually(|| cluster.live() == 1);
        assert_eq!(fibre::spawn(|| 4).join().unwrap(), 4);
        assert!(!panicking());
    });
}

/// A result whose destructor panics harms nobody, whoever drops it.
#[test]
fn destructors_of_results_may_panic() {
    for_each_cluster(|cluster| {
        let result = || OnDrop(|| panic!("from a destructor"));
        drop(fibre::spawn(result));
        let ended = fibre::spawn(result);
        eventually(|| ended.is_finished());
        drop(ended);
        eventually(|| cluster.live() == 1);
        let taken = fibre::spawn(result).join().unwrap();
        let outer = fibre::spawn(move || drop(taken)).join().unwrap_err();
        assert_eq!(text_of(&*outer), "from a destructor");
        assert!(!panicking());
    });
}

/// A payload whose destructor panics harms nobody either.
#[test]
fn destructors_of_payloads_may_panic() {
    for_each_cluster(|cluster| {
        let bomb = || panic_any(OnDrop(|| panic!("from a payload")));
        drop(fibre::spawn(bomb));
        let ended = fibre::spawn(bomb);
        eventually(|| ended.is_finished());
        drop(ended);
        eventually(|| cluster.live() == 1);
        assert!(!panicking());
    });
}

/// Unwinding drops what the stack holds, once, in a fibre that has moved and blocked before.
#[test]
fn unwinding_drops_the_stack() {
    for_each_cluster(|_| {
        let drops = Drops::new();
        let values: Vec<_> = (0..10).map(|_| drops.value()).collect();
        let fibre = fibre::spawn(move || {
            let _first = values;
            fibre::sleep(Duration::from_millis(1));
            let latch = Latch::new();
            latch.open();
            latch.wait();
            panic!("with values on the stack");
        });
        assert!(fibre.join().is_err());
        assert_eq!(drops.count(), 10);
    });
}

/// A mutex whose holder panics is free again, without poison, and those who wait get it.
#[test]
fn guards_are_released_by_panics() {
    for_each_cluster(|_| {
        let mutex = Arc::new(Mutex::new(0));
        let handles: Vec<_> = (0..100)
            .map(|i| {
                let mutex = Arc::clone(&mutex);
                fibre::spawn(move || {
                    let mut value = mutex.lock();
                    fibre::yield_now();
                    *value += 1;
                    assert!(i % 2 == 0, "while holding the lock");
                })
            })
            .collect();
        let failed = handles.into_iter().filter_map(|handle| handle.join().err());
        assert_eq!(failed.count(), 50);
        assert_eq!(*mutex.lock(), 100);
    });
}

/// Destructors may block in every way while their fibre unwinds.
#[test]
fn destructors_block_while_unwinding() {
    for_each_cluster(|_| {
        let mutex = Arc::new(Mutex::new(0));
        let (semaphore, changed) = (Arc::new(Semaphore::new(0)), Arc::new(Condvar::new()));
        let held = mutex.lock();
        let handles: Vec<_> = (0..20)
            .map(|_| {
                let (mutex, semaphore) = (Arc::clone(&mutex), Arc::clone(&semaphore));
                let changed = Arc::clone(&changed);
                fibre::spawn(move || {
                    let _blocks = OnDrop(move || {
                        assert!(panicking());
                        fibre::sleep(Duration::from_millis(1));
                        semaphore.acquire();
                        *mutex.lock() += 1;
                        changed.notify_all();
                        let five = fibre::spawn(|| 5).join().unwrap();
                        assert_eq!(five + fibre::blocking(|| 1), 6);
                        fibre::yield_now();
                    });
                    panic!("with a destructor that blocks");
                })
            })
            .collect();
        (0..20).for_each(|_| semaphore.release());
        fibre::sleep(Duration::from_millis(3));
        let mut held = held;
        changed.wait_while(&mut held, |count| *count < 20);
        drop(held);
        for handle in handles {
            let payload = handle.join().unwrap_err();
            assert_eq!(text_of(&*payload), "with a destructor that blocks");
        }
        assert!(!panicking(), "somebody else's panic is counted here");
    });
}

/// After fibres have blocked while unwinding, nobody on any processor seems to panic.
#[test]
fn panic_counts_are_settled() {
    for_each_cluster(|_| {
        for round in 0..50_u64 {
            let unwinding = fibre::spawn(move || {
                let _sleeps = OnDrop(move || fibre::sleep(Duration::from_micros(round * 20)));
                resume_unwind(Box::new(()));
            });
            let other = fibre::spawn(move || {
                fibre::sleep(Duration::from_micros(round * 10));
                let caught = catch_unwind(|| resume_unwind(Box::new(round)));
                caught.unwrap_err().downcast::<u64>().is_ok()
            });
            assert!(unwinding.join().is_err());
            assert!(other.join().unwrap());
        }
        let wrong = Arc::new(AtomicUsize::new(0));
        fibre::scope(|scope| {
            for _ in 0..64 {
                scope.spawn(|| wrong.fetch_add(usize::from(panicking()), Ordering::SeqCst));
            }
        });
        assert_eq!(wrong.load(Ordering::SeqCst), 0);
    });
}

/// A fibre that sleeps while it unwinds does not keep the others of its processor from
/// yielding: one that waits by yielding would wait for ever.
#[test]
fn others_yield_while_one_unwinds() {
    for_clusters(&[1, 2], |_| {
        let awake = Arc::new(AtomicBool::new(false));
        let set = Arc::clone(&awake);
        let unwinding = fibre::spawn(move || {
            let _sleeps = OnDrop(move || {
                fibre::sleep(Duration::from_millis(3));
                set.store(true, Ordering::SeqCst);
            });
            resume_unwind(Box::new(()));
        });
        let yielding = fibre::spawn(move || {
            while !awake.load(Ordering::SeqCst) {
                fibre::yield_now();
            }
        });
        yielding.join().unwrap();
        assert!(unwinding.join().is_err());
    });
}

/// A destructor that runs because of a panic may itself catch panics, block in between, and
/// spawn fibres that panic.
#[test]
fn panics_nest_in_destructors() {
    for_each_cluster(|_| {
        let fibre = fibre::spawn(|| {
            let _nests = OnDrop(|| {
                let inner = fibre::spawn(|| resume_unwind(Box::new("inner")));
                assert_eq!(text_of(&*inner.join().unwrap_err()), "inner");
                let caught = catch_unwind(|| {
                    let _sleeps = OnDrop(|| fibre::sleep(Duration::from_millis(1)));
                    resume_unwind(Box::new("caught"));
                });
                assert_eq!(text_of(&*caught.unwrap_err()), "caught");
            });
            resume_unwind(Box::new("outer"));
        });
        assert_eq!(text_of(&*fibre.join().unwrap_err()), "outer");
        assert!(!panicking());
    });
}

/// A destructor that takes a free lock again and again while its fibre unwinds lets nobody in:
/// others would seem to panic, as std counts panics per thread.
#[test]
fn free_locks_do_not_switch_while_unwinding() {
    for_clusters(&[1], |_| {
        let unwinding = fibre::spawn(|| {
            let _locks = OnDrop(|| {
                let mutex = Mutex::new(());
                let end = Instant::now() + Duration::from_millis(5);
                while Instant::now() < end {
                    drop(mutex.lock());
                }
            });
            resume_unwind(Box::new(()));
        });
        let other = fibre::spawn(panicking);
        assert!(unwinding.join().is_err());
        assert!(!other.join().unwrap());
    });
}
