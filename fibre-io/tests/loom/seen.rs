//! Models of several who share what comes: nobody is told that there is nothing while there is.
//!
//! Run by `cargo xtask loom`.

use fibre_core::model::{check, finds_planted};
use fibre_io::sequence_cursor::SequenceCursor;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

/// Two callers; each lets one come, and then looks.
fn two_who_share() {
    let shared = Arc::new((SequenceCursor::up_to(0), AtomicU64::new(0)));
    let come_and_look = |(seen, arrivals): &(SequenceCursor, AtomicU64)| {
        let mine = arrivals.fetch_add(1, Ordering::Release) + 1;
        let taken = seen.take(|| arrivals.load(Ordering::Acquire));
        assert!(taken || seen.count() >= mine, "{mine} is left");
        taken
    };
    let other = Arc::clone(&shared);
    let other = thread::spawn(move || come_and_look(&other));
    let taken = come_and_look(&shared);
    let both = other.join().ok();
    assert!(taken || both == Some(true));
    assert_eq!(shared.0.count(), 2);
}

#[test]
fn nothing_is_left() {
    check(two_who_share);
}

#[test]
fn giving_up_is_found() {
    finds_planted("seen: who comes second takes nothing", two_who_share);
}
