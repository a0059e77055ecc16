//! Models of the consumer lock, which is biased towards the owner.
//!
//! Run by `cargo xtask loom`. Each property has a twin with a planted bug, which the
//! model must find.

use fibre_core::internal::queue::ConsumerLock;
use fibre_core::model::{self, finds_bug};
use fibre_core::sync::{HeavyBarrier, heavy_barrier};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use rustix::io::Errno;

/// A value that one consumer at a time may change, and that loom watches for races.
struct Guarded {
    lock: ConsumerLock,
    changes: UnsafeCell<u32>,
}

// SAFETY: the lock guards the cell; loom checks that it does.
unsafe impl Sync for Guarded {}
// SAFETY: as above.
unsafe impl Send for Guarded {}

impl Guarded {
    /// A value whose lock has this barrier.
    fn new(barrier: Option<HeavyBarrier>) -> Arc<Self> {
        Arc::new(Self {
            lock: ConsumerLock::new(barrier),
            changes: UnsafeCell::new(0),
        })
    }

    /// Adds one.
    fn change(&self) {
        // SAFETY: the lock is what is being checked.
        self.changes.with_mut(|changes| unsafe { *changes += 1 });
    }

    /// Takes turns as the owner; returns how many of them were its own.
    fn own(&self, turns: u32) -> u32 {
        // SAFETY: one owner, unless planted.
        let turn = || unsafe { self.lock.own(|| self.change()) };
        (0..turns).filter(|_| turn().is_some()).count() as u32
    }

    /// Takes turns as a thief; returns how many of them were its own.
    fn steal(&self, turns: u32) -> u32 {
        let turn = || self.lock.steal(|| self.change());
        (0..turns).filter(|_| turn().is_some()).count() as u32
    }
}

/// Another thread consumes, and the owner here; no turn is lost.
fn beside_the_owner(barrier: Option<HeavyBarrier>, other: fn(&Guarded) -> u32, turns: u32) {
    let guarded = Guarded::new(barrier);
    let thread = {
        let guarded = Arc::clone(&guarded);
        thread::spawn(move || other(&guarded))
    };
    let owned = guarded.own(turns);
    let stolen = thread.join().unwrap();
    // SAFETY: the thread has ended.
    let changes = guarded.changes.with(|changes| unsafe { *changes });
    assert_eq!(changes, owned + stolen);
}

/// A thief comes while the owner goes in and out, and again when the owner may have
/// made the lock its own once more.
#[test]
fn owner_and_thief_take_turns() {
    model::check(|| beside_the_owner(heavy_barrier(), |guarded| guarded.steal(1), 3));
    model::check(|| beside_the_owner(heavy_barrier(), |guarded| guarded.steal(2), 4));
}

/// Without a barrier every consumer takes the lock.
#[test]
fn without_a_barrier_they_take_turns_too() {
    model::check(|| beside_the_owner(None, |guarded| guarded.steal(2), 2));
}

/// A barrier that is refused lets no thief in before the owner has noticed.
#[test]
fn a_refused_barrier_keeps_thieves_out() {
    model::check(|| beside_the_owner(Some(|| Err(Errno::NOMEM)), |guarded| guarded.steal(2), 2));
}

/// A thief that was refused the barrier gets its turn once the owner has been there.
#[test]
fn the_owner_makes_up_for_a_refused_barrier() {
    model::check(|| {
        let guarded = Guarded::new(Some(|| Err(Errno::NOMEM)));
        assert_eq!(guarded.own(1), 1);
        assert_eq!(guarded.steal(1), 0, "nothing proves that the owner is out");
        assert_eq!(guarded.own(1), 1);
        assert_eq!(guarded.steal(1), 1);
    });
}

/// Two thieves and the owner.
#[test]
fn two_thieves_take_turns() {
    model::check(|| {
        let two = |guarded: &Guarded| guarded.steal(1);
        let guarded = Guarded::new(heavy_barrier());
        let thieves = [0, 1].map(|_| {
            let guarded = Arc::clone(&guarded);
            thread::spawn(move || two(&guarded))
        });
        let owned = guarded.own(3);
        let stolen: u32 = thieves.map(|thief| thief.join().unwrap()).iter().sum();
        // SAFETY: the threads have ended.
        let changes = guarded.changes.with(|changes| unsafe { *changes });
        assert_eq!(changes, owned + stolen);
    });
}

/// Planted: the thief's barrier does nothing.
#[test]
fn planted_missing_barrier_is_found() {
    finds_bug(|| beside_the_owner(Some(|| Ok(())), |guarded| guarded.steal(1), 1));
}

/// Planted: two owners.
#[test]
fn planted_second_owner_is_found() {
    finds_bug(|| beside_the_owner(heavy_barrier(), |guarded| guarded.own(1), 1));
}
