//! Models of waits without a limit that a stopped cluster ends. A fibre that is roused takes itself
//! out and unwinds, or has been claimed by then, and goes on with what it has been given.
//!
//! Run by `cargo xtask loom`.

use fibre_core::internal::{ROUSED, Resume, ShortGuard};
use fibre_core::model::{Shared, check_with, expecting_panics, finds_planted_with};
use fibre_core::{Limit, WaitKind, WaitObject};
use fibre_sync::channel::bounded;
use fibre_sync::faults;
use fibre_sync::{Barrier, ListWait, Locked, Mutex, Semaphore, WaitList};
use loom::thread;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Makes a call that may be unwound.
fn roused<R>(call: impl FnOnce() -> R) -> Option<R> {
    expecting_panics(|| catch_unwind(AssertUnwindSafe(call)).ok())
}

/// One acquires while permits come: they are either acquired or there.
fn acquire_or_unwind(count: usize) {
    let permits = Shared::new(Semaphore::new(0));
    let releaser = thread::spawn(move || permits.release_many(count));
    let acquired = roused(|| permits.acquire_many(count)).is_some();
    releaser.join().unwrap();
    let had = if acquired { count } else { 0 };
    assert_eq!(permits.available() + had, count);
    permits.free();
}

/// A permit is with one who waits, or in the count.
#[test]
fn no_permit_is_lost() {
    for count in 1..3 {
        check_with(&[ROUSED], move || acquire_or_unwind(count));
    }
}

/// Planted: the waker finds a node of a frame that has been unwound.
#[test]
fn planted_node_that_stays_is_found() {
    let fault = faults::wait_list::GIVING_UP_STAYS_IN_THE_LIST;
    finds_planted_with(&[ROUSED], fault, || acquire_or_unwind(1));
}

/// A door, and a count of those that wait before it.
#[derive(Default)]
struct Door {
    open: bool,
    outside: i32,
    waiting: WaitList,
}

/// One waits for a door that another one opens. Whoever has it go on, or its own departure, counts
/// it down.
fn pass_or_unwind() {
    let door = Shared::new(Locked::new(Door::default()));
    let opener = thread::spawn(move || {
        let mut state = door.lock();
        state.open = true;
        let first = state.waiting.claim_first(0);
        state.outside -= i32::from(first.is_some());
        drop(state);
        first.into_iter().for_each(Resume::resume);
    });
    let enter = |door: &mut ShortGuard<'_, Door>| {
        door.outside += i32::from(!door.open);
        !door.open
    };
    let wait = ListWait::new(WaitObject::placeless(WaitKind::Other), Limit::None);
    // SAFETY: the list stays, and the opener resumes the one that it claims.
    let _ = roused(|| unsafe {
        wait.under(
            || door.lock(),
            |door| &raw mut door.waiting,
            enter,
            || (),
            |door, _| door.outside -= 1,
        )
    });
    opener.join().unwrap();
    assert_eq!(door.lock().outside, 0);
    door.free();
}

/// Each is counted down once.
#[test]
fn one_that_goes_is_counted_once() {
    check_with(&[ROUSED], pass_or_unwind);
}

/// Planted: one that has been claimed is counted down once more.
#[test]
fn planted_departure_after_a_gift_is_found() {
    let fault = faults::wait_list::LEAVES_WHAT_IT_HAS_BEEN_GIVEN;
    finds_planted_with(&[ROUSED], fault, pass_or_unwind);
}

/// One receives while a value comes.
#[test]
fn no_value_is_lost() {
    check_with(&[ROUSED], || {
        let (sender, receiver) = bounded::<u32>(1);
        let sends = thread::spawn(move || sender.send(7).unwrap());
        let received = roused(|| receiver.recv().unwrap());
        sends.join().unwrap();
        assert_eq!(received.or_else(|| receiver.try_recv().ok()), Some(7));
    });
}

/// One locks while another one has the lock, which is free in the end.
#[test]
fn no_lock_is_lost() {
    check_with(&[ROUSED], || {
        let mutex = Shared::new(Mutex::new(0));
        let other = thread::spawn(move || _ = roused(|| *mutex.lock() += 1));
        let locked = roused(|| *mutex.lock() += 1);
        other.join().unwrap();
        let value = *mutex.try_lock().unwrap();
        assert!(value >= i32::from(locked.is_some()));
        mutex.free();
    });
}

/// Two meet, or one has gone by the time that the other one comes; both do not return alone.
#[test]
fn a_party_that_goes_is_not_counted() {
    check_with(&[ROUSED], || {
        let barrier = Shared::new(Barrier::new(2));
        let other = thread::spawn(move || roused(|| barrier.wait()).is_some());
        let met = roused(|| barrier.wait()).is_some();
        assert_eq!(other.join().unwrap(), met);
        assert_eq!(barrier.waiting(), 0);
        barrier.free();
    });
}
