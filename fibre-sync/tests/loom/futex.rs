//! Models of the table of words: a wake is not lost, and goes to those that wait for its word.
//!
//! Run by `cargo xtask loom`. All addresses of a model's table share one list.

use fibre_core::model::{Shared, check, finds_planted};
use fibre_core::sync::{AtomicU32, Ordering};
use fibre_sync::faults;
use fibre_sync::raw::{Error, FutexTable, Wait};
use loom::thread;
use std::time::Instant;

/// A table, and two words in it.
type Words = Shared<(FutexTable, [AtomicU32; 2])>;

/// A table and two words that are zero.
fn words() -> Words {
    let words = [AtomicU32::new(0), AtomicU32::new(0)];
    Shared::new((FutexTable::new(), words))
}

/// The address that stands for a word.
const fn address(word: usize) -> usize {
    4 * (word + 1)
}

/// Waits until a word is no longer zero.
fn wait_for(shared: &Words, word: usize) {
    let (table, words) = shared.get();
    while words[word].load(Ordering::Acquire) == 0 {
        let is_zero = || words[word].load(Ordering::Relaxed) == 0;
        let waited = table.wait(address(word), Wait::FOREVER, is_zero);
        assert!(matches!(waited, Ok(()) | Err(Error::Again)));
    }
}

/// Changes a word, and wakes one that waits for it.
fn set(shared: &Words, word: usize) {
    let (table, words) = shared.get();
    words[word].store(1, Ordering::Release);
    table.wake(address(word), 1, |_| 0);
}

/// One waits for a word, the other one changes it.
fn wait_and_set() {
    let shared = words();
    let waits = thread::spawn(move || wait_for(&shared, 0));
    set(&shared, 0);
    waits.join().unwrap();
}

/// The change is seen, or the waiter is woken.
#[test]
fn no_wake_is_lost() {
    check(wait_and_set);
}

/// Planted: the change comes between the look and the list.
#[test]
fn planted_early_look_is_found() {
    finds_planted(faults::futex::LOOKS_BEFORE_IT_ENTERS, wait_and_set);
}

/// Two wait for a word each, and each is changed once.
fn set_both() {
    let shared = words();
    let waits = [0, 1].map(|word| thread::spawn(move || wait_for(&shared, word)));
    set(&shared, 1);
    set(&shared, 0);
    for one in waits {
        one.join().unwrap();
    }
}

/// A wake reaches the waiter for its own word.
#[test]
fn a_wake_is_for_its_word() {
    check(set_both);
}

/// Planted: a wake goes to the other word's waiter, which waits on.
#[test]
fn planted_wake_of_another_word_is_found() {
    finds_planted(faults::futex::WAKES_WHOEVER_IS_FIRST, set_both);
}

/// One of two that wait gives up at any moment, and one wake comes: the other one goes on.
#[test]
fn a_waiter_that_gives_up_takes_no_wake() {
    check(|| {
        let shared = words();
        let impatient = thread::spawn(move || {
            let (table, words) = shared.get();
            let is_zero = || words[0].load(Ordering::Relaxed) == 0;
            table.wait(address(0), Wait::until(Instant::now()), is_zero)
        });
        let patient = thread::spawn(move || wait_for(&shared, 0));
        set(&shared, 0);
        if impatient.join().unwrap() == Ok(()) {
            // It has had the wake, and hands it on as the owner of a lock would.
            set(&shared, 0);
        }
        patient.join().unwrap();
    });
}
