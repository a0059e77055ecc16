//! Models of the mutex: one holder at a time, nobody sleeps while it is free, and who unlocks
//! touches it no more.
//!
//! Run by `cargo xtask loom`. Time flies here: who was woken in vain asks for the baton at once,
//! and a wait with a deadline may give up at any moment.
#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "a model fails by panicking")]

use fibre_core::model::{Shared, Watched, check};
use fibre_sync::Mutex;
use loom::thread;
use std::time::Instant;

/// What the mutex guards.
type Guarded = Shared<Mutex<Watched>>;

/// Threads that lock so many times each, this one among them.
fn all_lock(times: &[u32]) {
    let number: Guarded = Shared::new(Mutex::default());
    let count = move |times| (0..times).for_each(|_| number.lock().count());
    let others: Vec<_> = times[1..]
        .iter()
        .map(|&times| thread::spawn(move || count(times)))
        .collect();
    count(times[0]);
    for other in others {
        other.join().unwrap();
    }
    let left = number.try_lock().unwrap();
    assert_eq!(left.get(), times.iter().sum());
}

/// Two who come twice: who was woken meets one who barges, and gets the baton after.
#[test]
fn two_take_turns() {
    check(|| all_lock(&[2, 2]));
}

/// Three who come once.
#[test]
fn three_take_turns() {
    check(|| all_lock(&[1, 1, 1]));
}

/// One barges all the time; the other gets its turn all the same.
#[test]
fn one_barges() {
    check(|| all_lock(&[3, 1]));
}

/// Both count down, and the last one frees the mutex.
fn the_last_one_frees() {
    let number: Guarded = Shared::new(Mutex::default());
    let leave = move || {
        let guard = number.lock();
        guard.count();
        let last = guard.get() == 2;
        drop(guard);
        if last {
            number.free();
        }
    };
    let other = thread::spawn(leave);
    leave();
    other.join().unwrap();
}

/// An unlock touches nothing once another one can lock.
#[test]
fn who_locks_last_may_free() {
    check(the_last_one_frees);
}

/// One gives up at some moment, the other never; the holder unlocks once.
fn one_gives_up() {
    let number: Guarded = Shared::new(Mutex::default());
    let held = number.lock();
    let impatient = thread::spawn(move || match number.get().lock_until(Instant::now()) {
        Some(guard) => {
            guard.count();
            true
        }
        None => false,
    });
    let patient = thread::spawn(move || number.lock().count());
    held.count();
    drop(held);
    let counted = impatient.join().unwrap();
    patient.join().unwrap();
    let left = number.try_lock().unwrap();
    assert_eq!(left.get(), 2 + u32::from(counted));
}

/// A lock that is freed for one who gives up goes to the next one.
#[test]
fn who_gives_up_takes_no_turn_along() {
    check(one_gives_up);
}

/// One who may give up competes with one who barges, so that it gives up with the baton, too.
#[test]
fn the_baton_is_not_lost() {
    check(|| {
        let number: Guarded = Shared::new(Mutex::default());
        let impatient = thread::spawn(move || {
            let guard = number.get().lock_until(Instant::now());
            guard.map(|guard| guard.count()).is_some()
        });
        (0..2).for_each(|_| number.lock().count());
        let counted = impatient.join().unwrap();
        let left = number.try_lock().unwrap();
        assert_eq!(left.get(), 2 + u32::from(counted));
    });
}
