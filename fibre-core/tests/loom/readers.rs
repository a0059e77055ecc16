//! Models of looking at what a processor changes between two fibres.
//!
//! Run by `cargo xtask loom`.

use fibre_core::internal::readers::Readers;
use fibre_core::model::{self, finds_planted};
use fibre_core::sync::{AtomicPtr, Ordering};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use std::ptr::{null_mut, without_provenance_mut};

/// A processor, and what it changes: the number of the fibre that it runs.
struct Desk {
    readers: Readers,
    running: AtomicPtr<u32>,
    number: UnsafeCell<usize>,
}

// SAFETY: the readers guard the cell; loom checks that they do.
unsafe impl Sync for Desk {}
// SAFETY: as above.
unsafe impl Send for Desk {}

/// Fibres that run, the first one at the start. Nobody dereferences them.
const FIBRES: [usize; 3] = [64, 128, 192];

/// A processor runs one fibre after the other while `lookers` look.
fn processor_and_lookers(lookers: usize, fibres: &[usize]) {
    let desk = Arc::new(Desk {
        readers: Readers::new(false),
        running: AtomicPtr::new(without_provenance_mut(fibres[0])),
        number: UnsafeCell::new(fibres[0]),
    });
    let lookers: Vec<_> = (0..lookers)
        .map(|_| {
            let desk = Arc::clone(&desk);
            thread::spawn(move || {
                desk.readers.look(&desk.running, |running| {
                    // SAFETY: what is being checked.
                    let number = desk.number.with(|number| unsafe { *number });
                    assert_eq!(number, running.as_ptr().addr());
                });
            })
        })
        .collect();
    for next in &fibres[1..] {
        desk.running.store(null_mut(), Ordering::Relaxed);
        if !desk.readers.may_change() {
            desk.readers.await_change();
        }
        // SAFETY: what is being checked.
        desk.number.with_mut(|number| unsafe { *number = *next });
        let next = without_provenance_mut(*next);
        desk.running.store(next, Ordering::Release);
    }
    for looker in lookers {
        looker.join().unwrap();
    }
}

#[test]
fn what_is_looked_at_is_not_changed() {
    model::check(|| processor_and_lookers(1, &FIBRES[..2]));
    model::check(|| processor_and_lookers(1, &FIBRES));
    model::check(|| processor_and_lookers(2, &FIBRES[..2]));
}

#[test]
fn a_look_without_a_barrier_is_found() {
    finds_planted("readers: no barrier", || {
        processor_and_lookers(1, &FIBRES[..2]);
    });
}

#[test]
fn a_change_that_looks_for_nobody_is_found() {
    finds_planted("readers: a change is made while somebody looks", || {
        processor_and_lookers(1, &FIBRES[..2]);
    });
}
