//! Models of the notifications: each is for one, and a broadcast is for all that have begun to
//! wait.
//!
//! Run by `cargo xtask loom`. A wait with a deadline may give up at any moment here.

use fibre_core::model::{Shared, check, finds_planted};
use fibre_sync::Notify;
use fibre_sync::faults;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use std::time::Instant;

/// Two may give up, for one notification: one consumes it, or it is kept.
fn one_consumes_it() {
    let notify = Shared::new(Notify::new());
    let other = thread::spawn(move || notify.wait_within(Instant::now()).is_ok());
    let notifier = thread::spawn(move || notify.notify_one());
    let mine = notify.wait_within(Instant::now()).is_ok();
    notifier.join().unwrap();
    let consumed = u32::from(mine) + u32::from(other.join().unwrap());
    assert_eq!(consumed + u32::from(notify.try_wait()), 1);
    notify.free();
}

/// A notification is neither lost nor doubled.
#[test]
fn a_notification_is_for_one() {
    check(one_consumes_it);
}

/// Planted: two go on for one notification.
#[test]
fn planted_doubled_notification_is_found() {
    finds_planted(faults::notify::WAKES_ONE_AND_KEEPS_ONE, one_consumes_it);
}

/// One looks at a condition and then waits, the other one changes it and tells all.
fn look_and_wait() {
    let notify = Shared::new(Notify::new());
    let closed = Shared::new(AtomicBool::new(false));
    let closer = thread::spawn(move || {
        closed.store(true, Ordering::Release);
        notify.notify_waiters();
    });
    loop {
        let notified = notify.notified();
        if closed.load(Ordering::Acquire) {
            break;
        }
        notified.wait();
    }
    closer.join().unwrap();
    assert!(!notify.try_wait(), "a broadcast is not kept");
    notify.free();
}

/// A wait that has begun misses no broadcast.
#[test]
fn what_has_begun_misses_nothing() {
    check(look_and_wait);
}

/// Planted: the change comes between the look and the wait, which lasts for ever.
#[test]
fn planted_lost_broadcast_is_found() {
    finds_planted(faults::notify::BROADCAST_IS_NOT_COUNTED, look_and_wait);
}

/// A waiter that has been notified may free the object.
#[test]
fn who_waits_may_free() {
    check(|| {
        let notify = Shared::new(Notify::new());
        let notifier = thread::spawn(move || notify.notify_one());
        notify.wait();
        notify.free();
        notifier.join().unwrap();
    });
}

/// One tells all, the other one has begun to wait and frees the object as soon as it goes on.
fn broadcast_and_free() {
    let notify = Shared::new(Notify::new());
    let notified = notify.get().notified();
    let notifier = thread::spawn(move || notify.notify_waiters());
    notified.wait();
    notify.free();
    notifier.join().unwrap();
}

/// A broadcast touches nothing once somebody can go on.
#[test]
fn who_hears_a_broadcast_may_free() {
    check(broadcast_and_free);
}

/// Planted: who was resumed frees the lock that is then given back.
#[test]
fn planted_late_unlock_is_found() {
    finds_planted(faults::notify::UNLOCKS_AFTER_BROADCAST, broadcast_and_free);
}
