//! Models of owners that come and go while somebody looks on: who waits at a gate, but does not own what it is
//! about.
//!
//! Run by `cargo xtask loom`. Ownership, gates and waits are the shipped ones; a slot's `acquire` and `release` are
//! repeated here.
#![cfg(loom)]

use fibre_core::model::{Shared, check, finds_planted};
use fibre_core::{Cancelled, Limit};
use fibre_io::gate::Gate;
use fibre_io::gate_word::News;
use fibre_io::gates::await_any;
use fibre_io::ownership::Ownership;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

/// A slot, and its descriptor.
#[derive(Default)]
struct Slot {
    ownership: Ownership,
    gate: Gate,
    /// Whether there is something to read.
    ready: AtomicBool,
}

impl Slot {
    /// A slot with an owner, and nothing to read.
    fn owned() -> Shared<Self> {
        let slot = Self::default();
        slot.acquire();
        slot.gate.drained(slot.gate.snapshot(), true);
        Shared::new(slot)
    }

    fn acquire(&self) {
        self.ownership.take(|| self.gate.reset());
    }

    fn release(&self) {
        self.ownership.leave(|| self.gate.wake_all());
    }

    /// Waits until there is something to read, or until there is no owner to be told by.
    fn look_on(&self) {
        while let Some(owner) = self.ownership.owner() {
            let mut found = false;
            let look = || {
                found = self.ready.load(Ordering::Acquire);
                Ok::<_, Cancelled>(found || self.ownership.owner() != Some(owner))
            };
            let waited = await_any(&[&self.gate], Limit::None, look);
            assert!(waited.is_ok());
            if found {
                return;
            }
        }
    }
}

/// An owner goes, and is the last.
fn goes() {
    let slot = Slot::owned();
    let owner = thread::spawn(move || slot.release());
    slot.look_on();
    owner.join().ok();
}

/// An owner goes, and another one comes and has something to read.
fn goes_and_comes() {
    let slot = Slot::owned();
    let owner = thread::spawn(move || {
        slot.release();
        slot.acquire();
        slot.ready.store(true, Ordering::Release);
        slot.gate.event(News::default());
    });
    slot.look_on();
    owner.join().ok();
}

/// Whoever looks on is told.
#[test]
fn nobody_waits_for_an_owner_that_has_gone() {
    check(goes);
    check(goes_and_comes);
}

/// Planted: who is told looks, sees the owner still there, and waits on.
#[test]
fn planted_early_word_is_found() {
    finds_planted(
        "ownership: onlookers are told before the owner has gone",
        goes,
    );
}

/// Planted: what is prepared for the new owner forgets those who wait already.
#[test]
fn planted_late_preparation_is_found() {
    finds_planted(
        "ownership: a new owner is seen before its slot is prepared",
        goes_and_comes,
    );
}
