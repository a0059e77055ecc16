//! Models of the barrier, and of waking many: whoever gives up, a round is complete or has not
//! taken place.
//!
//! Run by `cargo xtask loom`. A wait with a deadline may give up at any moment here.

use fibre_core::model::{Shared, check, finds_planted};
use fibre_sync::Barrier;
use fibre_sync::faults;
use loom::thread;
use std::time::Instant;

/// Two parties; the one that owns the barrier frees it as soon as it goes on.
fn pass_and_free() {
    let barrier = Shared::new(Barrier::new(2));
    let other = thread::spawn(move || barrier.wait().is_leader());
    let leads = barrier.wait().is_leader();
    barrier.free();
    assert_ne!(leads, other.join().unwrap());
}

/// A party that has gone on may free the barrier, whichever came last.
#[test]
fn who_goes_on_may_free() {
    check(pass_and_free);
}

/// Planted: who was resumed frees the lock that is then given back.
#[test]
fn planted_late_unlock_is_found() {
    finds_planted(faults::barrier::UNLOCKS_AFTER_RESUME, pass_and_free);
}

/// Two parties that may give up, for a round or none.
fn both_or_neither() {
    let barrier = Shared::new(Barrier::new(2));
    let other = thread::spawn(move || barrier.wait_within(Instant::now()).is_ok());
    let passed = barrier.wait_within(Instant::now()).is_ok();
    assert_eq!(passed, other.join().unwrap(), "one passed alone");
    assert_eq!(barrier.waiting(), 0);
    barrier.free();
}

/// A party that has been counted goes on, though its deadline has passed.
#[test]
fn a_round_is_complete() {
    check(both_or_neither);
}

/// Planted: the other one passes because of somebody who gives up.
#[test]
fn planted_counted_one_that_gives_up_is_found() {
    finds_planted(faults::barrier::COUNTED_PARTY_GIVES_UP, both_or_neither);
}

/// Three parties: the last one lets the other two go on, and their frames then end.
fn last_of_three() {
    let barrier = Shared::new(Barrier::new(3));
    let others = [(); 2].map(|()| thread::spawn(move || barrier.wait().is_leader()));
    let mut leaders = u32::from(barrier.wait().is_leader());
    for other in others {
        leaders += u32::from(other.join().unwrap());
    }
    assert_eq!(leaders, 1);
    barrier.free();
}

/// All go on, and one of them leads.
#[test]
fn all_go_on() {
    check(last_of_three);
}

/// Planted: the second one is looked for in the frame of the first, who has gone on.
#[test]
fn planted_chain_through_a_gone_frame_is_found() {
    finds_planted(
        faults::wait_list::FOLLOWS_CHAIN_THROUGH_FREED_FRAME,
        last_of_three,
    );
}
