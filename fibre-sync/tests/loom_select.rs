//! Models of selections: one operation is carried out, or none, and whoever meets whoever goes on.
//!
//! Run by `cargo xtask loom`. A wait with a limit may give up at any moment here.
#![cfg(loom)]
#![allow(clippy::unwrap_used, reason = "a model fails by panicking")]

use fibre_core::model::{check, finds_planted};
use fibre_sync::channel::{Receiver, Select, Sender, bounded, rendezvous};
use fibre_sync::faults;
use loom::thread;
use std::time::Instant;

/// Receives from either; which one, and what.
fn either(one: &Receiver<u32>, other: &Receiver<u32>) -> (usize, Option<u32>) {
    let mut select = Select::new();
    select.recv(one);
    select.recv(other);
    let chosen = select.select();
    match chosen.index() {
        0 => (0, chosen.recv(one).ok()),
        index => (index, chosen.recv(other).ok()),
    }
}

/// One selects from two channels, into which two send. Every value is received once.
fn two_senders(capacity: usize) {
    let ((one, from_one), (other, from_other)) = (bounded(capacity), bounded(capacity));
    let thread = thread::spawn(move || {
        one.send(1).unwrap();
        other.send(2).unwrap();
    });
    match either(&from_one, &from_other) {
        (0, Some(1)) => assert_eq!(from_other.recv(), Ok(2)),
        (1, Some(2)) => assert_eq!(from_one.recv(), Ok(1)),
        wrong => panic!("{wrong:?}"),
    }
    thread.join().unwrap();
}

/// A selection goes on when something comes.
#[test]
fn a_selection_misses_nothing() {
    check(|| two_senders(1));
    check(|| two_senders(0));
}

/// Planted: what comes between the look and the waiting is not seen.
#[test]
fn planted_blind_waiting_is_found() {
    finds_planted(faults::select::NO_SECOND_LOOK_UNDER_THE_LOCKS, || {
        two_senders(1);
    });
}

/// Two send into a channel each, and one selects twice. Nobody's value is lost or doubled.
fn served_by_two() {
    let ((one, from_one), (other, from_other)) = (rendezvous(), rendezvous());
    let send = |sender: Sender<u32>, value| {
        thread::spawn(move || {
            sender.send(value).unwrap();
            sender
        })
    };
    let threads = [send(one, 1), send(other, 2)];
    let mut sum = 0;
    for _ in 0..2 {
        sum += either(&from_one, &from_other).1.unwrap();
    }
    assert_eq!(sum, 3);
    let _ends = threads.map(|thread| thread.join().unwrap());
}

/// A claim in one line ends the wait in the other.
#[test]
fn one_of_two_is_chosen() {
    check(served_by_two);
}

/// Planted: a sender finds a place in its line whose frame has ended.
#[test]
fn planted_arm_that_stays_is_found() {
    finds_planted(faults::select::ARM_STAYS_IN_ITS_LINE, served_by_two);
}

/// Sends into the one or receives from the other; `true`: sent.
fn swap(to: &Sender<u32>, from: &Receiver<u32>) -> bool {
    let mut select = Select::new();
    select.send(to, 1);
    select.recv(from);
    let chosen = select.select();
    match chosen.index() {
        0 => chosen.send(to).is_ok(),
        _ => chosen.recv(from).is_err(),
    }
}

/// Two selections that can serve each other only: one sends, the other receives.
#[test]
fn two_selections_meet() {
    check(|| {
        let ((there, at_there), (back, at_back)) = (rendezvous(), rendezvous());
        let thread = thread::spawn(move || (swap(&back, &at_there), (back, at_there)));
        let sent = swap(&there, &at_back);
        let (other_sent, _ends) = thread.join().unwrap();
        assert!(sent != other_sent);
    });
}

/// A selection that may give up, and a sender that may, too: both agree on whether they met.
#[test]
fn a_deadline_ends_all_or_nothing() {
    check(|| {
        let ((one, from_one), (_other, from_other)) = (rendezvous(), rendezvous::<u32>());
        let thread = thread::spawn(move || one.send_within(1, Instant::now()).is_ok());
        let mut select = Select::new();
        select.recv(&from_one);
        select.recv(&from_other);
        let received = select
            .select_within(Instant::now())
            .is_ok_and(|chosen| chosen.recv(&from_one).is_ok());
        assert_eq!(thread.join().unwrap(), received);
    });
}
