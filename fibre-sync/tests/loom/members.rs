//! Models of a group's member list: no result is missed, and the first failure counts.
//!
//! Run by `cargo xtask loom`.

use fibre_core::Limit;
use fibre_core::model::{check, finds_planted};
use fibre_sync::faults;
use fibre_sync::members::{Failure, Gathered, Members};
use loom::sync::Arc;
use loom::thread;

/// Two fibres return results, and the body takes what there is until none will come.
fn two_results() {
    let members = Arc::new(Members::<u32, ()>::new(2));
    let fibres: Vec<_> = (0..2)
        .map(|_| {
            let number = members.enter(true).unwrap();
            let members = Arc::clone(&members);
            thread::spawn(move || {
                members.keep(number, 1 + number as u32);
                members.ended();
            })
        })
        .collect();
    let taken: u32 = std::iter::from_fn(|| members.next()).sum();
    assert_eq!(taken, 3);
    fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
}

/// A body that is told that no result will come has all of them.
#[test]
fn no_result_is_missed() {
    check(two_results);
}

/// Planted: a fibre is counted down, and the body leaves without its result.
#[test]
fn planted_early_count_is_found() {
    finds_planted(faults::group::COUNTS_DOWN_BEFORE_IT_KEEPS, two_results);
}

/// A second fibre starts when the first one has ended, or not at all if that has failed; an error
/// of its own comes too late.
fn one_fails() {
    let members = Arc::new(Members::<u32, u32>::new(1));
    assert_eq!(members.enter(true), Some(0));
    let other = Arc::clone(&members);
    let fibre = thread::spawn(move || {
        other.fail(Failure::Error(7));
        other.ended();
    });
    assert_eq!(
        members.enter(true),
        None,
        "it has failed, or there is no room"
    );
    members.fail(Failure::Error(8));
    assert!(matches!(members.take_failure(), Some(Failure::Error(7))));
    assert_eq!(members.next(), None);
    fibre.join().unwrap();
    assert_eq!(members.running(), 0);
}

/// The first failure counts, and ends those that wait to start fibres.
#[test]
fn the_first_failure_counts() {
    check(one_fails);
}

/// Planted: the second failure takes the first one's place.
#[test]
fn planted_last_failure_is_found() {
    finds_planted(faults::group::LAST_FAILURE_COUNTS, one_fails);
}

/// One fibre has a result, and one fails. The body wants one result: it has that, and the failure
/// is a consequence; or the group has failed before.
fn first_or_failure() {
    let members = Arc::new(Members::<u32, u32>::new(2));
    let number = members.enter(true).unwrap();
    assert_eq!(members.enter(false), Some(1));
    let keeps = Arc::clone(&members);
    let keeps = thread::spawn(move || {
        keeps.keep(number, 5);
        keeps.ended();
    });
    let fails = Arc::clone(&members);
    let fails = thread::spawn(move || {
        fails.fail(Failure::Error(7));
        fails.ended();
    });
    let (taken, end) = members.gather(Some(1), |_| true, Limit::None);
    assert_eq!(members.enter(true), None);
    keeps.join().unwrap();
    fails.join().unwrap();
    let failure = members.take_failure();
    match end {
        Gathered::Enough => assert!(taken == [5] && failure.is_none()),
        Gathered::Failed => assert!(taken.is_empty() && failure.is_some()),
        Gathered::TooFew | Gathered::Over => unreachable!("{end:?}"),
    }
}

/// A group settles or fails, whichever comes first.
#[test]
fn a_group_settles_or_fails() {
    check(first_or_failure);
}

/// Planted: a fibre fails between the last result and the moment when the group settles.
#[test]
fn planted_late_settling_is_found() {
    finds_planted(faults::group::SETTLES_LATE, first_or_failure);
}

/// A limit that may come at any moment, while two fibres have a result each.
fn limited() {
    let members = Arc::new(Members::<u32, ()>::new(2));
    let fibres: Vec<_> = (0..2)
        .map(|_| {
            let number = members.enter(true).unwrap();
            let members = Arc::clone(&members);
            thread::spawn(move || {
                members.keep(number, 1 + number as u32);
                members.ended();
            })
        })
        .collect();
    let limit = Limit::after(std::time::Duration::from_secs(1));
    let (taken, end) = members.gather(None, |_| true, limit);
    let later: u32 = std::iter::from_fn(|| members.next()).sum();
    assert_eq!(taken.iter().sum::<u32>() + later, 3, "none is lost");
    assert!(matches!(end, Gathered::Enough | Gathered::Over));
    assert!(end == Gathered::Over || later == 0);
    fibres.into_iter().for_each(|fibre| fibre.join().unwrap());
}

/// What a limit leaves comes later.
#[test]
fn a_limit_loses_no_result() {
    check(limited);
}
