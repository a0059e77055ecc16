//! Models of the semaphore, and of the wait list below it: permits are neither lost nor doubled,
//! whoever gives up.
//!
//! Run by `cargo xtask loom`. A wait with a deadline may give up at any moment here.

use fibre_core::model::{Shared, check, finds_planted};
use fibre_sync::Semaphore;
use fibre_sync::faults;
use loom::thread;
use std::time::Instant;

/// One releases, the other acquires and then frees the semaphore.
fn hand_over_and_free() {
    let permits = Shared::new(Semaphore::new(0));
    let releaser = thread::spawn(move || permits.release());
    permits.acquire();
    permits.free();
    releaser.join().unwrap();
}

/// A release touches nothing once the permit can be another's.
#[test]
fn who_acquires_may_free() {
    check(hand_over_and_free);
}

/// Planted: who was resumed frees the lock that is then given back.
#[test]
fn planted_late_unlock_is_found() {
    finds_planted(faults::semaphore::UNLOCKS_AFTER_RESUME, hand_over_and_free);
}

/// One acquires with a deadline while a permit comes: it is either acquired or there.
fn acquire_or_give_up() {
    let permits = Shared::new(Semaphore::new(0));
    let releaser = thread::spawn(move || permits.release());
    let acquired = permits.acquire_within(Instant::now()).is_ok();
    releaser.join().unwrap();
    assert_eq!(permits.available() + usize::from(acquired), 1);
    permits.free();
}

/// A permit is with one who waits, or in the count.
#[test]
fn a_deadline_loses_no_permit() {
    check(acquire_or_give_up);
}

/// Planted: two have one permit.
#[test]
fn planted_doubled_permit_is_found() {
    finds_planted(
        faults::semaphore::HANDED_OVER_IS_COUNTED_TOO,
        acquire_or_give_up,
    );
}

/// Planted: the release finds a node of a frame that has ended.
#[test]
fn planted_node_that_stays_is_found() {
    finds_planted(
        faults::wait_list::GIVING_UP_STAYS_IN_THE_LIST,
        acquire_or_give_up,
    );
}

/// One waits with a deadline and one without, for the same permit. The patient one gets it,
/// from whomever.
fn impatient_and_patient() {
    let permits = Shared::new(Semaphore::new(0));
    let impatient = thread::spawn(move || {
        if permits.acquire_within(Instant::now()).is_ok() {
            permits.release();
        }
    });
    let patient = thread::spawn(move || permits.acquire());
    permits.release();
    impatient.join().unwrap();
    patient.join().unwrap();
    assert_eq!(permits.available(), 0);
    permits.free();
}

/// A waiter that gives up lets the permit go to the next.
#[test]
fn the_next_one_gets_what_was_given_up() {
    check(impatient_and_patient);
}

/// Planted: the permit is counted while somebody waits, who sleeps for ever.
#[test]
fn planted_waker_that_goes_is_found() {
    finds_planted(
        faults::wait_list::WAKER_GOES_THAT_LOST_ITS_CLAIM,
        impatient_and_patient,
    );
}

/// Two wait for two permits, and a third one barges in.
#[test]
fn each_permit_wakes_one() {
    check(|| {
        let permits = Shared::new(Semaphore::new(0));
        let acquirers = [(); 2].map(|()| thread::spawn(move || permits.acquire()));
        permits.release();
        if permits.try_acquire() {
            permits.release();
        }
        permits.release();
        for acquirer in acquirers {
            acquirer.join().unwrap();
        }
        assert_eq!(permits.available(), 0);
        permits.free();
    });
}

/// One asks for two permits with a deadline while there is one, and another one for the one that
/// it was saved with.
fn large_and_small() {
    let permits = Shared::new(Semaphore::new(0));
    let large = thread::spawn(move || {
        if permits.acquire_many_within(2, Instant::now()).is_ok() {
            permits.release_many(2);
        }
    });
    let small = thread::spawn(move || permits.acquire());
    permits.release();
    large.join().unwrap();
    small.join().unwrap();
    assert_eq!(permits.available(), 0);
    permits.free();
}

/// A waiter that gives up leaves what was saved to the next one.
#[test]
fn saved_permits_are_passed_on() {
    check(large_and_small);
}

/// Planted: the small one sleeps for ever beside a permit.
#[test]
fn planted_hoard_is_found() {
    finds_planted(
        faults::semaphore::GIVING_UP_KEEPS_WHAT_WAS_SAVED,
        large_and_small,
    );
}

/// A release that serves two at once; one of them frees the semaphore.
#[test]
fn a_large_release_serves_all() {
    check(|| {
        let permits = Shared::new(Semaphore::new(0));
        let large = thread::spawn(move || permits.acquire_many(2));
        let releaser = thread::spawn(move || permits.release_many(3));
        permits.acquire();
        large.join().unwrap();
        permits.free();
        releaser.join().unwrap();
    });
}

/// One asks for two permits and gives up while they come, all at once or one by one: they are all
/// acquired, or all there.
fn large_gives_up(one_by_one: bool) {
    let permits = Shared::new(Semaphore::new(0));
    let releaser = thread::spawn(move || {
        if one_by_one {
            permits.release();
            permits.release();
        } else {
            permits.release_many(2);
        }
    });
    let acquired = permits.acquire_many_within(2, Instant::now()).is_ok();
    releaser.join().unwrap();
    assert_eq!(permits.available() + 2 * usize::from(acquired), 2);
    // Nobody is left who asks for several, or a permit would be saved for nobody.
    permits.release();
    assert!(permits.try_acquire());
    assert_eq!(permits.try_acquire_many(2), !acquired);
    permits.free();
}

/// Permits are handed over to one that gives up, or are not: never to a half.
#[test]
fn a_lost_claim_takes_no_permits() {
    check(|| large_gives_up(false));
    check(|| large_gives_up(true));
}

/// Planted: the permits of one that has given up are nobody's.
#[test]
fn planted_count_of_a_lost_claim_is_found() {
    for one_by_one in [false, true] {
        finds_planted(faults::semaphore::COUNTS_A_LOST_CLAIM, move || {
            large_gives_up(one_by_one);
        });
    }
}
