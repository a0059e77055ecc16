//! A waiter that goes on may free what it waited for, while the waker returns from its call.
//!
//! Under AddressSanitizer (`cargo xtask sanitize`) a later touch of the object ends the test. Other
//! objects have tests of this kind beside their own.

use super::freed_by_who_waits;
use crate::support::for_each_cluster;
use fibre::sync::lock::{
    Barging, Baton, Exchange, Hybrid, RawLock, Settled, SpinThenBlock, Spinning,
};
use fibre::sync::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, Ordering};

/// A mutex, and whether the other side has had it.
type Shared<L> = (Mutex<u32, L>, AtomicBool);

/// Free.
fn new<L: RawLock>() -> Shared<L> {
    (Mutex::with_lock(0), AtomicBool::new(false))
}

/// Locks it once the other side has it, and unlocks it.
fn lock_after<L: RawLock>((mutex, taken): &Shared<L>) {
    while !taken.load(Ordering::SeqCst) {
        fibre::yield_now();
    }
    *mutex.lock() += 1;
}

/// Has it for a moment, and unlocks it, which the other side waits for.
fn lock_first<L: RawLock>((mutex, taken): &Shared<L>) {
    let guard = mutex.lock();
    taken.store(true, Ordering::SeqCst);
    fibre::yield_now();
    drop(guard);
}

/// A mutex of every kind.
#[test]
fn unlocking_is_the_last_touch() {
    for_each_cluster(|_| {
        freed_by_who_waits(new::<Spinning>, lock_after, lock_first);
        freed_by_who_waits(new::<SpinThenBlock>, lock_after, lock_first);
        freed_by_who_waits(new::<Barging>, lock_after, lock_first);
        freed_by_who_waits(new::<Hybrid>, lock_after, lock_first);
        freed_by_who_waits(new::<Settled>, lock_after, lock_first);
        freed_by_who_waits(new::<Baton>, lock_after, lock_first);
        freed_by_who_waits(new::<Exchange>, lock_after, lock_first);
    });
}

/// A condition variable, told under the mutex.
#[test]
fn notifying_is_the_last_touch() {
    /// Waits until it is told.
    fn wait((told, changed): &(Mutex<bool>, Condvar)) {
        changed.wait_while(&mut told.lock(), |told| !*told);
    }
    for_each_cluster(|_| {
        freed_by_who_waits(Default::default, wait, |(told, changed)| {
            let mut told = told.lock();
            *told = true;
            changed.notify_one();
        });
        freed_by_who_waits(Default::default, wait, |(told, changed)| {
            let mut told = told.lock();
            *told = true;
            changed.notify_all();
        });
    });
}
