//! Models of waits without a limit that a limit scope ends: they unwind at any moment, and whatever
//! they were given is had or is still there.
//!
//! Run by `cargo xtask loom`.

use fibre_core::internal::IN_SCOPE;
use fibre_core::model::{Shared, check_with, expecting_panics, finds_planted_with};
use fibre_sync::channel::bounded;
use fibre_sync::faults;
use fibre_sync::{Mutex, Semaphore};
use loom::thread;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Makes a call that may be unwound.
fn in_scope<R>(call: impl FnOnce() -> R) -> Option<R> {
    expecting_panics(|| catch_unwind(AssertUnwindSafe(call)).ok())
}

/// One acquires in a scope while a permit comes: it is either acquired or there.
fn acquire_or_unwind() {
    let permits = Shared::new(Semaphore::new(0));
    let releaser = thread::spawn(move || permits.release());
    let acquired = in_scope(|| permits.acquire()).is_some();
    releaser.join().unwrap();
    assert_eq!(permits.available() + usize::from(acquired), 1);
    permits.free();
}

/// A permit is with one who waits, or in the count.
#[test]
fn no_permit_is_lost() {
    check_with(&[IN_SCOPE], acquire_or_unwind);
}

/// Planted: the waiter is claimed as if the scope could not end its wait, so both do.
#[test]
fn planted_forgotten_scope_is_found() {
    let fault = faults::wait_list::FORGETS_THE_LIMIT_OF_A_SCOPE;
    finds_planted_with(&[IN_SCOPE], fault, acquire_or_unwind);
}

/// Planted: the release finds a node of a frame that has been unwound.
#[test]
fn planted_node_that_stays_is_found() {
    let fault = faults::wait_list::GIVING_UP_STAYS_IN_THE_LIST;
    finds_planted_with(&[IN_SCOPE], fault, acquire_or_unwind);
}

/// One receives in a scope while a value comes.
#[test]
fn no_value_is_lost() {
    check_with(&[IN_SCOPE], || {
        let (sender, receiver) = bounded::<u32>(1);
        let sends = thread::spawn(move || sender.send(7).unwrap());
        let received = in_scope(|| receiver.recv().unwrap());
        sends.join().unwrap();
        assert_eq!(received.or_else(|| receiver.try_recv().ok()), Some(7));
    });
}

/// One locks in a scope while another one has the lock, which is free in the end.
#[test]
fn no_lock_is_lost() {
    check_with(&[IN_SCOPE], || {
        let mutex = Shared::new(Mutex::new(0));
        let other = thread::spawn(move || _ = in_scope(|| *mutex.lock() += 1));
        let locked = in_scope(|| *mutex.lock() += 1);
        other.join().unwrap();
        let value = *mutex.try_lock().unwrap();
        assert!(value >= i32::from(locked.is_some()));
        mutex.free();
    });
}
