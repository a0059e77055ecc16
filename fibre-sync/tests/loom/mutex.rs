//! Models of the mutex over every queued lock: one holder at a time, nobody sleeps while it is
//! free, and who unlocks touches it no more.
//!
//! Run by `cargo xtask loom`. Time flies here: a waiter that was woken for nothing wants the lock
//! handed over at once, and a wait with a deadline may give up at any moment. Nobody tries before
//! it blocks, so spin-then-block is the same as barging.

use fibre_core::internal::LONG_TURNS;
use fibre_core::model::{Shared, Watched, check, check_with, finds_planted, finds_planted_with};
use fibre_core::sync::EndOfFrame;
use fibre_sync::Mutex;
use fibre_sync::faults;
use fibre_sync::lock::{
    Barging, Baton, Exchange, Hybrid, RawLock, Settled, SpinThenBlock, Spinning,
};
use loom::thread;
use std::time::Instant;

/// What the mutex guards.
type Guarded<L> = Shared<Mutex<Watched, L>>;

/// A lock that models can free.
trait Lock: RawLock + EndOfFrame + 'static {}

impl<L: RawLock + EndOfFrame + 'static> Lock for L {}

/// A mutex that nobody has.
fn guarded<L: Lock>() -> Guarded<L> {
    Shared::new(Mutex::with_lock(Watched::default()))
}

/// Checks a model with each lock that has blocking waiters.
macro_rules! check_all {
    ($model:ident $(, $argument:expr)*) => {
        check(|| $model::<Barging>($($argument),*));
        check(|| $model::<SpinThenBlock>($($argument),*));
        check(|| $model::<Hybrid>($($argument),*));
        check(|| $model::<Settled>($($argument),*));
        check(|| $model::<Baton>($($argument),*));
        check(|| $model::<Exchange>($($argument),*));
    };
}

/// Threads that lock so many times each, this one among them.
fn all_lock<L: Lock>(times: &[u32]) {
    let number = guarded::<L>();
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

/// Two who come twice: who was woken meets one who barges, and asks for the baton.
#[test]
fn two_take_turns() {
    check_all!(all_lock, &[2, 2]);
}

/// Three who come once.
#[test]
fn three_take_turns() {
    check(|| all_lock::<Hybrid>(&[1, 1, 1]));
    check(|| all_lock::<Baton>(&[1, 1, 1]));
}

/// One barges all the time; the other gets its turn all the same.
#[test]
fn one_barges() {
    check_all!(all_lock, &[3, 1]);
}

/// The bits of the word by themselves: what one writes under either of them, the next one sees.
#[test]
fn the_word_hands_on_what_was_written() {
    const SPINS: &[&str] = &[faults::turn::NOT_TAKEN];
    check_with(SPINS, || all_lock::<Barging>(&[2, 1]));
    check_with(SPINS, || all_lock::<Hybrid>(&[2, 1]));
    check_with(SPINS, || all_lock::<Baton>(&[1, 1]));
}

/// Planted: the next one changes a list that is half written to it.
#[test]
fn planted_unordered_list_is_found() {
    finds_planted_with(
        &[faults::turn::NOT_TAKEN],
        faults::mutex::GIVES_LIST_BACK_WITHOUT_RELEASE,
        || all_lock::<Barging>(&[2, 1]),
    );
}

/// Planted: the one that gets the lock and one that barges hold it both.
#[test]
fn planted_two_holders_are_found() {
    const FAULT: &str = faults::mutex::HANDED_OVER_IS_FREE_TOO;
    finds_planted(FAULT, || all_lock::<Baton>(&[2, 1]));
    finds_planted(FAULT, || all_lock::<Hybrid>(&[3, 1]));
}

/// Turns are long, and the lock is handed on at each unlock with a waiter.
#[test]
fn long_turns_are_handed_on() {
    check_with(&[LONG_TURNS], || all_lock::<Hybrid>(&[2, 2]));
    check_with(&[LONG_TURNS], || all_lock::<Hybrid>(&[1, 1, 1]));
    check_with(&[LONG_TURNS], the_last_one_frees::<Hybrid>);
    check_with(&[LONG_TURNS], one_gives_up::<Hybrid>);
}

/// Planted: the one that it is handed on to and one that barges hold it both.
#[test]
fn planted_two_holders_after_long_turns_are_found() {
    const FAULT: &str = faults::mutex::HANDED_OVER_IS_FREE_TOO;
    finds_planted_with(&[LONG_TURNS], FAULT, || all_lock::<Hybrid>(&[2, 1]));
}

/// Planted: waiters that the woken one left in the list sleep for ever.
#[test]
fn planted_forgotten_waiters_are_found() {
    finds_planted(faults::mutex::WOKEN_FORGETS_THOSE_BEHIND, || {
        all_lock::<Barging>(&[1, 1, 1]);
    });
}

/// Two that look until it is free.
#[test]
fn two_spin() {
    check(|| all_lock::<Spinning>(&[2, 1]));
}

/// Both count, and the one that sees both counts frees the mutex.
fn the_last_one_frees<L: Lock>() {
    let number = guarded::<L>();
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
    check_all!(the_last_one_frees);
    check(the_last_one_frees::<Spinning>);
}

/// Planted: the unlocker looks at a word that its owner has freed.
#[test]
fn planted_look_back_is_found() {
    const FAULT: &str = faults::mutex::UNLOCK_LOOKS_BACK;
    finds_planted(FAULT, the_last_one_frees::<Barging>);
    finds_planted(FAULT, the_last_one_frees::<Baton>);
}

/// Planted: the one that was resumed goes on before the lock is its own.
#[test]
fn planted_early_resume_is_found() {
    finds_planted(
        faults::mutex::RESUMES_BEFORE_LEAVING_THE_WORD,
        the_last_one_frees::<Baton>,
    );
}

/// One gives up at some moment, the other never; the holder unlocks once.
fn one_gives_up<L: Lock>() {
    let number = guarded::<L>();
    let held = number.lock();
    let impatient = thread::spawn(move || {
        let guard = number.get().lock_within(Instant::now());
        guard.map(|guard| guard.count()).is_ok()
    });
    let patient = thread::spawn(move || number.lock().count());
    held.count();
    drop(held);
    let counted = impatient.join().unwrap();
    patient.join().unwrap();
    let left = number.try_lock().unwrap();
    assert_eq!(left.get(), 2 + u32::from(counted));
}

/// A lock that is meant for one who gives up goes to the next one.
#[test]
fn who_gives_up_takes_no_turn_along() {
    check_all!(one_gives_up);
}

/// Planted: the lock is free, and the one behind who gave up sleeps for ever.
#[test]
fn planted_turn_taken_along_is_found() {
    finds_planted(faults::wait_list::WAKER_GOES_THAT_LOST_ITS_CLAIM, || {
        one_gives_up::<Barging>();
    });
}

/// A thread that may give up competes with one that comes twice.
fn the_baton_is_passed<L: Lock>() {
    let number = guarded::<L>();
    let impatient = thread::spawn(move || {
        let guard = number.get().lock_within(Instant::now());
        guard.map(|guard| guard.count()).is_ok()
    });
    (0..2).for_each(|_| number.lock().count());
    let counted = impatient.join().unwrap();
    let left = number.try_lock().unwrap();
    assert_eq!(left.get(), 2 + u32::from(counted));
}

/// A baton that is meant for one who gives up leaves a free lock.
#[test]
fn the_baton_is_not_lost() {
    check_all!(the_baton_is_passed);
}
