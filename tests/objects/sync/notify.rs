//! Notifications.

use super::{ends_by_cancellation, freed_by_who_waits, mixed_crowd};
use crate::support::{eventually, for_clusters, for_each_cluster, let_others_block, spawn_in_turn};
use fibre::sync::{Mutex, Notify, Semaphore};
use fibre::{Limit, WaitError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// One notification wakes one, in the order of waiting; one is kept when nobody waits.
#[test]
fn one_wakes_one() {
    for_clusters(&[1], |_| {
        let shared = Arc::new((Notify::new(), Mutex::new(Vec::new())));
        let waiting: Vec<_> = (0..5)
            .map(|i| {
                let shared = Arc::clone(&shared);
                spawn_in_turn(move || {
                    shared.0.wait();
                    shared.1.lock().push(i);
                })
            })
            .collect();
        for count in 1..=5 {
            shared.0.notify_one();
            assert!(!shared.0.try_wait(), "the notification is another's");
            let_others_block();
            assert_eq!(*shared.1.lock(), (0..count).collect::<Vec<_>>());
        }
        waiting.into_iter().for_each(|fibre| fibre.join().unwrap());
        shared.0.notify_one();
        shared.0.notify_one();
        shared.0.wait();
        assert!(!shared.0.try_wait(), "one is kept, not two");
    });
}

/// A broadcast wakes all that wait, keeps nothing, and takes away nothing that is kept.
#[test]
fn a_broadcast_wakes_all() {
    for_each_cluster(|_| {
        let shared = Arc::new((Notify::new(), AtomicUsize::new(0)));
        let inside = Arc::clone(&shared);
        let crowd = fibre::spawn(move || {
            mixed_crowd(move |_| {
                let notified = inside.0.notified();
                inside.1.fetch_add(1, Ordering::SeqCst);
                notified.wait();
            });
        });
        eventually(|| shared.1.load(Ordering::SeqCst) == 9);
        shared.0.notify_waiters();
        crowd.join().unwrap();
        shared.0.notify_waiters();
        assert!(!shared.0.try_wait(), "a broadcast is not kept");
        shared.0.notify_one();
        shared.0.notify_waiters();
        assert!(shared.0.try_wait(), "a broadcast is not for those to come");
    });
}

/// A wait that has begun misses no broadcast, though it has not blocked; one that is made
/// afterwards does.
#[test]
fn what_has_begun_misses_nothing() {
    let notify = Notify::new();
    let before = notify.notified();
    let given_up = notify.notified();
    assert!(!given_up.try_wait());
    notify.notify_one();
    notify.notify_waiters();
    let after = notify.notified();
    before.wait();
    assert!(after.try_wait(), "the broadcast left the kept one alone");
    let after = notify.notified();
    assert!(after.wait_within(Instant::now()).is_err());
}

/// Waits give up at their deadlines and by cancellation, and take what is kept nevertheless.
#[test]
fn waits_give_up() {
    for_each_cluster(|_| {
        let notify = Arc::new(Notify::new());
        let (before, time) = (Instant::now(), Duration::from_millis(2));
        assert!(!notify.wait_timeout(time));
        assert!(before.elapsed() >= time);
        let inside = Arc::clone(&notify);
        ends_by_cancellation(move || inside.wait_within(Limit::Cancellation).is_err());
        let inside = Arc::clone(&notify);
        ends_by_cancellation(move || !inside.wait_timeout(Duration::MAX));
        notify.notify_one();
        let waited = notify.wait_within(before);
        assert_eq!(waited, Ok(()), "a past deadline tries once");
        assert_eq!(notify.wait_within(before), Err(WaitError::TimedOut));
    });
}

/// A notification is consumed by somebody, though half of those who wait give up all the time.
#[test]
fn no_notification_is_lost() {
    for_each_cluster(|_| {
        let shared = Arc::new((Notify::new(), Semaphore::new(0), AtomicBool::new(false)));
        let inside = Arc::clone(&shared);
        mixed_crowd(move |me| {
            let (notify, taken, over) = &*inside;
            if me == 0 {
                for _ in 0..60 {
                    notify.notify_one();
                    taken.acquire();
                }
                return over.store(true, Ordering::SeqCst);
            }
            let time = Duration::from_micros(if me % 2 == 0 { 10 } else { 1000 });
            while !over.load(Ordering::SeqCst) {
                if notify.wait_timeout(time) {
                    taken.release();
                }
            }
        });
        assert!(!shared.0.try_wait() && !shared.1.try_acquire());
    });
}

/// A fibre that has been notified may free the object at once.
#[test]
fn who_waits_may_free_it() {
    for_each_cluster(|_| {
        freed_by_who_waits(Notify::new, Notify::wait, Notify::notify_one);
    });
}
