//! Models of a group's member list: no result is missed, and the first failure counts.
//!
//! Run by `cargo xtask loom`.

use fibre_core::model::{check, finds_planted};
use fibre_sync::faults;
use fibre_sync::members::{Failure, Members};
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
