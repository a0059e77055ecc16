//! Models of what happens once: one initialises, all see what it did, and nobody sleeps on.
//!
//! Run by `cargo xtask loom`. A wait with a deadline may give up at any moment here.

use fibre_core::model::{Shared, Watched, check, check_with, finds_planted, finds_planted_with};
use fibre_sync::OnceLock;
use fibre_sync::faults;
use loom::thread;
use std::time::Instant;

/// Two want to initialise: one does, and both see what it did. loom watches the number that
/// is counted, and the model the value.
fn two_initialise() {
    let shared = Shared::new((OnceLock::new(), Watched::default()));
    let initialise = move || {
        let (cell, calls) = shared.get();
        let value = *cell.get_or_init(|| {
            calls.count();
            7
        });
        assert_eq!((value, calls.get()), (7, 1));
    };
    let other = thread::spawn(initialise);
    initialise();
    other.join().unwrap();
}

/// One initialises, and the other one waits for it or comes later.
#[test]
fn one_of_two_initialises() {
    check(two_initialise);
}

/// Planted: both initialise.
#[test]
fn planted_silent_initialiser_is_found() {
    finds_planted(faults::once::INITIALISES_SILENTLY, two_initialise);
}

/// Planted: the other one sees that there is a value, and not the value.
#[test]
fn planted_missing_release_is_found() {
    finds_planted(
        faults::once::GIVES_WORD_BACK_WITHOUT_RELEASE,
        two_initialise,
    );
}

/// One sets the cell, the other waits for it, and then frees it.
fn set_and_free() {
    let cell = Shared::new(OnceLock::new());
    let setter = thread::spawn(move || cell.set(7).unwrap());
    assert_eq!(*cell.get().wait(), 7);
    cell.free();
    setter.join().unwrap();
}

/// The setter of a cell touches it no more once others can have seen the value.
#[test]
fn who_waits_may_free() {
    check(set_and_free);
}

/// Planted: who sees the value frees the word that is then given back.
#[test]
fn planted_late_touch_is_found() {
    finds_planted(faults::once::STORES_STATE_BEFORE_UNLOCKING, set_and_free);
}

/// Planted: who waits sleeps for ever.
#[test]
fn planted_forgotten_waiter_is_found() {
    finds_planted(faults::once::WAKES_NOBODY, set_and_free);
}

/// One waits and another one gives up, while a third one sets the cell.
fn wait_and_give_up() {
    let cell = Shared::new(OnceLock::new());
    let waiting = thread::spawn(move || *cell.get().wait());
    let impatient = thread::spawn(move || cell.wait_within(Instant::now()).ok().copied());
    cell.set(7).unwrap();
    assert_eq!(waiting.join().unwrap(), 7);
    assert!(impatient.join().unwrap().is_none_or(|value| value == 7));
    cell.free();
}

/// A waiter that gives up leaves the list to the others.
#[test]
fn who_gives_up_leaves_no_trace() {
    check(wait_and_give_up);
}

/// Planted: the setter finds a node in a frame that has ended.
#[test]
fn planted_node_that_stays_is_found() {
    finds_planted(faults::once::GIVING_UP_STAYS_IN_THE_LIST, wait_and_give_up);
}

/// Two wait while a third one sets the cell.
fn two_wait() {
    let cell = Shared::new(OnceLock::new());
    let waiting = [(); 2].map(|()| thread::spawn(move || *cell.get().wait()));
    cell.set(7).unwrap();
    for one in waiting {
        assert_eq!(one.join().unwrap(), 7);
    }
}

/// All who wait are woken.
#[test]
fn both_are_woken() {
    check(two_wait);
}

/// Planted: the waker looks up the next waiter in a frame that a resumed one has left.
#[test]
fn planted_late_look_at_the_chain_is_found() {
    finds_planted(faults::once::READS_CHAIN_AFTER_RESUME, two_wait);
}

/// An initialiser that fails while another one waits for it: that one makes the value.
#[test]
fn who_waits_for_a_failure_tries() {
    check(|| {
        let cell = Shared::new(OnceLock::new());
        let failing = thread::spawn(move || cell.get_or_try_init(|| Err::<u32, ()>(())).is_err());
        assert_eq!(*cell.get_or_init(|| 7), 7);
        // Late, it finds a value and does not fail.
        let _ = failing.join().unwrap();
        assert_eq!(cell.get().get(), Some(&7));
        cell.free();
    });
}

/// What makes models do without turns at the word's lock bit, so that the bit alone excludes and
/// orders.
const NO_TURNS: &str = faults::turn::NOT_TAKEN;

/// An initialiser does something and then fails; after that the word is as it was at first. Another
/// one, which may have looked at the word before, does the same.
fn fail_and_try() {
    let shared = Shared::new((OnceLock::<u32>::new(), Watched::default()));
    let fail = move || {
        let (cell, calls) = shared.get();
        let failed = cell.get_or_try_init(|| {
            calls.count();
            Err::<u32, ()>(())
        });
        assert!(failed.is_err());
    };
    let other = thread::spawn(fail);
    fail();
    other.join().unwrap();
    assert_eq!(shared.get().1.get(), 2);
}

/// Whoever takes the lock sees what was done before it was given back, whatever it had seen of
/// the word before.
#[test]
fn the_bit_alone_orders_initialisers() {
    check_with(&[NO_TURNS], fail_and_try);
    check_with(&[NO_TURNS], two_initialise);
}

/// Planted: the word is the same as it was, and what happened between is not seen.
#[test]
fn planted_lock_without_acquire_is_found() {
    finds_planted_with(
        &[NO_TURNS],
        faults::once::TAKES_LOCK_WITHOUT_ACQUIRE,
        fail_and_try,
    );
}
