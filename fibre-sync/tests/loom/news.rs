//! Models of the channels that give every value to all receivers: nobody sleeps through a change or
//! a value, and a receiver that sees a change reads its value.
//!
//! Run by `cargo xtask loom`. A wait with a limit may give up at any moment here.

use fibre_core::model::{check, finds_planted};
use fibre_sync::channel::{broadcast, watch};
use fibre_sync::faults;
use loom::thread;
use std::time::Instant;

/// One changes the value twice and goes; the other follows it to the end.
fn follow() {
    let (sender, mut receiver) = watch(0);
    let thread = thread::spawn(move || {
        sender.send(1).unwrap();
        sender.send(2).unwrap();
    });
    let mut last = 0;
    while receiver.changed().is_ok() {
        let value = *receiver.read_and_update();
        assert!(value > last, "a change without a new value");
        last = value;
    }
    assert_eq!(last, 2);
    thread.join().unwrap();
}

/// The last value is seen, and each change brings another one.
#[test]
fn a_follower_sees_the_last_value() {
    check(follow);
}

/// Two wait for one value, and one of them may give up.
fn two_followers() {
    let (sender, mut one) = watch(0);
    let mut other = one.clone();
    let thread = thread::spawn(move || {
        let changed = other.changed_within(Instant::now()).is_ok();
        assert!(!changed || *other.read() == 1);
    });
    let changer = thread::spawn(move || {
        sender.send(1).unwrap();
        sender
    });
    one.changed().unwrap();
    assert_eq!(*one.read(), 1);
    thread.join().unwrap();
    // The end would wake the sleepers, too.
    drop(changer.join().unwrap());
}

/// Giving up takes no change from others.
#[test]
fn a_change_is_for_all() {
    check(two_followers);
}

/// Planted: a change that is counted late is slept over.
#[test]
fn planted_late_count_is_found() {
    finds_planted(faults::watch::CLAIMS_BEFORE_IT_COUNTS, two_followers);
}

/// Two receive what one sends, into a ring for one.
fn two_receivers(capacity: usize) {
    let (sender, mut one) = broadcast(capacity);
    let mut other = sender.subscribe();
    let thread = thread::spawn(move || {
        let mut seen = 0;
        while let Ok(received) = other.recv() {
            seen += 1 + received.missed;
        }
        seen
    });
    assert_eq!(sender.send(1).unwrap(), 2);
    sender.send(2).unwrap();
    drop(sender);
    let mut seen = 0;
    while let Ok(received) = one.recv() {
        seen += 1 + received.missed;
        assert_eq!(received.value, seen);
    }
    assert_eq!((seen, thread.join().unwrap()), (2, 2));
}

/// Each value is received or counted as missed by each, and the end is seen.
#[test]
fn all_get_all() {
    check(|| two_receivers(1));
}

/// Two wait for a value.
fn two_wait() {
    let (sender, mut one) = broadcast(1);
    let mut other = one.clone();
    let thread = thread::spawn(move || other.recv().unwrap().value);
    let send = thread::spawn(move || {
        sender.send(5).unwrap();
        sender
    });
    assert_eq!(one.recv().unwrap().value, 5);
    assert_eq!(thread.join().unwrap(), 5);
    drop(send.join().unwrap());
}

#[test]
fn a_value_wakes_all() {
    check(two_wait);
}

/// Planted: the second one sleeps over the value.
#[test]
fn planted_narrow_wake_up_is_found() {
    finds_planted(faults::broadcast::WAKES_ONE_OF_ALL, two_wait);
}

/// One sends while the other's receiver comes and goes.
fn come_and_go() {
    let (sender, mut one) = broadcast(2);
    let thread = thread::spawn(move || {
        let copy = one.clone();
        let _either = one.try_recv();
        drop(one);
        copy
    });
    sender.send(1).unwrap();
    let mut copy = thread.join().unwrap();
    assert_eq!(copy.try_recv().unwrap().value, 1);
    assert!(sender.is_empty(), "a value is kept for nobody");
}

#[test]
fn values_are_kept_for_those_who_want_them() {
    check(come_and_go);
}

/// One leaves without having had the older value, and the other takes the newer one.
fn leave_and_take() {
    let (sender, one) = broadcast(2);
    let mut other = one.clone();
    sender.send(1).unwrap();
    sender.send(2).unwrap();
    assert_eq!(other.recv().unwrap().value, 1);
    let thread = thread::spawn(move || drop(one));
    assert_eq!(other.recv().unwrap().value, 2);
    thread.join().unwrap();
    assert!(sender.is_empty(), "a value is kept for nobody");
}

#[test]
fn those_who_leave_take_the_unwanted_out() {
    check(leave_and_take);
}

/// Planted: the wrong value is received.
#[test]
fn planted_wrong_value_is_found() {
    finds_planted(faults::broadcast::TAKES_THE_OLDEST_OUT, leave_and_take);
}
