//! The semaphore.

use super::{caught, crowd, ends_by_cancellation, freed_by_who_waits};
use crate::support::{eventually, for_clusters, for_each_cluster, let_others_block, spawn_in_turn};
use fibre::sync::{BinarySemaphore, Mutex, Semaphore};
use fibre::{Limit, WaitError};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Permits are handed out in the order of asking; nobody overtakes.
#[test]
fn semaphore_is_first_come_first_served() {
    for_clusters(&[1], |_| {
        let (semaphore, order) = (
            Arc::new(Semaphore::new(0)),
            Arc::new(Mutex::new(Vec::new())),
        );
        let handles: Vec<_> = (0..20)
            .map(|i| {
                let (semaphore, order) = (Arc::clone(&semaphore), Arc::clone(&order));
                spawn_in_turn(move || {
                    semaphore.acquire();
                    order.lock().push(i);
                })
            })
            .collect();
        for _ in 0..20 {
            semaphore.release();
            assert!(!semaphore.try_acquire(), "the permit was another's");
        }
        handles
            .into_iter()
            .for_each(|handle| handle.join().unwrap());
        assert_eq!(*order.lock(), (0..20).collect::<Vec<_>>());
    });
}

/// Never are more permits out than there are, and in the end all are back.
#[test]
fn semaphore_conserves_permits() {
    for_each_cluster(|_| {
        let shared = Arc::new((Semaphore::new(3), AtomicUsize::new(0)));
        let inside = Arc::clone(&shared);
        crowd(10, 3, move |me| {
            let (semaphore, holders) = &*inside;
            for round in 0..300 {
                match (me + round) % 3 {
                    0 => semaphore.acquire(),
                    1 if semaphore.try_acquire() => {}
                    2 if semaphore.acquire_timeout(Duration::from_micros(30)) => {}
                    _ => continue,
                }
                assert!(holders.fetch_add(1, Ordering::SeqCst) < 3);
                fibre::yield_now();
                holders.fetch_sub(1, Ordering::SeqCst);
                semaphore.release();
            }
        });
        assert_eq!(shared.0.available(), 3);
    });
}

/// A fibre that asks for many permits waits for all of them, in front of those that ask for fewer;
/// if it gives up, it leaves what was saved to them.
#[test]
fn large_requests_are_not_overtaken() {
    for_clusters(&[1], |_| {
        let shared = Arc::new((Semaphore::new(2), Mutex::new(Vec::new())));
        let ask = |count: usize, timeout: Duration| {
            let shared = Arc::clone(&shared);
            let fibre = fibre::spawn(move || {
                let there = shared.0.acquire_many_timeout(count, timeout);
                shared.1.lock().push((count, there));
            });
            let_others_block();
            fibre
        };
        let long = Duration::MAX;
        let asked = [
            ask(5, long),
            ask(1, long),
            ask(3, long),
            ask(4, long),
            ask(1, long),
        ];
        assert!(!shared.0.try_acquire() && !shared.0.try_acquire_many(2));
        assert!(shared.0.try_acquire_many(0));
        shared.0.release_many(2);
        let_others_block();
        assert_eq!((shared.1.lock().len(), shared.0.available()), (0, 4));
        shared.0.release();
        let_others_block();
        assert_eq!(*shared.1.lock(), [(5, true)]);
        shared.0.release_many(4);
        let_others_block();
        assert_eq!(*shared.1.lock(), [(5, true), (1, true), (3, true)]);
        shared.0.release();
        let_others_block();
        assert_eq!(shared.1.lock().len(), 3);
        asked[3].cancel();
        asked.into_iter().for_each(|fibre| fibre.join().unwrap());
        assert_eq!(shared.1.lock()[3..], [(4, false), (1, true)]);
        assert_eq!(shared.0.available(), 0);
    });
}

/// Requests of all sizes, with and without deadlines, against releases of all sizes: no permit is
/// lost or doubled.
#[test]
fn many_permits_are_conserved() {
    for_each_cluster(|_| {
        let shared = Arc::new((Semaphore::new(7), AtomicUsize::new(0)));
        let inside = Arc::clone(&shared);
        crowd(10, 3, move |me| {
            let (semaphore, taken) = &*inside;
            for round in 0..200 {
                let count = (me + round) % 6;
                let permits = match (me * 7 + round) % 4 {
                    0 => Some(semaphore.permits(count)),
                    1 => semaphore.try_permits(count),
                    2 => semaphore.permits_timeout(count, Duration::from_micros(20)),
                    _ => semaphore.permits_within(count, Limit::Cancellation).ok(),
                };
                let Some(permits) = permits else { continue };
                assert!(taken.fetch_add(count, Ordering::SeqCst) + count <= 7);
                fibre::yield_now();
                taken.fetch_sub(count, Ordering::SeqCst);
                assert_eq!(permits.count(), count);
                if round % 5 == 0 {
                    permits.forget();
                    semaphore.release_many(count);
                }
            }
        });
        assert_eq!(shared.0.available(), 7);
    });
}

/// A permit is given back wherever it is dropped.
#[test]
fn permits_come_back() {
    for_each_cluster(|_| {
        static PERMITS: Semaphore = Semaphore::new(2);
        let permit = PERMITS.permits(2);
        assert!(PERMITS.try_permits(1).is_none());
        fibre::spawn(move || drop(permit)).join().unwrap();
        let permit = PERMITS.permit();
        let unwinds = caught(move || {
            assert_eq!(permit.count(), 0, "one came");
        });
        assert!(unwinds.is_err());
        assert_eq!(PERMITS.available(), 2);
    });
}

/// Calls with limits end by them, and a cancelled fibre still takes what is there.
#[test]
fn limits_of_semaphores() {
    for_each_cluster(|_| {
        assert!(!Semaphore::new(0).acquire_timeout(Duration::from_micros(100)));
        assert!(Semaphore::new(1).acquire_timeout(Duration::ZERO));
        let acquired = Semaphore::new(3).acquire_many_within(3, Instant::now());
        assert_eq!(acquired, Ok(()));
        let acquired = Semaphore::new(2).acquire_many_within(3, Instant::now());
        assert_eq!(acquired, Err(WaitError::TimedOut));
        let cancelled = Limit::Cancellation;
        ends_by_cancellation(move || Semaphore::new(0).acquire_within(cancelled).is_err());
        ends_by_cancellation(move || Semaphore::new(1).acquire_many_within(2, cancelled).is_err());
        ends_by_cancellation(|| !Semaphore::new(1).acquire_many_timeout(2, Duration::MAX));
        ends_by_cancellation(move || {
            let empty = BinarySemaphore::new(false);
            empty.acquire_within(cancelled).is_err()
        });
        let late = fibre::spawn(|| {
            eventually(fibre::is_cancelled);
            Semaphore::new(2).acquire_many_timeout(2, Duration::ZERO)
        });
        late.cancel();
        assert!(late.join().unwrap());
    });
}

/// There are not more permits than can be counted, and what was there stays.
#[test]
fn too_many_permits_are_refused() {
    let full = Semaphore::new(usize::MAX - 1);
    assert!(caught(|| full.release_many(2)).is_err());
    full.release();
    assert!(caught(|| full.release()).is_err());
    assert_eq!(full.available(), usize::MAX);
    full.acquire_many(usize::MAX);
    assert!(!full.try_acquire());
}

/// A binary semaphore has one permit at most, which goes to the one that has waited longest.
#[test]
fn binary_semaphores_saturate() {
    for_each_cluster(|_| {
        let shared = Arc::new((BinarySemaphore::new(true), AtomicUsize::new(0)));
        assert!(!shared.0.release());
        assert!(shared.0.try_acquire() && !shared.0.try_acquire());
        assert!(!shared.0.is_available());
        assert!(shared.0.release() && shared.0.is_available());
        let inside = Arc::clone(&shared);
        crowd(8, 2, move |_| {
            for _ in 0..200 {
                inside.0.acquire();
                assert_eq!(inside.1.fetch_add(1, Ordering::SeqCst), 0, "two are inside");
                inside.1.fetch_sub(1, Ordering::SeqCst);
                assert!(inside.0.release());
            }
        });
        assert!(shared.0.acquire_within(Instant::now()).is_ok());
        assert!(!shared.0.acquire_timeout(Duration::from_micros(10)));
    });
}

/// A fibre that has acquired a permit may free the semaphore at once.
#[test]
fn semaphores_are_freed_by_who_acquires() {
    for_each_cluster(|_| {
        freed_by_who_waits(|| Semaphore::new(0), Semaphore::acquire, Semaphore::release);
        freed_by_who_waits(
            || Semaphore::new(0),
            |semaphore| semaphore.acquire_many(3),
            |semaphore| semaphore.release_many(3),
        );
        freed_by_who_waits(
            || BinarySemaphore::new(false),
            BinarySemaphore::acquire,
            |semaphore| assert!(semaphore.release()),
        );
    });
}
