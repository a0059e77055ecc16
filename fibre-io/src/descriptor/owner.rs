//! The owner of a descriptor's number.
//!
//! ```text
//!   FREE ──take──> TAKEN ──prepared──> OWNED ──leave──> TAKEN ──all told──> FREE
//! ```
//!
//! A slot describes its owner's descriptor. Onlookers wait at a slot's gates without owning the
//! number. They must learn of a change of owner, since after it no event for their descriptor would
//! wake them. So the slot has no owner while it changes: a new owner comes when the slot has been
//! prepared, and an owner has visibly gone before onlookers are woken. Before each wait, an
//! onlooker checks that the owner is still the same. It compares the *generation*: how many owners
//! the number has had.
//!
//! # Memory ordering
//!
//! States are stored with release and loaded with acquire. A reader of OWNED sees the generation,
//! and the slot as it was prepared. An onlooker that is woken by an owner that goes, or sees its
//! event, reads TAKEN, FREE, or a later generation.

use fibre_core::sync::{AtomicU8, AtomicU32, Ordering, planted};

/// The number has no owner.
const FREE: u8 = 0;
/// An owner is about to come or to go.
const TAKEN: u8 = 1;
/// The number has an owner.
const OWNED: u8 = 2;

/// The state of a number, and its generation.
#[derive(Debug)]
pub struct Ownership {
    /// One of the states above.
    state: AtomicU8,
    /// How many owners there have been.
    generation: AtomicU32,
}

impl Default for Ownership {
    fn default() -> Self {
        Self::new()
    }
}

impl Ownership {
    /// The state of a number that has had no owner yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: AtomicU8::new(FREE),
            generation: AtomicU32::new(0),
        }
    }

    /// Gives the number to a new owner; `prepare` prepares the slot for it. The earlier owner has
    /// gone or been forgotten. Returns the generation.
    pub fn take(&self, prepare: impl FnOnce()) -> u32 {
        let hasty = planted("ownership: a new owner is seen before its slot is prepared");
        self.state.store(TAKEN, Ordering::Release);
        if !hasty {
            prepare();
            return self.come();
        }
        let generation = self.come();
        prepare();
        generation
    }

    /// [`take`](Self::take), unless the number has an owner. Returns whether it had none.
    #[must_use]
    pub fn try_take(&self, prepare: impl FnOnce()) -> bool {
        let was = self
            .state
            .compare_exchange(FREE, TAKEN, Ordering::AcqRel, Ordering::Relaxed);
        if was.is_ok() {
            self.take(prepare);
        }
        was.is_ok()
    }

    /// Publishes the new owner, and returns its generation.
    fn come(&self) -> u32 {
        let before = self.generation.fetch_add(1, Ordering::AcqRel);
        self.state.store(OWNED, Ordering::Release);
        before.wrapping_add(1)
    }

    /// Publishes that the owner goes; `tell` wakes the onlookers. The next owner comes after that.
    pub fn leave(&self, tell: impl FnOnce()) {
        let gone = if planted("ownership: onlookers are told before the owner has gone") {
            OWNED
        } else {
            TAKEN
        };
        self.state.store(gone, Ordering::Release);
        tell();
        self.state.store(FREE, Ordering::Release);
    }

    /// [`leave`](Self::leave) for the present owner, by any caller. Returns whether there was an
    /// owner. Of two callers at once, one succeeds.
    pub fn evict(&self, tell: impl FnOnce()) -> bool {
        let was = self
            .state
            .compare_exchange(OWNED, TAKEN, Ordering::AcqRel, Ordering::Relaxed);
        if was.is_ok() {
            self.leave(tell);
        }
        was.is_ok()
    }

    /// The generation of the present owner, if there is one.
    pub fn owner(&self) -> Option<u32> {
        loop {
            let generation = self.generation();
            if self.state.load(Ordering::Acquire) != OWNED {
                return None;
            }
            // The state was this generation's, unless another owner has come between the two loads.
            if self.is_last(generation) || planted("ownership: of two loads, the first may be old")
            {
                return Some(generation);
            }
        }
    }

    /// Whether the owner of this generation is the present one. A caller that has acquired anything
    /// written after that owner has gone gets `false`. The state is read first, so that it cannot
    /// be a later owner's.
    #[must_use]
    pub fn is_owner(&self, generation: u32) -> bool {
        self.state.load(Ordering::Acquire) == OWNED && self.generation() == generation
    }

    /// How many owners there have been. For the owner that is its generation.
    pub fn generation(&self) -> u32 {
        self.generation.load(Ordering::Acquire)
    }

    /// Whether no owner has come after the one of this generation.
    #[inline]
    pub fn is_last(&self, generation: u32) -> bool {
        self.generation() == generation
    }
}
