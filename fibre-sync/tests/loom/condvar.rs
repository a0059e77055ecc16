//! Models of the condition variable: no notification is lost, or swallowed by one who gives up.
//!
//! Run by `cargo xtask loom`. A wait with a deadline may give up at any moment here.

use fibre_core::model::{Shared, check, finds_planted};
use fibre_core::sync::EndOfFrame;
use fibre_sync::faults;
use fibre_sync::{Condvar, Mutex};
use loom::thread;
use std::time::Instant;

/// A condition: whether something is there.
#[derive(Default)]
struct Condition {
    there: Mutex<bool>,
    changed: Condvar,
}

impl EndOfFrame for Condition {
    fn end_of_frame(&mut self) {
        self.there.end_of_frame();
        self.changed.end_of_frame();
    }
}

/// What the threads of a model share.
fn condition() -> Shared<Condition> {
    Shared::new(Condition::default())
}

/// Waits until it is there.
fn wait(condition: Shared<Condition>) {
    let mut there = condition.there.lock();
    while !*there {
        condition.changed.wait(&mut there);
    }
}

/// One waits, the other one makes it true.
fn wait_and_notify() {
    let condition = condition();
    let waiter = thread::spawn(move || wait(condition));
    *condition.there.lock() = true;
    condition.changed.notify_one();
    waiter.join().unwrap();
    condition.free();
}

/// A waiter that looks and then waits misses no change.
#[test]
fn no_notification_is_lost() {
    check(wait_and_notify);
}

/// Planted: between looking and waiting it changes, and nobody is there to be told.
#[test]
fn planted_gap_before_waiting_is_found() {
    finds_planted(
        faults::condvar::UNLOCKS_MUTEX_BEFORE_ENTERING,
        wait_and_notify,
    );
}

/// The notified waiter frees the condition variable: the notification comes after it has begun
/// to wait, since the mutex is held until then.
fn notify_and_free() {
    let condition = condition();
    let mut there = condition.there.lock();
    let notifier = thread::spawn(move || {
        drop(condition.there.lock());
        condition.changed.notify_one();
    });
    condition.changed.wait(&mut there);
    drop(there);
    condition.free();
    notifier.join().unwrap();
}

/// A notification touches nothing once the one that waits can go on.
#[test]
fn who_is_notified_may_free() {
    check(notify_and_free);
}

/// Planted: who was notified frees the lock that is then given back.
#[test]
fn planted_late_unlock_is_found() {
    finds_planted(faults::condvar::UNLOCKS_AFTER_RESUME, notify_and_free);
}

/// One gives up at some moment, and passes on what it was told; the other waits for ever. Both
/// are told of one change.
fn one_gives_up() {
    let condition = condition();
    let impatient = thread::spawn(move || {
        let mut there = condition.there.lock();
        let changed = &condition.changed;
        if !*there && changed.wait_within(&mut there, Instant::now()).is_ok() {
            changed.notify_one();
        }
    });
    let patient = thread::spawn(move || wait(condition));
    *condition.there.lock() = true;
    condition.changed.notify_one();
    impatient.join().unwrap();
    patient.join().unwrap();
    condition.free();
}

/// Whoever gives up has not taken the notification along.
#[test]
fn a_deadline_swallows_no_notification() {
    check(one_gives_up);
}

/// Planted: the notification finds one that gives up, and reaches nobody.
#[test]
fn planted_swallowed_notification_is_found() {
    finds_planted(
        faults::wait_list::WAKER_GOES_THAT_LOST_ITS_CLAIM,
        one_gives_up,
    );
}

/// Two wait for one change.
fn notify_all() {
    let condition = condition();
    let waiters = [(); 2].map(|()| thread::spawn(move || wait(condition)));
    *condition.there.lock() = true;
    condition.changed.notify_all();
    for waiter in waiters {
        waiter.join().unwrap();
    }
    condition.free();
}

/// All who wait are told.
#[test]
fn all_are_notified() {
    check(notify_all);
}
