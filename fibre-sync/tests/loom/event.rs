//! Models of the events: a setting is seen by all or taken by one, whoever gives up.
//!
//! Run by `cargo xtask loom`. A wait with a deadline may give up at any moment here.

use fibre_core::model::{Shared, check, finds_planted};
use fibre_sync::faults;
use fibre_sync::{AutoEvent, Event};
use loom::thread;
use std::time::Instant;

/// One sets the event, the other waits and then frees it.
fn set_and_free() {
    let event = Shared::new(Event::new());
    let setter = thread::spawn(move || event.set());
    event.wait();
    event.free();
    setter.join().unwrap();
}

/// Setting touches nothing once somebody can go on.
#[test]
fn who_waits_may_free() {
    check(set_and_free);
}

/// Planted: who was resumed frees the lock that is then given back.
#[test]
fn planted_late_unlock_is_found() {
    finds_planted(faults::event::UNLOCKS_AFTER_RESUME, set_and_free);
}

/// One waits, one waits with a deadline, one sets.
fn wait_and_look() {
    let event = Shared::new(Event::new());
    let waits = thread::spawn(move || event.wait());
    let looks = thread::spawn(move || event.wait_within(Instant::now()).is_ok());
    event.set();
    waits.join().unwrap();
    let _either = looks.join().unwrap();
    assert!(event.try_wait());
    event.free();
}

/// Nobody sleeps while the event is set.
#[test]
fn all_see_it() {
    check(wait_and_look);
}

/// Planted: who comes in between sleeps for ever.
#[test]
fn planted_late_setting_is_found() {
    finds_planted(faults::event::CLAIMS_BEFORE_IT_IS_SET, wait_and_look);
}

/// Two may give up, for one setting: one takes it, or it stays.
fn one_takes_it() {
    let event = Shared::new(AutoEvent::new());
    let other = thread::spawn(move || event.wait_within(Instant::now()).is_ok());
    let setter = thread::spawn(move || event.set());
    let mine = event.wait_within(Instant::now()).is_ok();
    setter.join().unwrap();
    let taken = u32::from(mine) + u32::from(other.join().unwrap());
    assert_eq!(taken + u32::from(event.reset()), 1);
    event.free();
}

/// A setting is neither lost nor doubled.
#[test]
fn a_setting_is_for_one() {
    check(one_takes_it);
}

/// Planted: two go on for one setting.
#[test]
fn planted_doubled_setting_is_found() {
    finds_planted(faults::event::HANDED_OVER_STAYS_SET, one_takes_it);
}

/// One waits with a deadline and one without; the patient one gets the setting, from whomever.
fn impatient_and_patient() {
    let event = Shared::new(AutoEvent::new());
    let impatient = thread::spawn(move || {
        if event.wait_within(Instant::now()).is_ok() {
            event.set();
        }
    });
    let patient = thread::spawn(move || event.wait());
    event.set();
    impatient.join().unwrap();
    patient.join().unwrap();
    event.free();
}

/// A waiter that gives up lets the setting go to the next.
#[test]
fn the_next_one_gets_what_was_given_up() {
    check(impatient_and_patient);
}

/// Planted: the event is set while somebody waits, who sleeps for ever.
#[test]
fn planted_waker_that_goes_is_found() {
    finds_planted(
        faults::wait_list::WAKER_GOES_THAT_LOST_ITS_CLAIM,
        impatient_and_patient,
    );
}
