//! Models of looking at something that its owner may take away.
//!
//! Run by `cargo xtask loom`.

use fibre_core::internal::asymmetric::Asymmetric;
use fibre_core::model::{self, finds_planted};
use fibre_core::sync::{AtomicU64, Ordering};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

/// Something that is there as long as the word is zero.
struct Thing {
    visits: Asymmetric,
    word: AtomicU64,
    value: UnsafeCell<u32>,
}

// SAFETY: the visits guard the cell; loom checks that they do.
unsafe impl Sync for Thing {}
// SAFETY: as above.
unsafe impl Send for Thing {}

/// Visitors read the thing while it is there, and its owner takes it away.
fn owner_and_visitors(visitors: usize) {
    let thing = Arc::new(Thing {
        visits: Asymmetric::new(),
        word: AtomicU64::new(0),
        value: UnsafeCell::new(7),
    });
    let visitors: Vec<_> = (0..visitors)
        .map(|_| {
            let thing = Arc::clone(&thing);
            thread::spawn(move || {
                thing.visits.visit(|| {
                    if thing.word.load(Ordering::Acquire) == 0 {
                        // SAFETY: what is being checked.
                        thing.value.with(|value| assert_eq!(unsafe { *value }, 7));
                    }
                });
            })
        })
        .collect();
    thing.visits.retire(&thing.word, 1);
    // SAFETY: what is being checked.
    thing.value.with_mut(|value| unsafe { *value = 8 });
    for visitor in visitors {
        visitor.join().unwrap();
    }
}

#[test]
fn what_is_looked_at_stays() {
    model::check(|| owner_and_visitors(1));
    model::check(|| owner_and_visitors(2));
}

#[test]
fn a_visitor_without_a_barrier_is_found() {
    finds_planted("visits: no barrier", || owner_and_visitors(1));
}
